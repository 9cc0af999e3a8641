#pragma once

#include "codegen/gpu/emit/GpuFunction.h"

/// The families of GPU kernels. Each function appends the entries of one kernel to the module and
/// describes its launches. Each source file begins with the access pattern, the resources and the
/// conditions of its family.
namespace mlir::frit {

/// Threads without an element of their own load another one (a clamped index needs no mask) and
/// drop it. In a kernel that is `isInPlace` that element may already be overwritten, so such loads
/// are masked.
void emitGpuPointwise(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc);
void emitGpuRowReduction(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc,
                         bool isInPlace);
void emitGpuColumnReduction(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc,
                            bool isInPlace);
/// For pointwise kernels: the dim along which the accesses are contiguous that are not contiguous
/// along the lanes, if tiles in shared memory pay for them.
std::optional<unsigned> findTransposedDim(const KernelProgram &program);
void emitGpuTranspose(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc,
                      unsigned across);
/// Reductions of whole tensors, and of rows whose schedule has `split`.
void emitGpuFullReduction(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc,
                          bool isInPlace);

/// Rows whose kernel also reduces over the rows. Fails with a diagnostic.
LogicalResult emitGpuRowsAndColumns(gpu::GPUModuleOp module, const KernelProgram &program,
                                    KernelDesc &desc, bool isInPlace);

/// Appends a one-dimensional launch to the kernel's descriptor, and returns its entry.
std::string addLaunch(KernelDesc &desc, std::string entry, SizeExpr grid, uint32_t threads,
                      uint32_t sharedBytes);
/// A name for the next entry of a kernel with several.
std::string getNumberedEntry(const KernelDesc &desc);

/// A number of the kernel's schedule, or `otherwise` if the schedule does not have it.
int64_t getScheduled(KernelOp kernel, StringRef name, int64_t otherwise);

/// Whether one sweep is not enough: there are several rounds of reductions, or results on the full
/// domain that depend on one.
bool isReadAgain(const KernelProgram &program);

/// Splits the results on the full domain into those that the first sweep may write, because they
/// depend on no reduction, and the others. In place nothing is written early if the row is read
/// again.
std::pair<SmallVector<Store>, SmallVector<Store>>
splitByTime(const KernelProgram &program, ArrayRef<Store> stores, bool isInPlace);

/// The blocks of a sweep over all chunks of `space`, at `chunks` chunks a block.
class ChunkSpace;
SizeExpr getSweepBlocks(const ChunkSpace &space, uint32_t chunks);

} // namespace mlir::frit
