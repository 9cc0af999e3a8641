#pragma once

#include "codegen/Codegen.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::frit {

/// Every frit.kernel of `source` as gpu.funcs in `destination`, with descriptors.
LogicalResult emitGpuKernels(ModuleOp source, gpu::GPUModuleOp destination,
                             std::vector<KernelDesc> &kernels);

} // namespace mlir::frit
