// Code for the kernels of an outlined module: which generator serves which target.

#pragma once

#include "compiler/ArtifactWriter.h"
#include "compiler/Compiler.h"

namespace frit {

/// The oldest GPU architecture among the targets; the emulation alone is of a device with clusters
/// of blocks.
unsigned oldestArchitecture(const CompileOptions &options);
/// The lowest level of the CPUs among the targets, x86-64-v4 where there is none.
std::string lowestCpuLevel(const CompileOptions &options);

/// What one plan of an artifact is for.
struct PlanTarget {
  format::Target target;
  /// Cpu and Simt.
  mlir::frit::CpuTarget cpu;
};

/// The plans an artifact for these targets has: all sm_ targets share one; each CPU has its own,
/// the best first.
std::vector<PlanTarget> targetsOf(const CompileOptions &options);

/// Code of an outlined module's kernels for one target. Fails after a diagnostic.
mlir::FailureOr<TargetCode> generateCode(mlir::ModuleOp module, const CompileOptions &options,
                                         const PlanTarget &target);

} // namespace frit
