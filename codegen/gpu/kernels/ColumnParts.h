#pragma once

#include "codegen/gpu/kernels/Accumulators.h"
#include "codegen/gpu/kernels/ChunkSpace.h"

/// Partial results of columns whose rows are shared by several blocks, and the launch that folds
/// them. Workspace: 8 bytes per value, column and part. Parts are folded by their number, whichever
/// block ran first, so results are deterministic.
namespace mlir::frit {

struct ColumnParts {
  GpuFunction &function;
  const ChunkSpace &columns;
  SizeExpr parts;

  /// The bytes of that many values; also the byte offset of the value with that number.
  static SizeExpr bytes(const ChunkSpace &columns, SizeExpr parts, unsigned values) {
    return columns.getElements() * parts * (8 * int64_t(values));
  }
  Value at(Value part, Value column) const {
    return function.add(function.mul(part, function.size(columns.getElements())), column);
  }
  Value load(unsigned value, Value part, Value column, Type type) const {
    return function.loadWorkspace(function.size(bytes(columns, parts, value)), at(part, column),
                                  type);
  }
  void store(unsigned value, Value part, Value column, Value what) const {
    function.storeWorkspace(function.size(bytes(columns, parts, value)), at(part, column), what);
  }
};

/// Appends the launch that folds the partial results of the reductions `nodes` and writes the
/// results that have none of `foldedDims`. A block takes 16 neighbouring columns with 16 threads
/// each; a thread loads four partial results at once.
void emitColumnFold(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc,
                    const ChunkSpace &columns, SizeExpr parts, ArrayRef<unsigned> nodes,
                    uint32_t foldedDims);

} // namespace mlir::frit
