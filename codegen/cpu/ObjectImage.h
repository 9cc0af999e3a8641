#pragma once

#include "codegen/CompiledKernels.h"

/// Host code without a linker. An LLVM module becomes an object file in memory, its
/// allocated sections are laid out one behind the other, and the relocations between
/// them are applied: all are relative to the place that uses them, so the result may
/// be mapped anywhere. A relocation to anything outside would need the process it is
/// loaded into; such an image is refused with the symbol's name.
namespace mlir::frit {

/// Of an image's start, in bytes: every section keeps its alignment wherever an image lies in a
/// larger one.
inline constexpr uint64_t kImageAlignment = 64;

class LlvmLowering;

/// Compiles every function of `module` (dialects: see LowerToLlvm.h); consumes its
/// body. Sets LLVM's IR too where `image` has room for it. Diagnoses at the module.
LogicalResult compileToImage(ModuleOp module, LlvmLowering &lowering, const CpuTarget &target,
                             KernelCode &image);

} // namespace mlir::frit
