// What torch is told of results that share memory: which are views of each other or of an argument, and whose writes count for whom.

#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/plan/PlanExecutor.h"

#include <ATen/core/TensorBase.h>

namespace frit {

/// Kernels and calls of a plan run below autograd and make tensors of their own over a storage. To torch, views of one storage have one version
/// counter, by which autograd sees that what it kept was written, and a base, of which AOTAutograd makes them again.
class ResultViews {
public:
  explicit ResultViews(const format::Plan &plan);

  bool isEmpty() const { return views.empty() && groups.empty(); }
  /// The arguments that results are views of; to be asked before the call, which takes them.
  std::vector<at::TensorBase> hold(std::span<const InputValue> inputs) const;
  /// Makes results views, after the call and where autograd may see it.
  void tell(std::span<const at::TensorBase> arguments, std::span<OutputValue> outputs) const;

private:
  struct View {
    uint32_t output, input;
    bool kept;
  };
  /// Results in one storage. Those that are kept for the backward pass, the numbers from `kept` on, have the version counter alone.
  struct Group {
    std::vector<uint32_t> outputs;
    size_t kept;
  };
  void tellGroup(const Group &group, std::span<OutputValue> outputs) const;

  std::vector<View> views;
  std::vector<Group> groups;
};

} // namespace frit
