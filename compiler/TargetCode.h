// Generates code for the kernels of an outlined module, with one generator per kind of target.

#pragma once

#include "compiler/ArtifactWriter.h"
#include "compiler/Compiler.h"

namespace frit {

/// The oldest GPU architecture among the targets. The emulation alone counts as one with clusters
/// of blocks.
unsigned oldestArchitecture(const CompileOptions &options);
/// The lowest level of the CPUs among the targets; x86-64-v4 if there are none.
std::string lowestCpuLevel(const CompileOptions &options);

/// The target of one plan of an artifact.
struct PlanTarget {
  format::Target target;
  /// For Cpu and Simt.
  mlir::frit::CpuTarget cpu;
};

/// The plans of an artifact for these targets: all sm_ targets share one; each CPU has its own, the
/// best first.
std::vector<PlanTarget> targetsOf(const CompileOptions &options);

/// Generates code for the kernels of an outlined module, for one target. Fails after a diagnostic.
mlir::FailureOr<TargetCode> generateCode(mlir::ModuleOp module, const CompileOptions &options,
                                         const PlanTarget &target);

} // namespace frit
