// Captures the graph of a call: runs the plan on a stream that is being captured, and records the
// locations of the graph's arguments and results. A capture executes nothing, so a failure has no
// effects. KernelRecorder serves plans of kernels alone, OperatorRecorder those that call operators
// of torch.

#pragma once

#include "runtime/cuda/GraphCache.h"
#include "runtime/cuda/GraphedPlan.h"

namespace frit {

class GraphRecorder {
public:
  /// The most bytes that may be copied for each launch that a graph saves.
  static constexpr uint64_t kBytesPerLaunch = 1 << 20;

  static std::unique_ptr<GraphRecorder> make(const GraphedPlan &plan, const GraphCache &cache,
                                             GraphCounts &counts);
  virtual ~GraphRecorder() = default;

  /// Binds the value of a constant, like PlanExecutor::bindConstant.
  virtual Status bindConstant(uint32_t number, void *handle) = 0;
  /// Captures the graph of a call into `entry`, whose lane is locked.
  virtual Status capture(GraphEntry &entry, std::span<const InputValue> inputs) = 0;
  /// Updates the nodes of a graph for another call. Launches in progress keep their values. If the
  /// result is false, the call does not fit the graph, some nodes of which may have been updated.
  virtual Result<bool> update(GraphEntry &entry, std::span<const InputValue> inputs) = 0;

protected:
  GraphRecorder(const GraphedPlan &plan, const GraphCache &cache) : plan(plan), cache(cache) {}

  /// Begins a capture of this thread; other threads may allocate and synchronise meanwhile.
  DriverCode beginCapture(DriverStream stream) const;
  /// Why a graph of the recorded call would not pay; empty if it does.
  std::string whyNotWorth(const GraphEntry &entry, uint64_t launches) const;
  /// Records the next result of the call; returns null if it is not a tensor whose memory has to be
  /// found.
  GraphResult *addResult(const OutputValue &output, GraphEntry &entry) const;

  const GraphedPlan &plan;
  const GraphCache &cache;
};

} // namespace frit
