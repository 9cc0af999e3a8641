// The kernels of a graph are compiled and cached one by one, and joined to one image of the graph.

#pragma once

#include "codegen/CompiledKernels.h"

namespace mlir::frit {

/// Concatenates the code of `image.kernels` and finds their launches' entries. Emits errors at the
/// module.
LogicalResult joinImages(ModuleOp module, ArrayRef<std::shared_ptr<const KernelCode>> codes,
                         CpuImage &image);

} // namespace mlir::frit
