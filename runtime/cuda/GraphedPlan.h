// A plan whose calls may run as CUDA graphs: the host and backend that it runs with, properties of
// all its calls, and the keys of single calls.

#pragma once

#include "runtime/cuda/GraphEntry.h"
#include "runtime/cuda/GraphTensors.h"

namespace frit {

/// A call in terms of its graph.
struct GraphCall {
  DriverContext context = nullptr;
  DriverStream stream = nullptr;
  /// `key` distinguishes graphs; `exact` is everything that the launches of a call depend on.
  GraphKey key, exact;
  /// Arguments that are not copied into the graph's memory.
  std::vector<bool> fixed;
};

class GraphedPlan {
public:
  /// A call with fewer kernels runs without a graph.
  static constexpr uint64_t kFewestKernels = 4;

  /// `operators`: null if operators of torch cannot be captured. All arguments must outlive the
  /// object.
  GraphedPlan(std::shared_ptr<const DecodedPlan> plan, TensorHost &host, CudaBackend &backend,
              PlanExecutor &executor, std::shared_ptr<Driver> driver, GraphPool &pool,
              const GraphTensors &tensors, OperatorCapture *operators);

  bool callsOperators() const { return !decoded->atenCalls.empty(); }
  bool hasSymbols() const {
    return decoded->source->symbols() && decoded->source->symbols()->size() != 0;
  }
  std::string name() const { return std::string(decoded->artifact->graphName()); }
  /// The plan's kernels and operators, for messages.
  std::string stepNames() const;
  /// The most launches of a call: all its kernels, and one for each operator.
  uint64_t mostLaunches() const;
  static std::string tooFew(uint64_t launches);

  /// Computes the keys of a call, whose context and stream are set. Returns false with a reason if
  /// no such call can be captured.
  bool findKeys(std::span<const InputValue> inputs, GraphCall &call, std::string &why) const;
  /// Whether saved tensors of the forward are not in a graph's memory, although forwards may become
  /// graphs.
  bool waitsForForward(std::span<const InputValue> inputs, const std::vector<bool> &fixed) const;

  const std::shared_ptr<const DecodedPlan> decoded;
  TensorHost &host;
  CudaBackend &backend;
  PlanExecutor &executor;
  const std::shared_ptr<Driver> driver;
  GraphPool &pool;
  OperatorCapture *const operators;
  /// The lists of GraphTensors, by argument or result.
  const std::vector<bool> statics, keptArguments, keptResults;
  const bool anyKeptArguments, anyKeptResults;
  /// Whether each launch draws new random numbers, so that torch must launch the graph.
  bool isRandom = false;
  /// Why no call of this plan is ever captured, and why each graph is for one size only and cannot
  /// be updated; empty otherwise.
  std::string whyNever, whyExact;

private:
  std::string findWhyNever() const;
  std::string findWhyExact() const;
  std::string whyNotOperators() const;
};

} // namespace frit
