// What frit.explain and the logs show: every kernel with the operators in it, every call with its reason, each with the user's lines.

#include "compiler/ArtifactWriter.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace frit {

static void writeKernels(llvm::json::OStream &json, const format::ArtifactT &artifact, const format::PlanT &plan) {
  std::vector<unsigned> uses(plan.kernels.size());
  for (const auto &step : plan.steps) {
    if (const auto *launch = step->action.AsLaunch()) {
      ++uses[launch->kernel];
    }
  }
  for (size_t i = 0; i != plan.kernels.size(); ++i) {
    const format::KernelT &kernel = *plan.kernels[i];
    json.object([&] {
      json.attribute("name", kernel.name);
      json.attribute("launches", uses[i]);
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
    });
  }
}

/// As torch spells an operator in a graph: "aten.mm.default".
static std::string operatorName(const format::AtenT &call) {
  auto [space, name] = llvm::StringRef(call.name).split("::");
  return (space + "." + name + "." + (call.overload.empty() ? "default" : call.overload)).str();
}

static void writeCalls(llvm::json::OStream &json, const format::ArtifactT &artifact, const format::PlanT &plan) {
  for (const auto &step : plan.steps) {
    if (const auto *call = step->action.AsAten()) {
      json.object([&] {
        json.attribute("op", operatorName(*call));
        json.attribute("reason", call->reason);
        if (call->source != kNoRegister) {
          json.attribute("source", artifact.sources[call->source]);
        }
      });
    }
  }
}

std::string writeReport(const format::ArtifactT &artifact, llvm::ArrayRef<std::pair<std::string, double>> phases) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  json.object([&] {
    json.attribute("graph", artifact.graph);
    const format::PlanT &plan = *artifact.plans.front();
    json.attributeArray("kernels", [&] { writeKernels(json, artifact, plan); });
    json.attributeArray("aten_calls", [&] { writeCalls(json, artifact, plan); });
    json.attribute("steps", int64_t(plan.steps.size()));
    json.attributeObject("phases_ms", [&] {
      for (const auto &[name, milliseconds] : phases) {
        json.attribute(name, milliseconds);
      }
    });
  });
  return text;
}

} // namespace frit
