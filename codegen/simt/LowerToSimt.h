#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LogicalResult.h"

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace mlir::frit {

/// The third lowering of a kernel: turns every gpu.func of `source` into a function of one thread
/// in `destination`, which calls the emulator for operations of the hardware
/// (runtime/artifact/SimtAbi.h). Its loads and stores are unchanged, but each is reported before
/// it happens, so that the emulator can check bounds, races and uninitialised reads. `source` is
/// consumed. Math functions are computed by the runtime's libm in f64 and rounded once. Approximate
/// instructions, which rewriteApproximateMath made before, have the errors that a device may have.
LogicalResult lowerToSimt(gpu::GPUModuleOp source, ModuleOp destination);

} // namespace mlir::frit
