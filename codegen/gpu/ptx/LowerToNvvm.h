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

/// The part of the next that makes approximate instructions: PTX and the emulation of a kernel have
/// the same.
void rewriteApproximateMath(gpu::GPUModuleOp module);

/// Rewrites float math whose best form on a GPU is an instruction of its own:
/// `ex2.approx`, `rsqrt.approx`, `rcp.approx` ... and leaves to libdevice the rest.
/// What `contract` and `afn` on an operation allow is written in MathOnGpu.cpp.
LogicalResult rewriteMathForGpu(gpu::GPUModuleOp module);

/// Turns the kernels of a gpu.module into the LLVM and NVVM dialects. What may
/// occur in them: gpu ids, barrier and shuffle, scf, cf, arith, math, vector of
/// rank 1, ub.poison, and llvm pointers with loads and stores.
LogicalResult lowerToNvvm(gpu::GPUModuleOp module);

/// Dialects and translation interfaces that generated GPU code needs.
void registerGpuTargetDialects(DialectRegistry &registry);

} // namespace mlir::frit
