// What torch is told of results that share memory: which are views of each other or of an argument,
// and whose writes count for whom.

#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/plan/PlanExecutor.h"

#include <ATen/core/TensorBase.h>

namespace frit {

/// Kernels and calls of a plan run below autograd and make tensors of their own over a storage. To
/// torch, views of one storage have one version counter, by which autograd sees that what it kept
/// was written, and a base, of which AOTAutograd makes them again.
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
  struct Member {
    uint32_t output;
    /// Of the tensor that is this view's base.
    c10::ScalarType base;
    /// Kept for the backward pass: has the version counter alone.
    bool kept;
  };
  /// Results in one storage.
  using Group = std::vector<Member>;
  void tellGroup(const Group &group, std::span<OutputValue> outputs) const;

  std::vector<View> views;
  std::vector<Group> groups;
};

} // namespace frit
