// The interface of a CPU kernel. This header defines the calling convention between generated code
// and the runtime: plain C layouts, fixed order, nothing from torch or LLVM.
// codegen/cpu/ContextLayout.h mirrors the offsets and a static_assert in the compiler compares
// them; a change here requires a new kFormatVersion in Artifact.h.
//
// A kernel is called on a sub-range of its units, possibly on several ranges at once from several
// threads:
//
//   int32_t kernel(const Context *context, int64_t begin, int64_t end);
//
// It returns 0, or the code that it stored in *context->error. All threads share one error record.
// A kernel fills it only if `code` is still 0; of two threads that fail at once, either error may
// remain.

#pragma once

#include <cstddef>
#include <cstdint>

namespace frit {

/// Functions that are too rare for vector code, in the order of `Callbacks::unary`.
enum class UnaryCallback : uint32_t {
  Exp,
  Exp2,
  Expm1,
  Log,
  Log2,
  Log10,
  Log1p,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Tanh,
  Asinh,
  Acosh,
  Atanh,
  Erf,
  Erfc,
  Cbrt,
  Lgamma,
  Tgamma,
  Count
};

/// In the order of `Callbacks::binary`.
enum class BinaryCallback : uint32_t { Pow, Atan2, Fmod, Hypot, Remainder, Count };

inline constexpr size_t kUnaryCallbackCount = static_cast<size_t>(UnaryCallback::Count);
inline constexpr size_t kBinaryCallbackCount = static_cast<size_t>(BinaryCallback::Count);

/// Addresses of this process's libm functions; calls are counted per thread.
struct Callbacks {
  double (*unary[kUnaryCallbackCount])(double);
  double (*binary[kBinaryCallbackCount])(double, double);
};

/// Why a kernel stopped; the runtime turns it into eager's message.
enum class KernelError : int32_t {
  None = 0,
  /// `index` is not in [-size, size). Message of indexing: "index 5 is out of bounds for dimension
  /// 0 with size 3", where the dimension counts the index tensors.
  IndexOutOfRange = 1,
  /// Integer division or remainder by zero: "ZeroDivisionError".
  DivisionByZero = 2,
  /// A size or shift is negative.
  NegativeValue = 3,
  /// The same for embedding: "index out of range in self".
  EmbeddingIndexOutOfRange = 4,
  /// The same for gather and scatter: "index 5 is out of bounds for dimension 0 with size 3", with
  /// the dimension in `operand`.
  GatherIndexOutOfRange = 5,
  /// cross-entropy's target: "Target 5 is out of bounds."
  TargetOutOfRange = 6,
  /// index_select along the second dimension, which eager checks in a separate loop: "INDICES
  /// element is out of DATA bounds, ...".
  SelectedIndexOutOfRange = 7,
};

/// The first error of a launch. `operand` is the dimension of the index.
struct ErrorRecord {
  int32_t code;
  int32_t operand;
  int64_t index;
  int64_t size;
};

/// Arguments of one launch.
struct Context {
  /// Operands, then results; each points to its first element.
  void *const *pointers;
  /// Kernel parameters p0.., then integer and boolean host scalars.
  const int64_t *ints;
  /// f64 host scalars.
  const double *floats;
  void *workspace;
  const Callbacks *callbacks;
  ErrorRecord *error;
};

using KernelFunction = int32_t (*)(const Context *context, int64_t begin, int64_t end);

static_assert(sizeof(Context) == 48 && offsetof(Context, error) == 40);
static_assert(sizeof(ErrorRecord) == 24 && offsetof(ErrorRecord, index) == 8);

} // namespace frit
