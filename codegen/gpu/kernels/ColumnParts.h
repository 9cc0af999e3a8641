#pragma once

#include "codegen/gpu/kernels/Accumulators.h"
#include "codegen/gpu/kernels/ChunkSpace.h"

/// What several blocks that share the rows of a column leave of it, and the launch that folds it.
/// Workspace: 8 bytes a value, column and part. The order is that of the parts, whichever block ran
/// first: same input, same bits.
namespace mlir::frit {

struct ColumnParts {
  GpuFunction &function;
  const ChunkSpace &columns;
  SizeExpr parts;

  /// Of so many values; the byte offset of the value of that number too.
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

/// Appends the launch that folds what the parts left of the reductions `nodes` and writes the
/// results that have none of `foldedDims`: 16 neighbouring columns a block, 16 threads a column,
/// four partial results of it on their way at once.
void emitColumnFold(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc,
                    const ChunkSpace &columns, SizeExpr parts, ArrayRef<unsigned> nodes,
                    uint32_t foldedDims);

} // namespace mlir::frit
