#pragma once

#include "codegen/gpu/GpuFunction.h"

/// The families of GPU kernels. Each appends the entries of one kernel to the
/// module and describes its launches; each file begins with what is read once, what
/// is kept where, and when the family is chosen.
namespace mlir::frit {

void emitGpuPointwise(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc);
void emitGpuRowReduction(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc);
void emitGpuColumnReduction(gpu::GPUModuleOp module, const KernelProgram &program,
                            KernelDesc &desc);
void emitGpuFullReduction(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc);

/// The body of a sweep over all elements of `space`, `threads` chunks a block, that
/// writes the stores; `outer` holds what was computed before.
class ChunkSpace;
void emitStoreSweep(GpuFunction &function, const ChunkSpace &space, Frame &outer,
                    ArrayRef<Store> stores);
/// Blocks for such a sweep.
SizeExpr getSweepBlocks(const ChunkSpace &space, uint32_t threads);

} // namespace mlir::frit
