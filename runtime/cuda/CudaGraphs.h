// Runs calls as CUDA graphs (mode "reduce-overhead"): all kernels of a call in one launch. A graph
// is made at the second call with the same key: the same stream, the same static arguments
// (parameters and buffers, whose addresses the graph contains), and sizes that round up to the same
// buckets. If sizes, strides or numbers differ from the previous launch they are first written into
// the graph's nodes, so kernels compute only the call's own sizes, and there is one set of kernels.
// Other arguments are copied into the graph's memory before each launch, and results are copied out
// into tensors of the call after it: results can be held, arguments may lie anywhere, and all
// graphs of a stream share one memory (GraphPool). Results that a forward saves for its backward
// stay in place (KeptResults). Calls of operators are captured by torch, in its own memory, with
// one graph per size.
//
// GraphedPlan computes the keys, GraphCache has the graphs, a GraphRecorder captures them, and
// GraphReplay launches them. This class decides for each call which of these happens. A call that
// cannot be captured, or would not gain, runs without a graph and is counted by the reason.

#pragma once

#include "runtime/cuda/GraphRecorder.h"
#include "runtime/cuda/GraphReplay.h"

namespace frit {

class CudaGraphs {
public:
  /// `operators`: null if operators cannot be captured. All arguments must outlive the object.
  CudaGraphs(std::shared_ptr<const DecodedPlan> decoded, TensorHost &host, CudaBackend &backend,
             PlanExecutor &executor, std::shared_ptr<Driver> driver, GraphPool &pool,
             const GraphTensors &tensors, OperatorCapture *operators = nullptr);

  /// Binds the value of a constant, like PlanExecutor::bindConstant.
  Status bindConstant(uint32_t number, void *handle) {
    return recorder->bindConstant(number, handle);
  }
  /// Runs a call, like PlanExecutor::run.
  Status run(std::span<InputValue> inputs, std::span<OutputValue> outputs);
  GraphCounters counters() { return counts.read(); }
  /// Counts a call that ran without a graph.
  void count(const std::string &why) { counts.addNotCaptured(why); }
  /// Sets the largest number of cached graphs.
  void setMostGraphs(size_t most) { cache.mostGraphs = most; }

  /// The number of backward calls that wait for the forward to get a graph, before the backward is
  /// captured with copies of the saved tensors.
  static constexpr uint64_t kCallsBeforeCopies = 3;

private:
  /// How a call ran.
  enum class Outcome : uint8_t {
    /// Its graph was launched.
    Launched,
    /// It runs without a graph.
    Plain,
    /// It runs without a graph, which is then captured for later calls.
    PlainThenCapture
  };

  bool describe(std::span<const InputValue> inputs, GraphCall &call, std::string &why);
  Outcome tryGraph(const GraphCall &call, std::span<InputValue> inputs,
                   std::span<OutputValue> outputs, Status &status, std::string &why);
  Outcome launch(GraphEntry &entry, DriverStream stream, std::span<InputValue> inputs,
                 std::span<OutputValue> outputs, Status &status, std::string &why);
  Status runPlain(std::span<InputValue> inputs, std::span<OutputValue> outputs,
                  const std::string &why);
  Status runAndCapture(const GraphCall &call, std::span<InputValue> inputs,
                       std::span<OutputValue> outputs);
  std::string prepare(GraphEntry &entry, const GraphCall &call, std::span<const InputValue> inputs);
  Status capture(GraphEntry &entry, std::span<const InputValue> inputs);

  GraphedPlan plan;
  GraphCounts counts;
  /// Guards the cache and the recorder.
  ForkSafeLock lock;
  GraphCache cache;
  std::unique_ptr<GraphRecorder> recorder;
  GraphReplay replay;
};

} // namespace frit
