// Runs a call that has a graph: copies arguments in, launches once, copies results out.

#pragma once

#include "runtime/cuda/GraphedPlan.h"

namespace frit {

class GraphReplay {
public:
  explicit GraphReplay(const GraphedPlan &plan) : plan(plan) {}

  /// Allocates the tensors that a call returns, before anything else of the call; frees all if one
  /// cannot be allocated.
  Status allocate(const GraphEntry &entry, std::span<TensorSlot> storages) const;
  /// Runs the call with those tensors, and releases them and the inputs.
  Status run(const GraphEntry &entry, DriverStream stream, std::span<InputValue> inputs,
             std::span<TensorSlot> storages, std::span<OutputValue> outputs) const;

private:
  Status launch(const GraphEntry &entry, DriverStream stream) const;
  Status makeResults(const GraphEntry &entry, std::span<InputValue> inputs,
                     std::span<TensorSlot> storages, std::span<OutputValue> outputs) const;

  const GraphedPlan &plan;
};

} // namespace frit
