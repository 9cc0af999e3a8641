// Code for the kernels of an outlined module: which generator serves which target.

#pragma once

#include "compiler/ArtifactWriter.h"
#include "compiler/Compiler.h"

namespace frit {

/// Code for every target of `options`, one entry a family (all sm_ targets share a plan). Fails after a diagnostic.
mlir::FailureOr<std::vector<TargetCode>> generateCode(mlir::ModuleOp module, const CompileOptions &options);

} // namespace frit
