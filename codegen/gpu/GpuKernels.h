#pragma once

#include "codegen/Codegen.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::frit {

/// Emits every frit.kernel of `source` as gpu.funcs in `destination`, and appends their descriptors
/// to `kernels`. Fails with a diagnostic.
LogicalResult emitGpuKernels(ModuleOp source, gpu::GPUModuleOp destination,
                             std::vector<KernelDesc> &kernels);

} // namespace mlir::frit
