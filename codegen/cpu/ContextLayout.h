#pragma once

#include <cstdint>

/// Byte offsets in the structures that a CPU kernel is called with. A mirror of
/// runtime/artifact/KernelAbi.h, which this room must not include; the compiler,
/// which sees both, asserts that they agree.
namespace mlir::frit::context_layout {

inline constexpr int64_t kPointers = 0;
inline constexpr int64_t kInts = 8;
inline constexpr int64_t kFloats = 16;
inline constexpr int64_t kWorkspace = 24;
inline constexpr int64_t kCallbacks = 32;
inline constexpr int64_t kError = 40;
inline constexpr int64_t kContextBytes = 48;

inline constexpr int64_t kErrorCode = 0;
inline constexpr int64_t kErrorOperand = 4;
inline constexpr int64_t kErrorIndex = 8;
inline constexpr int64_t kErrorSize = 16;
inline constexpr int64_t kErrorBytes = 24;

/// Function tables: names in the order of their slots, unary ones first.
inline constexpr const char *kUnaryCallbacks[] = {
    "exp",   "exp2",  "expm1", "log",  "log2", "log10", "log1p",  "sin",
    "cos",   "tan",   "asin",  "acos", "atan", "sinh",  "cosh",   "tanh",
    "asinh", "acosh", "atanh", "erf",  "erfc", "cbrt",  "lgamma", "tgamma"};
inline constexpr const char *kBinaryCallbacks[] = {"pow", "atan2", "fmod", "hypot", "remainder"};

} // namespace mlir::frit::context_layout
