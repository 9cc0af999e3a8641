// Converts an outlined module and its generated code to the object form of a .frit file.

#pragma once

#include "codegen/Codegen.h"
#include "runtime/artifact/ArtifactBuilder.h"

#include <memory>
#include <string>
#include <vector>

namespace frit {

/// The code for one target, with descriptors of its kernels.
struct TargetCode {
  format::Target target;
  /// The outlined form that the code was made from; its graph becomes the plan.
  mlir::ModuleOp module;
  std::vector<mlir::frit::KernelDesc> kernels;
  std::vector<std::unique_ptr<format::CodeImageT>> images;
  std::vector<std::unique_ptr<format::GpuModuleT>> modules;
  mlir::frit::KernelCounts counts;
  /// LLVM's IR by what it was made for ("sm_90"), if it is wanted.
  std::vector<std::pair<std::string, std::string>> llvmIr;
};

/// Writes a plan for each target of the graph that no other graph calls. `graphs` receives the
/// graph of each plan. Null after a diagnostic. `firstKept`: see PlanWriter.
std::unique_ptr<format::ArtifactT> writeArtifact(std::vector<TargetCode> code, int64_t firstKept,
                                                 std::vector<mlir::frit::GraphOp> &graphs);

/// The report of an artifact as JSON: kernels and calls of its plans, with the user's source lines,
/// and the notes of passes on the graph (legalised operators, copies made for strides). The first
/// plan is at the top, the others are in "other_plans". `graphs`: the graph of each plan.
/// `retries`: the fallbacks that made the graph compile, each with its reason. `subgraphs`: the
/// names and reports of the graphs that control flow calls. Deterministic.
std::string writeReport(const format::ArtifactT &artifact,
                        llvm::ArrayRef<mlir::frit::GraphOp> graphs,
                        llvm::ArrayRef<std::pair<std::string, std::string>> retries = {},
                        llvm::ArrayRef<std::pair<std::string, std::string>> subgraphs = {});

/// Adds the time of each phase in milliseconds to a report. Times differ between runs, so they are
/// not part of a file.
std::string addPhases(std::string report, llvm::ArrayRef<std::pair<std::string, double>> phases);

} // namespace frit
