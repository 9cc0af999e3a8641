#pragma once

#include "kernel/ReductionAlgebra.h"

/// What a thread and a block of a GPU hold: schedules are chosen by it
/// (passes/schedule/Schedule.cpp), and kernels are shaped by it
/// (codegen/gpu/kernels/KernelShapes.cpp).
namespace mlir::frit {

/// Threads of a block that takes a row, and blocks of a cluster that do.
inline constexpr uint32_t kMostRowThreads = 512, kMostRowBlocks = 8;
/// Chunks of a row that a thread keeps of each operand, and elements of all operands.
inline constexpr int64_t kMostKeptChunks = 16, kMostKeptElements = 64;

/// Whether a thread keeps so many chunks of so many operands.
inline bool keepsChunks(int64_t chunks, int64_t width, int64_t operands,
                        int64_t mostElements = kMostKeptElements) {
  return chunks <= kMostKeptChunks && chunks * width * operands <= mostElements;
}

/// Bytes of shared memory that column reductions take for a value: those of squares around a mean
/// are four values, which would take more of it than the threads of a processor have.
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
