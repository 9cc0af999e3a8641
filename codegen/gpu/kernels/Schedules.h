#pragma once

#include "codegen/gpu/emit/GpuFunction.h"

/// The families of GPU kernels. Each appends the entries of one kernel to the
/// module and describes its launches; each file begins with what is read once, what
/// is kept where, and when the family is chosen.
namespace mlir::frit {

/// Threads without an element of their own load another's (a clamped index needs no mask) and drop
/// it. Where a kernel `isInPlace`, that other may be writing it already: there such loads are
/// masked.
void emitGpuPointwise(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc);
void emitGpuRowReduction(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc,
                         bool isInPlace);
void emitGpuColumnReduction(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc,
                            bool isInPlace);
/// For pointwise kernels: the dim along which what the lanes do not find contiguous is, if there is
/// one worth a tile.
std::optional<unsigned> findTransposedDim(const KernelProgram &program);
void emitGpuTranspose(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc,
                      unsigned across);
/// Whole tensors, and rows whose schedule says `split`.
void emitGpuFullReduction(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc,
                          bool isInPlace);

/// Rows whose kernel also reduces over the rows.
LogicalResult emitGpuRowsAndColumns(gpu::GPUModuleOp module, const KernelProgram &program,
                                    KernelDesc &desc, bool isInPlace);

/// Describes the next launch of a kernel, of blocks in a row, and returns its entry.
std::string addLaunch(KernelDesc &desc, std::string entry, SizeExpr grid, uint32_t threads,
                      uint32_t sharedBytes);
/// What the entry of the next launch is called where a kernel has several.
std::string getNumberedEntry(const KernelDesc &desc);

/// A number of the kernel's schedule, or what stands for it.
int64_t getScheduled(KernelOp kernel, StringRef name, int64_t otherwise);

/// Whether one sweep is not enough: there are several rounds of reductions, or results on the full
/// domain that wait for one.
bool isReadAgain(const KernelProgram &program);

/// Results on the full domain that the first sweep over it may write because they wait for no
/// reduction, and the others. In place nothing is written that is read again.
std::pair<SmallVector<Store>, SmallVector<Store>>
splitByTime(const KernelProgram &program, ArrayRef<Store> stores, bool isInPlace);

/// Blocks for a sweep over all elements of `space`, so many chunks a block.
class ChunkSpace;
SizeExpr getSweepBlocks(const ChunkSpace &space, uint32_t chunks);

} // namespace mlir::frit
