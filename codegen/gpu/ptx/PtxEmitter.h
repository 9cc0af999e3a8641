#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LogicalResult.h"

#include <string>

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace mlir::frit {

/// The architectures that frit makes PTX for, as compute capability times ten.
inline constexpr unsigned kPtxArchitectures[] = {80, 90, 100};

/// PTX of all kernels of a module that `lowerToNvvm` has lowered. The module is not changed, so one
/// lowering serves several architectures. `arch` is 80, 90 or 100; anything else is an error.
/// Definitions other than entries are named after the module. `llvmIr`, if given, receives what
/// LLVM's passes made of the module.
FailureOr<std::string> emitPtx(gpu::GPUModuleOp module, unsigned arch,
                               std::string *llvmIr = nullptr);

} // namespace mlir::frit
