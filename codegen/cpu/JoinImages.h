// The kernels of a graph are compiled one by one and kept so; their graph has them in one image.

#pragma once

#include "codegen/CompiledKernels.h"

namespace mlir::frit {

/// Puts the code of `image.kernels` one behind the other and finds their launches' entries.
/// Diagnoses at the module.
LogicalResult joinImages(ModuleOp module, ArrayRef<std::shared_ptr<const KernelCode>> codes,
                         CpuImage &image);

} // namespace mlir::frit
