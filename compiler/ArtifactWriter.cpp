// Collects the contents of a file: a plan for each target, the code, the source lines.

#include "compiler/ArtifactWriter.h"

#include "compiler/PlanWriter.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;

/// The graph from which the file is made: the one that no other graph calls.
static GraphOp entryGraph(ModuleOp module) {
  llvm::DenseSet<StringAttr> called;
  module.walk([&](CallOp call) { called.insert(call.getCalleeAttr().getAttr()); });
  GraphOp entry;
  for (auto graph : module.getOps<GraphOp>()) {
    if (!called.contains(graph.getSymNameAttr())) {
      if (entry) {
        graph.emitError() << "a module is compiled from one graph, but '" << entry.getSymName()
                          << "' and '" << graph.getSymName() << "' are both called by nobody";
        return nullptr;
      }
      entry = graph;
    }
  }
  if (!entry) {
    module.emitError() << "the module has no graph to compile";
  }
  return entry;
}

std::unique_ptr<format::ArtifactT> writeArtifact(std::vector<TargetCode> code, int64_t firstKept,
                                                 std::vector<GraphOp> &graphs) {
  auto artifact = std::make_unique<format::ArtifactT>();
  artifact->producer = "frit 0.1.0";
  SourceTable sources;
  for (TargetCode &one : code) {
    GraphOp graph = entryGraph(one.module);
    if (!graph) {
      return nullptr;
    }
    artifact->graph = graph.getSymName().str();
    // Without kernels one plan serves every CPU.
    if (one.target == format::Target::Cpu && one.images.empty() &&
        llvm::any_of(artifact->plans,
                     [](const auto &plan) { return plan->target == format::Target::Cpu; })) {
      continue;
    }
    PlanWriter::Kernels kernels;
    for (const KernelDesc &kernel : one.kernels) {
      kernels[kernel.name] = &kernel;
    }
    auto plan = PlanWriter(graph, one.target, kernels, sources, firstKept).write();
    if (!plan) {
      return nullptr;
    }
    if (one.target == format::Target::Cpu && !one.images.empty()) {
      plan->image = static_cast<uint32_t>(artifact->images.size());
    }
    artifact->plans.push_back(std::move(plan));
    graphs.push_back(graph);
    llvm::move(one.images, std::back_inserter(artifact->images));
    llvm::move(one.modules, std::back_inserter(artifact->gpu_modules));
  }
  artifact->sources = sources.take();
  return artifact;
}

} // namespace frit
