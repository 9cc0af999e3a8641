#pragma once

#include "codegen/CompiledKernels.h"

/// Host code without a linker. An LLVM module becomes an object file in memory, its
/// allocated sections are concatenated, and the relocations between them are applied: all
/// are PC-relative, so the result may be mapped anywhere. A relocation to a symbol outside
/// of the image is an error that names the symbol.
namespace mlir::frit {

/// The alignment of an image's start, in bytes, so that every section keeps its alignment when
/// images are joined.
inline constexpr uint64_t kImageAlignment = 64;

class LlvmLowering;

/// Compiles every function of `module` (dialects: see LowerToLlvm.h); consumes its body. Also
/// stores LLVM's IR if `image` has an entry for it. Emits errors at the module.
LogicalResult compileToImage(ModuleOp module, LlvmLowering &lowering, const CpuTarget &target,
                             KernelCode &image);

} // namespace mlir::frit
