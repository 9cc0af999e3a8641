// Compares parts in their packed FlatBuffers form, because the object form has no comparison.

#include "runtime/artifact/ArtifactDifference.h"

#include "runtime/artifact/Artifact_generated.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace frit {

using namespace format;

namespace {

template <typename T> std::string bytesOfTable(const T &part) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(T::TableType::Pack(builder, &part));
  return {reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()};
}

template <typename T> bool isSame(const T &a, const T &b) {
  return bytesOfTable(a) == bytesOfTable(b);
}

/// Describes the first element of a list that differs: "input 2 of the plan for Cpu is another".
template <typename T>
std::string differenceOf(const std::vector<std::unique_ptr<T>> &kept,
                         const std::vector<std::unique_ptr<T>> &expected, const char *what,
                         const std::string &where) {
  if (kept.size() != expected.size()) {
    return where + " has " + std::to_string(kept.size()) + " of its " +
           std::to_string(expected.size()) + " " + what + "s";
  }
  for (size_t at = 0; at != kept.size(); ++at) {
    if (!isSame(*kept[at], *expected[at])) {
      return std::string(what) + " " + std::to_string(at) + " of " + where + " is another";
    }
  }
  return "";
}

std::string differenceOfSteps(const PlanT &kept, const PlanT &expected, const std::string &where) {
  for (size_t at = 0; at != std::max(kept.steps.size(), expected.steps.size()); ++at) {
    std::string step = "step " + std::to_string(at) + " of " + where;
    if (at == kept.steps.size()) {
      return step + " is missing: " + EnumNameAction(expected.steps[at]->action.type);
    }
    std::string name = EnumNameAction(kept.steps[at]->action.type);
    if (at == expected.steps.size()) {
      return step + " is " + name + ", where the plan should have ended";
    }
    if (kept.steps[at]->action.type != expected.steps[at]->action.type) {
      return step + " is " + name + ", not " + EnumNameAction(expected.steps[at]->action.type);
    }
    if (!isSame(*kept.steps[at], *expected.steps[at])) {
      return step + " is another " + name;
    }
  }
  return "";
}

std::string differenceOfPlans(const PlanT &kept, const PlanT &expected, const std::string &where) {
  std::string found = differenceOfSteps(kept, expected, where);
  auto look = [&](const auto &mine, const auto &theirs, const char *what) {
    found = found.empty() ? differenceOf(mine, theirs, what, where) : found;
  };
  look(kept.inputs, expected.inputs, "input");
  look(kept.outputs, expected.outputs, "output");
  look(kept.tensors, expected.tensors, "tensor");
  look(kept.symbols, expected.symbols, "symbol");
  look(kept.guards, expected.guards, "guard");
  look(kept.constants, expected.constants, "constant");
  look(kept.programs, expected.programs, "program");
  look(kept.kernels, expected.kernels, "kernel");
  look(kept.buckets, expected.buckets, "bucket");
  return found.empty() && !isSame(kept, expected) ? where + " has other registers" : found;
}

} // namespace

std::string firstDifference(const frit::Artifact &kept, const frit::Artifact &expected) {
  std::unique_ptr<ArtifactT> mine(kept.root().UnPack()), theirs(expected.root().UnPack());
  if (isSame(*mine, *theirs)) {
    return "";
  }
  if (mine->plans.size() != theirs->plans.size()) {
    return "the artifact has " + std::to_string(mine->plans.size()) + " of its " +
           std::to_string(theirs->plans.size()) + " plans";
  }
  for (size_t at = 0; at != mine->plans.size(); ++at) {
    std::string where = std::string("the plan for ") + EnumNameTarget(theirs->plans[at]->target);
    if (std::string found = differenceOfPlans(*mine->plans[at], *theirs->plans[at], where);
        !found.empty()) {
      return found;
    }
  }
  std::string found = differenceOf(mine->images, theirs->images, "code image", "the artifact");
  if (found.empty()) {
    found = differenceOf(mine->gpu_modules, theirs->gpu_modules, "GPU module", "the artifact");
  }
  if (found.empty()) {
    found = differenceOf(mine->subgraphs, theirs->subgraphs, "subgraph", "the artifact");
  }
  return found.empty() ? "the artifact has another report, other names or other source lines"
                       : found;
}

} // namespace frit
