#pragma once

#include "codegen/gpu/emit/GpuFunction.h"

/// The families of GPU kernels. Each function appends the entries of one kernel to the module and
/// describes its launches, as the schedule says. Each source file begins with the access pattern,
/// the resources and the conditions of its family.
namespace mlir::frit {

/// Threads without an element of their own load another one (a clamped index needs no mask) and
/// drop it. In a kernel that is `isInPlace` that element may already be overwritten, so such loads
/// are masked.
void emitGpuPointwise(gpu::GPUModuleOp module, const KernelProgram &program, GpuPointwiseAttr as,
                      KernelDesc &desc);
void emitGpuTranspose(gpu::GPUModuleOp module, const KernelProgram &program, GpuTransposeAttr as,
                      KernelDesc &desc);
void emitGpuRowReduction(gpu::GPUModuleOp module, const KernelProgram &program, GpuRowsAttr as,
                         KernelDesc &desc, bool isInPlace);
void emitGpuSplitRows(gpu::GPUModuleOp module, const KernelProgram &program, GpuSplitRowsAttr as,
                      KernelDesc &desc, bool isInPlace);
void emitGpuColumnReduction(gpu::GPUModuleOp module, const KernelProgram &program,
                            GpuColumnsAttr as, KernelDesc &desc, bool isInPlace);
void emitGpuRowsAndColumns(gpu::GPUModuleOp module, const KernelProgram &program,
                           GpuRowsAndColumnsAttr as, KernelDesc &desc, bool isInPlace);

/// Emits an error at the kernel if its `gpu_schedule` is missing or does not fit its program.
LogicalResult checkGpuSchedule(const KernelProgram &program, Attribute schedule);

/// Appends a one-dimensional launch to the kernel's descriptor, and returns its entry.
std::string addLaunch(KernelDesc &desc, std::string entry, SizeExpr grid, uint32_t threads,
                      uint32_t sharedBytes);
/// A name for the next entry of a kernel with several.
std::string getNumberedEntry(const KernelDesc &desc);

/// Splits the results on the full domain into those that the first sweep may write, because they
/// depend on no reduction, and the others. In place nothing is written early if the row is read
/// again.
std::pair<SmallVector<Store>, SmallVector<Store>>
splitByTime(const KernelProgram &program, ArrayRef<Store> stores, bool isInPlace);

/// The blocks of a sweep over all chunks of `space`, at `chunks` chunks a block.
class ChunkSpace;
SizeExpr getSweepBlocks(const ChunkSpace &space, uint32_t chunks);

} // namespace mlir::frit
