#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LogicalResult.h"

namespace mlir {
class DialectRegistry;
namespace gpu {
class GPUModuleOp;
} // namespace gpu
} // namespace mlir

namespace mlir::frit {

/// The part of rewriteMathForGpu that makes approximate instructions. It is shared by PTX and the
/// emulation, so both use the same approximations.
void rewriteApproximateMath(gpu::GPUModuleOp module);

/// Rewrites float math to instructions (`ex2.approx`, `rsqrt.approx`, `rcp.approx` ...) where there
/// are suitable ones, and the rest to calls of libdevice. MathOnGpu.cpp says what the flags
/// `contract` and `afn` allow.
LogicalResult rewriteMathForGpu(gpu::GPUModuleOp module);

/// Lowers the kernels of a gpu.module to the LLVM and NVVM dialects. They may contain gpu ids,
/// barriers and shuffles, scf, cf, arith, math, vectors of rank 1, ub.poison, and llvm pointers
/// with loads and stores.
LogicalResult lowerToNvvm(gpu::GPUModuleOp module);

/// Registers the dialects and translation interfaces that generated GPU code needs.
void registerGpuTargetDialects(DialectRegistry &registry);

} // namespace mlir::frit
