// Tells torch about results that share memory: which are views of each other or of an argument, and
// which share a version counter.

#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/plan/PlanExecutor.h"

#include <ATen/core/TensorBase.h>

namespace frit {

/// The kernels and calls of a plan run below autograd and make separate tensors over a storage.
/// Torch expects the views of one storage to share a version counter, by which autograd detects
/// writes to saved tensors, and to have a base, from which AOTAutograd recreates them.
class ResultViews {
public:
  explicit ResultViews(const format::Plan &plan);

  bool isEmpty() const { return views.empty() && groups.empty(); }
  /// The arguments that results are views of. Must be called before the call, which takes them.
  std::vector<at::TensorBase> hold(std::span<const InputValue> inputs) const;
  /// Makes results views, after the call and where autograd can see it.
  void tell(std::span<const at::TensorBase> arguments, std::span<OutputValue> outputs) const;

private:
  struct View {
    uint32_t output, input;
    /// Saved for the backward pass, or detached: it only shares the version counter.
    bool isSeparate;
  };
  struct Member {
    uint32_t output;
    /// The number and the dtype of its base, which it is itself if it is no view.
    uint32_t base;
    c10::ScalarType dtype;
    bool isView;
    /// Saved for the backward pass: it only shares the version counter.
    bool kept;
  };
  /// Results in one storage; one alone if its base is no result.
  using Group = std::vector<Member>;
  void tellGroup(const Group &group, std::span<OutputValue> outputs) const;

  std::vector<View> views;
  std::vector<Group> groups;
};

} // namespace frit
