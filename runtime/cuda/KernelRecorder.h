// Captures calls of plans that consist of kernels. The plan is walked twice: to assign memory of
// the graph's lane, and to be captured. A walk in the third mode of KernelNodes updates a graph to
// other sizes.

#pragma once

#include "runtime/cuda/GraphRecorder.h"
#include "runtime/cuda/KernelNodes.h"

namespace frit {

class KernelRecorder : public GraphRecorder {
public:
  KernelRecorder(const GraphedPlan &plan, const GraphCache &cache);

  Status bindConstant(uint32_t number, void *handle) override;
  Status capture(GraphEntry &entry, std::span<const InputValue> inputs) override;
  Result<bool> update(GraphEntry &entry, std::span<const InputValue> inputs) override;

private:
  Status walk(std::span<const InputValue> inputs, GraphMemory &memory, DriverStream stream,
              GraphEntry &entry);
  Status readResults(std::span<OutputValue> outputs, GraphEntry &entry) const;
  Status record(GraphEntry &entry, std::span<const InputValue> inputs, GraphMemory &memory);
  Status instantiate(GraphEntry &entry, DriverGraph graph, DriverStream stream);

  RecordingHost recording;
  KernelNodes kernels;
  /// Runs the plan with `recording` as host and `kernels` as backend.
  PlanExecutor executor;
};

} // namespace frit
