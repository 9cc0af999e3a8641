// Code for the kernels of an outlined module: which generator serves which target.

#pragma once

#include "compiler/ArtifactWriter.h"
#include "compiler/Compiler.h"

namespace frit {

/// The plans an artifact for these targets has: all sm_ targets share one.
std::vector<format::Target> targetsOf(const CompileOptions &options);

/// Code of an outlined module's kernels for one target. Fails after a diagnostic.
mlir::FailureOr<TargetCode> generateCode(mlir::ModuleOp module, const CompileOptions &options, format::Target target);

} // namespace frit
