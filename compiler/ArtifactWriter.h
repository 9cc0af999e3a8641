// An outlined module and its generated code as the object form of a .frit file.

#pragma once

#include "codegen/Codegen.h"
#include "runtime/artifact/ArtifactBuilder.h"

#include <memory>
#include <string>
#include <vector>

namespace frit {

/// Code for one family of targets, with the launches its kernels need.
struct TargetCode {
  format::Target target;
  /// The outlined form the code was made from; its graph becomes the plan.
  mlir::ModuleOp module;
  std::vector<mlir::frit::KernelDesc> kernels;
  std::vector<std::unique_ptr<format::CodeImageT>> images;
  std::vector<std::unique_ptr<format::GpuModuleT>> modules;
  mlir::frit::KernelCounts counts;
};

/// The graph that nobody calls as a plan for each target; `graphs` are those that the plans were
/// written from. Null after a diagnostic. `firstKept`: see PlanWriter.
std::unique_ptr<format::ArtifactT> writeArtifact(std::vector<TargetCode> code, int64_t firstKept,
                                                 std::vector<mlir::frit::GraphOp> &graphs);

/// The report of an artifact: kernels and calls of its first plan, with the user's lines, and what
/// the passes noted on the graph (operators legalised, copies made for strides), as JSON.
/// `retries`: what was given up for the graph to compile, each with why. The same input gives the
/// same bytes.
std::string writeReport(const format::ArtifactT &artifact, mlir::ModuleOp module,
                        llvm::ArrayRef<std::pair<std::string, std::string>> retries = {});

/// The report with the time of each phase in milliseconds, which differ from run to run and are no
/// part of a file.
std::string addPhases(std::string report, llvm::ArrayRef<std::pair<std::string, double>> phases);

} // namespace frit
