// The report that frit.explain and the logs show: every kernel with its operators and every call
// with its reason, each with the user's source lines.

#include "compiler/ArtifactWriter.h"

#include "ir/FritAttributes.h"
#include "ir/FritOps.h"
#include "ir/Planted.h"
#include "passes/ShapeGuards.h"
#include "passes/schedule/DescribeSchedule.h"
#include "passes/schedule/ScheduleChoices.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

namespace frit {

/// Writes the launches of all variants in order, each entry once.
static void writeEntries(llvm::json::OStream &json, const format::KernelT &kernel) {
  llvm::StringSet<> known;
  json.attributeArray("entries", [&] {
    for (const auto &variant : kernel.variants) {
      for (const auto &launch : variant->launches) {
        if (!known.insert(launch->entry).second) {
          continue;
        }
        json.object([&] {
          json.attribute("entry", launch->entry);
          json.attribute("threads", launch->block_x * launch->block_y * launch->block_z);
          json.attribute("shared_bytes", launch->shared_bytes);
          json.attribute("cluster", launch->cluster_x);
        });
      }
    }
  });
}

static void writeKernels(llvm::json::OStream &json, const format::ArtifactT &artifact,
                         mlir::ModuleOp module, const format::PlanT &plan) {
  std::vector<unsigned> uses(plan.kernels.size()), items(plan.kernels.size());
  for (const auto &step : plan.steps) {
    if (const auto *launch = step->action.AsLaunch()) {
      ++uses[launch->kernel];
      items[launch->kernel] += launch->items;
    }
  }
  for (size_t i = 0; i != plan.kernels.size(); ++i) {
    const format::KernelT &kernel = *plan.kernels[i];
    json.object([&] {
      json.attribute("name", kernel.name);
      json.attribute("launches", uses[i]);
      // Uses of the kernel; those of a list share a launch.
      json.attribute("uses", items[i]);
      if (auto op = module.lookupSymbol<mlir::frit::KernelOp>(kernel.name)) {
        json.attribute("schedule", mlir::frit::describeSchedule(op));
      }
      json.attributeArray("ops", [&] {
        for (const std::string &name : kernel.operators) {
          json.value(name);
        }
      });
      json.attributeArray("sources", [&] {
        for (uint32_t source : kernel.sources) {
          json.value(artifact.sources[source]);
        }
      });
      if (plan.target != format::Target::Cpu) {
        writeEntries(json, kernel);
      }
    });
  }
}

/// An operator's name as torch writes it in a graph: "aten.mm.default".
static std::string operatorName(const format::AtenT &call) {
  if (call.name == "frit::convolution") {
    return "aten.convolution.default"; // with what follows it; the reason says what
  }
  auto [space, name] = llvm::StringRef(call.name).split("::");
  if (!call.graphs.empty()) {
    return (space + "." + name).str();
  }
  return (space + "." + name + "." + (call.overload.empty() ? "default" : call.overload)).str();
}

static void writeCalls(llvm::json::OStream &json, const format::ArtifactT &artifact,
                       const format::PlanT &plan) {
  for (const auto &step : plan.steps) {
    const auto *call = step->action.AsAten();
    if (call && call->graphs.empty()) {
      json.object([&] {
        json.attribute("op", operatorName(*call));
        json.attribute("reason", call->reason);
        if (call->source != kNoRegister) {
          json.attribute("source", artifact.sources[call->source]);
        }
        if (call->own_product) {
          json.attribute("own_product", true);
        }
        if (call->own_attention) {
          json.attribute("own_attention", true);
        }
      });
    }
  }
}

/// Branches and loops, with the digests of their graphs.
static void writeControlFlow(llvm::json::OStream &json, const format::ArtifactT &artifact,
                             const format::PlanT &plan) {
  for (const auto &step : plan.steps) {
    const auto *call = step->action.AsAten();
    if (call && !call->graphs.empty()) {
      json.object([&] {
        json.attribute("op", operatorName(*call));
        json.attributeArray("graphs", [&] {
          for (const std::string &name : call->graphs) {
            json.value(name.substr(0, 12));
          }
        });
        if (call->source != kNoRegister) {
          json.attribute("source", artifact.sources[call->source]);
        }
      });
    }
  }
}

/// Counts the steps of the plan by kind, which shows views that cost a kernel or a copy.
static void writeStepKinds(llvm::json::OStream &json, const format::PlanT &plan) {
  std::map<std::string, int64_t> kinds;
  for (const auto &step : plan.steps) {
    ++kinds[format::EnumNameAction(step->action.type)];
  }
  for (const auto &[kind, count] : kinds) {
    json.attribute(kind, count);
  }
}

/// The counts that a pass recorded by operator, summed over all graphs.
static void writeCounts(llvm::json::OStream &json, mlir::ModuleOp module,
                        mlir::frit::OperationAttr<mlir::DictionaryAttr> attribute) {
  std::map<std::string, int64_t> counts;
  for (auto graph : module.getOps<mlir::frit::GraphOp>()) {
    if (mlir::DictionaryAttr known = attribute.get(graph)) {
      for (mlir::NamedAttribute entry : known) {
        counts[entry.getName().str()] += mlir::cast<mlir::IntegerAttr>(entry.getValue()).getInt();
      }
    }
  }
  for (const auto &[name, count] : counts) {
    json.attribute(name, count);
  }
}

/// The sum of a pass's count over all graphs.
static int64_t sumOf(mlir::frit::OperationAttr<mlir::IntegerAttr> attribute,
                     mlir::ModuleOp module) {
  int64_t sum = 0;
  for (auto graph : module.getOps<mlir::frit::GraphOp>()) {
    if (mlir::IntegerAttr known = attribute.get(graph)) {
      sum += known.getInt();
    }
  }
  return sum;
}

/// The guards of the graph, then those of its kernels' variants, in terms of the graph's sizes.
static void writeGuards(llvm::json::OStream &json, mlir::ModuleOp module,
                        const format::PlanT &plan) {
  using namespace mlir::frit;
  auto write = [&](AssumptionAttr assumption, llvm::function_ref<std::string(int64_t)> nameOf) {
    json.attribute("kind", stringifyGuardKind(assumption.getKind()));
    json.attribute("requirement", describe(assumption, nameOf));
    json.attribute("origin", assumption.getOrigin());
  };
  for (auto graph : module.getOps<GraphOp>()) {
    for (auto guard : graph.getBody().front().getOps<GuardOp>()) {
      json.object([&] {
        write(guard.getAssumption(), [&](int64_t argument) {
          auto name = kArgumentNameAttr.get(graph, argument);
          return name ? "'" + name.str() + "'" : "argument " + std::to_string(argument);
        });
      });
    }
    llvm::StringSet<> inVariants;
    for (const auto &kernel : plan.kernels) {
      if (kernel->variants.size() > 1) {
        inVariants.insert(kernel->name);
      }
    }
    for (auto launch : graph.getBody().front().getOps<LaunchOp>()) {
      mlir::ArrayAttr variants = launch.getVariantsAttr();
      if (!variants || !inVariants.erase(launch.getKernel())) {
        continue;
      }
      for (auto [number, variant] : llvm::enumerate(variants.getAsRange<VariantAttr>())) {
        for (AssumptionAttr assumption : variant.getAssumptions()) {
          json.object([&] {
            json.attribute("kernel", launch.getKernel());
            json.attribute("variant", int64_t(number));
            write(assumption, [](int64_t operand) { return "operand " + std::to_string(operand); });
          });
        }
      }
    }
  }
}

/// The buckets of each dynamic size, and whether anything uses them. `index` is the bucket's number
/// in the plan and in the counters.
static void writeBuckets(llvm::json::OStream &json, mlir::ModuleOp module,
                         const format::PlanT &plan) {
  bool keepsBlocks = llvm::any_of(plan.steps, [](const auto &step) {
    const auto *alloc = step->action.AsAlloc();
    return alloc && alloc->capacity != kNoRegister;
  });
  for (auto graph : module.getOps<mlir::frit::GraphOp>()) {
    auto choices = mlir::frit::kBucketedAttr.get(graph);
    if (!choices) {
      continue;
    }
    for (auto choice : choices.getAsRange<mlir::DictionaryAttr>()) {
      auto text = [&](const char *name) { return choice.getAs<mlir::StringAttr>(name).getValue(); };
      llvm::ArrayRef<int64_t> sizes;
      for (auto symbol : graph.getSymbols().getAsRange<mlir::frit::SymbolAttr>()) {
        sizes = symbol.getName() == text("symbol") ? symbol.getBuckets() : sizes;
      }
      int64_t index = -1;
      for (auto [number, bucket] : llvm::enumerate(plan.buckets)) {
        for (const auto &symbol : plan.symbols) {
          index = symbol->reg == bucket->symbol && symbol->name == text("symbol") ? int64_t(number)
                                                                                  : index;
        }
      }
      json.object([&] {
        json.attribute("symbol", text("symbol"));
        json.attributeArray("names", [&] {
          for (auto name : choice.getAs<mlir::ArrayAttr>("names").getAsRange<mlir::StringAttr>()) {
            json.value(name.getValue());
          }
        });
        json.attribute("policy", text("policy"));
        json.attribute("asked", choice.getAs<mlir::BoolAttr>("asked").getValue());
        json.attributeArray("sizes", [&] {
          for (int64_t size : sizes) {
            json.value(size);
          }
        });
        json.attribute("index", index);
        json.attribute("blocks", index >= 0 && keepsBlocks);
        if (auto gains = mlir::frit::kWarmBytesAttr.get(graph)) {
          if (auto bytes = gains.getAs<mlir::IntegerAttr>(text("symbol"))) {
            json.attribute("warm_bytes", bytes.getInt());
          }
        }
        if (index < 0) {
          json.attribute("why", "nothing gains: no temporary of this size reaches 8 MiB, and no "
                                "library call is padded to it");
        }
      });
    }
  }
}

/// A list of numbers that a pass recorded on the graph.
static void writeNumbers(llvm::json::OStream &json, mlir::ModuleOp module, llvm::StringRef name,
                         mlir::frit::OperationAttr<mlir::DenseI64ArrayAttr> attribute) {
  auto graph = module.lookupSymbol<mlir::frit::GraphOp>(name);
  auto numbers = graph ? attribute.get(graph) : mlir::DenseI64ArrayAttr();
  for (int64_t number : numbers ? numbers.asArrayRef() : llvm::ArrayRef<int64_t>()) {
    json.value(number);
  }
}

/// Kernels and operators in the order in which they run.
static void writeSteps(llvm::json::OStream &json, const format::PlanT &plan) {
  for (const auto &step : plan.steps) {
    if (const auto *launch = step->action.AsLaunch()) {
      json.value("kernel " + plan.kernels[launch->kernel]->name);
    } else if (const auto *call = step->action.AsAten()) {
      json.value(operatorName(*call));
    }
  }
}

/// The notes of `materialize-padding`: dictionaries of text and numbers.
static void writeNotes(llvm::json::OStream &json, mlir::ModuleOp module,
                       mlir::frit::OperationAttr<mlir::ArrayAttr> attribute) {
  module.walk([&](mlir::frit::GraphOp graph) {
    mlir::ArrayAttr notes = attribute.get(graph);
    for (mlir::Attribute note : notes ? notes.getValue() : llvm::ArrayRef<mlir::Attribute>()) {
      json.object([&] {
        for (mlir::NamedAttribute entry : mlir::cast<mlir::DictionaryAttr>(note)) {
          if (auto text = mlir::dyn_cast<mlir::StringAttr>(entry.getValue())) {
            json.attribute(entry.getName().getValue(), text.getValue());
          } else if (auto number = mlir::dyn_cast<mlir::FloatAttr>(entry.getValue())) {
            json.attribute(entry.getName().getValue(), number.getValueAsDouble());
          }
        }
      });
    }
  });
}

/// What one plan has: its kernels, calls, guards, buckets and steps.
static void writePlan(llvm::json::OStream &json, const format::ArtifactT &artifact,
                      const format::PlanT &plan, mlir::ModuleOp module) {
  json.attributeArray("kernels", [&] { writeKernels(json, artifact, module, plan); });
  json.attributeArray("aten_calls", [&] { writeCalls(json, artifact, plan); });
  json.attributeArray("guards", [&] { writeGuards(json, module, plan); });
  json.attribute("copies", sumOf(mlir::frit::kCopiesAttr, module));
  json.attributeArray("buckets", [&] { writeBuckets(json, module, plan); });
  json.attribute("steps", int64_t(plan.steps.size()));
  json.attributeObject("step_kinds", [&] { writeStepKinds(json, plan); });
  json.attributeArray("order", [&] { writeSteps(json, plan); });
  json.attributeArray("control_flow", [&] { writeControlFlow(json, artifact, plan); });
}

std::string writeReport(const format::ArtifactT &artifact,
                        llvm::ArrayRef<mlir::frit::GraphOp> graphs,
                        llvm::ArrayRef<std::pair<std::string, std::string>> retries,
                        llvm::ArrayRef<std::pair<std::string, std::string>> subgraphs) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  json.object([&] {
    json.attribute("graph", artifact.graph);
    auto moduleOf = [&](size_t plan) {
      return mlir::frit::GraphOp(graphs[plan])->getParentOfType<mlir::ModuleOp>();
    };
    mlir::ModuleOp module = moduleOf(0);
    writePlan(json, artifact, *artifact.plans.front(), module);
    json.attributeArray("other_plans", [&] {
      for (size_t plan = 1; plan < artifact.plans.size(); ++plan) {
        json.object([&] { writePlan(json, artifact, *artifact.plans[plan], moduleOf(plan)); });
      }
    });
    json.attribute("needs_libtorch",
                   llvm::any_of(artifact.plans,
                                [](const auto &one) {
                                  return llvm::any_of(one->steps, [](const auto &step) {
                                    const auto *call = step->action.AsAten();
                                    return call && call->graphs.empty();
                                  });
                                }) ||
                       llvm::any_of(subgraphs, [](const auto &one) {
                         return llvm::StringRef(one.second).contains(R"("needs_libtorch":true)");
                       }));
    json.attributeObject("legalized",
                         [&] { writeCounts(json, module, mlir::frit::kLegalizedAttr); });
    json.attributeObject("mutants", [&] { writeCounts(json, module, mlir::frit::kMutantsAttr); });
    if (mlir::frit::plantedClass()) {
      json.attribute("planted", int64_t(mlir::frit::plantedClass()));
    }
    json.attributeObject("random", [&] { writeCounts(json, module, mlir::frit::kRandomAttr); });
    json.attributeArray("retries", [&] {
      for (const auto &[what, why] : retries) {
        json.object([&] {
          json.attribute("without", what);
          json.attribute("because", why);
        });
      }
    });
    json.attribute("relaid_weights", sumOf(mlir::frit::kRelaidWeightsAttr, module));
    json.attribute("folded_weights", sumOf(mlir::frit::kFoldedWeightsAttr, module));
    json.attributeArray("padding", [&] { writeNotes(json, module, mlir::frit::kPaddingAttr); });
    json.attributeArray("padding_refused",
                        [&] { writeNotes(json, module, mlir::frit::kPaddingRefusedAttr); });
    json.attributeArray("channels_last_results", [&] {
      writeNumbers(json, module, artifact.graph, mlir::frit::kChannelsLastResultsAttr);
    });
    json.attributeArray("schedule_candidates", [&] {
      writeNumbers(json, module, artifact.graph, mlir::frit::kScheduleCandidatesAttr);
    });
    json.attributeArray("subgraphs", [&] {
      for (const auto &[name, report] : subgraphs) {
        json.object([&] {
          json.attribute("name", name);
          json.attributeBegin("report");
          json.rawValue(report);
          json.attributeEnd();
        });
      }
    });
  });
  return text;
}

std::string addPhases(std::string report, llvm::ArrayRef<std::pair<std::string, double>> phases) {
  assert(llvm::StringRef(report).ends_with("}"));
  report.back() = ',';
  llvm::raw_string_ostream stream(report);
  stream << R"("phases_ms":)";
  llvm::json::OStream json(stream);
  json.object([&] {
    for (const auto &[name, milliseconds] : phases) {
      json.attribute(name, milliseconds);
    }
  });
  stream << "}";
  return report;
}

} // namespace frit
