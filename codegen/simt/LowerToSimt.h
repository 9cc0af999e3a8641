#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LogicalResult.h"

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace mlir::frit {

/// The third lowering of a kernel: every gpu.func of `source` becomes a function
/// of one thread in `destination` that asks the emulator for whatever the
/// hardware would do (runtime/artifact/SimtAbi.h). Its loads and stores are the
/// same, each announced before it happens, so that the emulator can check bounds,
/// races and first writes. `source` is consumed. Math goes through
/// the runtime's libm in f64 and is rounded once; approximate instructions, which
/// rewriteApproximateMath makes of it before, have the errors that a device may make.
LogicalResult lowerToSimt(gpu::GPUModuleOp source, ModuleOp destination);

} // namespace mlir::frit
