#pragma once

#include "kernel/ReductionAlgebra.h"

/// How much of a row a thread and a block of a GPU can hold in registers, and bytes of shared
/// memory.
namespace mlir::frit {

/// The most threads of a block that shares a row, and blocks of a cluster that does.
inline constexpr uint32_t kMostRowThreads = 512, kMostRowBlocks = 8;
/// The most chunks of a row that a thread holds per operand, and elements over all operands.
inline constexpr int64_t kMostKeptChunks = 16, kMostKeptElements = 64;

/// Whether a thread can hold this many chunks of `width` elements of each operand.
inline bool keepsChunks(int64_t chunks, int64_t width, int64_t operands,
                        int64_t mostElements = kMostKeptElements) {
  return chunks <= kMostKeptChunks && chunks * width * operands <= mostElements;
}

/// Bytes of shared memory per value of a column reduction: 8, but 4 for narrow values where there
/// are deviations. These carry four values, and 8 bytes for each would be more shared memory than
/// the resident threads of a multiprocessor have.
template <typename Range> unsigned getSlotBytes(Range &&reduces) {
  bool takesTiles = false, isNarrow = true;
  for (ReduceOp reduce : reduces) {
    takesTiles |= reduce.getKind() == ReduceKind::Deviations;
    isNarrow &= !isArgReduction(reduce.getKind()) &&
                getElementTypeOrSelf(reduce.getOperand().getType()).getIntOrFloatBitWidth() <= 32;
  }
  return takesTiles && isNarrow ? 4 : 8;
}

} // namespace mlir::frit
