#pragma once

#include "codegen/gpu/emit/GpuFunction.h"

#include "llvm/ADT/TypeSwitch.h"

/// The families of GPU kernels. Each source file begins with the access pattern, the resources and
/// the conditions of its family.
namespace mlir::frit {

/// Calls `visit` with the schedule as the attribute of its family.
template <typename Visit> LogicalResult visitGpuSchedule(Attribute schedule, Visit &&visit) {
  return llvm::TypeSwitch<Attribute, LogicalResult>(schedule)
      .template Case<GpuPointwiseAttr, GpuTransposeAttr, GpuRowsAttr, GpuSplitRowsAttr,
                     GpuColumnsAttr, GpuRowsAndColumnsAttr, GpuScanAttr>(visit);
}

/// Append the entries of one kernel to the module and describe its launches, as the schedule says.
/// Threads without an element of their own load another one (a clamped index needs no mask) and
/// drop it. In a kernel that is `isInPlace` that element may already be overwritten, so such loads
/// are masked.
void emitGpuKernel(gpu::GPUModuleOp module, const KernelProgram &program, GpuPointwiseAttr as,
                   KernelDesc &desc, bool isInPlace);
void emitGpuKernel(gpu::GPUModuleOp module, const KernelProgram &program, GpuTransposeAttr as,
                   KernelDesc &desc, bool isInPlace);
void emitGpuKernel(gpu::GPUModuleOp module, const KernelProgram &program, GpuRowsAttr as,
                   KernelDesc &desc, bool isInPlace);
void emitGpuKernel(gpu::GPUModuleOp module, const KernelProgram &program, GpuSplitRowsAttr as,
                   KernelDesc &desc, bool isInPlace);
void emitGpuKernel(gpu::GPUModuleOp module, const KernelProgram &program, GpuColumnsAttr as,
                   KernelDesc &desc, bool isInPlace);
void emitGpuKernel(gpu::GPUModuleOp module, const KernelProgram &program, GpuRowsAndColumnsAttr as,
                   KernelDesc &desc, bool isInPlace);
void emitGpuKernel(gpu::GPUModuleOp module, const KernelProgram &program, GpuScanAttr as,
                   KernelDesc &desc, bool isInPlace);

/// Emit an error at the kernel if the schedule does not fit its program.
LogicalResult checkFits(const KernelProgram &program, GpuPointwiseAttr as);
LogicalResult checkFits(const KernelProgram &program, GpuTransposeAttr as);
LogicalResult checkFits(const KernelProgram &program, GpuRowsAttr as);
LogicalResult checkFits(const KernelProgram &program, GpuSplitRowsAttr as);
LogicalResult checkFits(const KernelProgram &program, GpuColumnsAttr as);
LogicalResult checkFits(const KernelProgram &program, GpuRowsAndColumnsAttr as);
LogicalResult checkFits(const KernelProgram &program, GpuScanAttr as);

/// The same for the kernel's `gpu_schedule`, which may be missing.
LogicalResult checkGpuSchedule(const KernelProgram &program);

/// Emits the error that the schedule `why`; failure.
LogicalResult refuseGpuSchedule(const KernelProgram &program, const Twine &why);
/// Refuses a lane dim outside of [begin, end), and a width along which no access is a vector.
LogicalResult checkVectors(const KernelProgram &program, unsigned lane, int64_t width,
                           unsigned begin, unsigned end);

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
