#pragma once

#include "codegen/Codegen.h"

/// The first half of generateCpuImage, for tools that show it: every frit.kernel of
/// `module` as functions at the end of `out` (dialects: see LowerToLlvm.h).
namespace mlir::frit {

LogicalResult emitCpuKernels(ModuleOp module, const CpuTarget &target, ModuleOp out,
                             std::vector<KernelDesc> &kernels);

} // namespace mlir::frit
