// Straight-line arithmetic over the int and float registers of a plan, for size expressions,
// guards, launch sizes and host scalars. A program is verified once (every operand inside its
// register file, no constant overwritten) and then runs without checks; the only possible error at
// run time is an integer division by zero.
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

/// Runs verified code; false after an integer division by zero.
[[nodiscard]] bool runProgram(std::span<const format::Instruction> code, int64_t *ints,
                              double *floats);

/// Whether no guard register is 0. There is no early exit, so it is a few vector instructions.
bool allHold(std::span<const int64_t> guards);

/// Round to the nearest half or bfloat16, ties to even, and back.
double roundToF16(double value);
double roundToBF16(double value);

} // namespace frit
