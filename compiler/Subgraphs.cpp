#include "compiler/Subgraphs.h"

#include "ir/FritOps.h"
#include "runtime/artifact/Artifact.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;

/// The graphs of a call that is control flow; none for other calls.
static ArrayRef<Attribute> graphsOf(AtenOp call) {
  return call && call.getGraphsAttr() ? call.getGraphsAttr().getValue() : ArrayRef<Attribute>();
}

/// The graphs that `graph` needs: those that it calls, those that its control flow calls, and
/// theirs.
static void collect(GraphOp graph, bool withControlFlow, llvm::SmallSetVector<GraphOp, 4> &all) {
  if (!graph || !all.insert(graph)) {
    return;
  }
  auto module = graph->getParentOfType<ModuleOp>();
  graph.walk([&](Operation *op) {
    if (auto call = dyn_cast<CallOp>(op)) {
      collect(module.lookupSymbol<GraphOp>(call.getCallee()), withControlFlow, all);
    }
    for (Attribute one : graphsOf(dyn_cast<AtenOp>(op))) {
      auto symbol = dyn_cast<FlatSymbolRefAttr>(one);
      if (withControlFlow && symbol) {
        collect(module.lookupSymbol<GraphOp>(symbol.getValue()), withControlFlow, all);
      }
    }
  });
}

static std::string textOf(ModuleOp module, bool withLines) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags().enableDebugInfo(withLines));
  return text;
}

void Subgraphs::take(ModuleOp module) {
  auto all = module.getOps<GraphOp>();
  if (all.empty()) {
    return;
  }
  llvm::SmallSetVector<GraphOp, 4> staying;
  collect(*all.begin(), /*withControlFlow=*/false, staying);
  llvm::DenseMap<StringAttr, StringAttr> digests;
  Builder builder(module.getContext());
  auto digestOf = [&](FlatSymbolRefAttr symbol) {
    StringAttr &digest = digests[symbol.getAttr()];
    if (!digest) {
      llvm::SmallSetVector<GraphOp, 4> needed;
      collect(module.lookupSymbol<GraphOp>(symbol.getValue()), /*withControlFlow=*/true, needed);
      OwningOpRef<ModuleOp> own = ModuleOp::create(module.getLoc());
      for (GraphOp graph : needed) {
        own->push_back(graph.clone());
      }
      // The user's lines are not part of the name, as they are not part of a cache key.
      std::string key = textOf(*own, /*withLines=*/false);
      Digest sha = sha256({reinterpret_cast<const uint8_t *>(key.data()), key.size()});
      digest = builder.getStringAttr(llvm::toHex(sha, /*LowerCase=*/true));
      if (llvm::none_of(graphs, [&](const One &one) { return one.digest == digest; })) {
        graphs.push_back({symbol.getValue().str(), digest.str(), textOf(*own, /*withLines=*/true),
                          "", CompileResult()});
      }
    }
    return digest;
  };
  for (GraphOp graph : staying) {
    graph.walk([&](AtenOp op) {
      SmallVector<Attribute> names;
      for (Attribute one : graphsOf(op)) {
        auto symbol = dyn_cast<FlatSymbolRefAttr>(one);
        names.push_back(symbol ? digestOf(symbol) : one);
      }
      if (!names.empty()) {
        op.setGraphsAttr(builder.getArrayAttr(names));
      }
    });
  }
  for (GraphOp graph : llvm::make_early_inc_range(module.getOps<GraphOp>())) {
    if (!digests.empty() && !staying.contains(graph)) {
      graph.erase();
    }
  }
}

/// The options for a graph whose arguments are values of another one.
static CompileOptions optionsFor(const CompileOptions &outer, const std::string &name) {
  CompileOptions options = outer;
  options.name = outer.name + "." + name;
  options.isCached = nullptr;
  options.importedIr = nullptr;
  options.firstKept = -1;
  options.channelsLastInputs.clear();
  options.buckets.clear();
  options.symbolRanges.clear();
  options.scheduleChoices.clear();
  options.weights = "embed";
  return options;
}

/// Whether a compiled graph writes to its arguments.
static bool writesToArguments(const Artifact &file) {
  const auto *plans = file.root().plans();
  return plans && llvm::any_of(*plans, [](const format::Plan *plan) {
           return plan->inputs() && llvm::any_of(*plan->inputs(), [](const format::Input *input) {
                    return input->mutated();
                  });
         });
}

bool Subgraphs::compile(
    const CompileOptions &options,
    llvm::function_ref<Attempt(llvm::StringRef, const CompileOptions &, const Relaxation &)>
        attempt,
    CompileResult &result) {
  for (One &one : graphs) {
    one.result = compileWithRetries(optionsFor(options, one.name),
                                    [&](const CompileOptions &asked, const Relaxation &relaxation) {
                                      return attempt(one.text, asked, relaxation);
                                    });
    if (!one.result.ok()) {
      result.diagnostics = std::move(one.result.diagnostics);
      return false;
    }
    auto file = Artifact::fromBytes({reinterpret_cast<const uint8_t *>(one.result.artifact.data()),
                                     one.result.artifact.size()});
    if (!file.isOk()) {
      result.diagnostics.push_back({DiagnosticKind::Internal, file.status().message(), "", {}});
      return false;
    }
    // The file's report, not the result's: that one has times, and a file is the same each time.
    one.report = (*file)->report();
    if (writesToArguments(**file)) {
      result.diagnostics.push_back(
          {DiagnosticKind::Unsupported,
           "control flow has a graph, '" + one.name +
               "', that writes to its arguments: return the new values, or compile the program "
               "with torch.compile, which makes them values",
           "",
           {}});
      return false;
    }
    result.kernelsCompiled += one.result.kernelsCompiled;
    result.kernelsReused += one.result.kernelsReused;
    result.kernelsForgotten += one.result.kernelsForgotten;
    for (const auto &[name, count] : one.result.calls) {
      result.addCalls(name, count);
    }
  }
  return true;
}

std::string Subgraphs::addTo(format::ArtifactT &artifact) {
  for (const One &one : graphs) {
    auto file = std::make_unique<format::SubgraphT>();
    file->name = one.digest;
    file->bytes.assign(one.result.artifact.begin(), one.result.artifact.end());
    artifact.subgraphs.push_back(std::move(file));
  }
  for (const auto &plan : artifact.plans) {
    for (const auto &step : plan->steps) {
      const auto *call = step->action.AsAten();
      for (const std::string &name : call ? call->graphs : std::vector<std::string>()) {
        if (llvm::none_of(graphs, [&](const One &one) { return one.digest == name; })) {
          return name;
        }
      }
    }
  }
  return "";
}

std::vector<std::pair<std::string, std::string>> Subgraphs::reports() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const One &one : graphs) {
    all.emplace_back(one.name, one.report);
  }
  return all;
}

} // namespace frit
