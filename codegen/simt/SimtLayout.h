#pragma once

#include <cstdint>

/// Byte offsets of runtime/artifact/SimtAbi.h, which this room may not include; the compiler room
/// checks that they agree.
namespace mlir::frit::simt_layout {

inline constexpr int32_t kPointers = 0;
inline constexpr int32_t kInts = 8;
inline constexpr int32_t kFloats = 16;
inline constexpr int32_t kWorkspace = 24;
inline constexpr int32_t kShared = 32;
inline constexpr int32_t kOperations = 40;
inline constexpr int32_t kCallbacks = 48;
inline constexpr int32_t kThreadId = 64;
inline constexpr int32_t kBlockId = 76;
inline constexpr int32_t kBlockDim = 88;
inline constexpr int32_t kGridDim = 100;

inline constexpr int32_t kAccess = 0;
inline constexpr int32_t kBarrier = 8;
inline constexpr int32_t kShuffle = 16;
inline constexpr int32_t kFail = 24;
inline constexpr int32_t kClusterBarrier = 32;
inline constexpr int32_t kMapShared = 40;
inline constexpr int32_t kApproximate = 48;
inline constexpr int32_t kExpect = 56;
inline constexpr int32_t kSend = 64;
inline constexpr int32_t kAwait = 72;

inline constexpr int32_t kStoreFlag = 1;
inline constexpr int32_t kSharedFlag = 2;

/// Entries of SimtApproximation, in order.
inline constexpr const char *kApproximations[] = {
    "llvm.nvvm.ex2.approx.f32", "llvm.nvvm.rsqrt.approx.f",   "llvm.nvvm.sqrt.approx.f",
    "llvm.nvvm.div.full",       "llvm.nvvm.rcp.approx.ftz.f", "llvm.nvvm.ex2.approx.ftz.f32"};

/// Entries of Callbacks::unary, in order; Callbacks::binary follows.
inline constexpr const char *kUnary[] = {"exp",   "exp2", "expm1", "log",  "log2",   "log10",
                                         "log1p", "sin",  "cos",   "tan",  "asin",   "acos",
                                         "atan",  "sinh", "cosh",  "tanh", "asinh",  "acosh",
                                         "atanh", "erf",  "erfc",  "cbrt", "lgamma", "tgamma"};
inline constexpr const char *kBinary[] = {"powf", "atan2", "fmod", "hypot", "remainder"};

} // namespace mlir::frit::simt_layout
