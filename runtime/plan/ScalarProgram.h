// Straight-line arithmetic over the int and float registers of a plan, for size expressions,
// guards, launch sizes and host scalars. A program is verified once (every operand inside its
// register file, no constant overwritten) and then runs without checks; the only errors at run
// time are those of Python's numbers: a division by zero, infinity or NaN as an integer.
//
// Integers are two's complement and wrap. FloorDiv and Mod round to minus infinity as in Python;
// TruncDiv and TruncRem round to zero as in C, and the one overflowing quotient (minimum by -1)
// wraps instead of trapping.

#pragma once

#include "runtime/artifact/Status.h"

#include <cstdint>
#include <span>
#include <string>

namespace frit {

namespace format {
struct Instruction;
enum class Op : uint16_t;
} // namespace format

/// The register files of an instruction: 'i', 'f' or '-' for (dst, a, b, c).
struct OpSignature {
  char dst, a, b, c;
};
OpSignature signatureOf(format::Op op);

/// Refuses unknown ops and registers outside of the files.
Status verifyProgram(std::span<const format::Instruction> code, uint32_t intCount,
                     uint32_t floatCount);

/// Why code ended early.
enum class ScalarError : uint8_t {
  None,
  FloorDivision,
  Modulo,
  TrueDivision,
  /// Of a 0-d tensor.
  TensorDivision,
  IntOfInfinity,
  IntOfNan
};

/// Runs verified code.
[[nodiscard]] ScalarError runProgram(std::span<const format::Instruction> code, int64_t *ints,
                                     double *floats);

/// The error that eager raises, in its words.
Status statusOf(ScalarError error);

/// Whether no guard register is 0. There is no early exit, so it is a few vector instructions.
bool allHold(std::span<const int64_t> guards);

/// Round to the nearest half or bfloat16, ties to even, and back.
double roundToF16(double value);
double roundToBF16(double value);

} // namespace frit
