// An artifact loaded for torch: checks it, binds its constants, and runs it on at::Tensor handles.
// Thread-safe. The Python object around it is python/bindings/ExecutableObject.

#pragma once

#include "runtime/cuda/CubinStore.h"
#include "runtime/cuda/GraphTensors.h"
#include "runtime/plan/PlanExecutor.h"
#include "runtime/plan/Values.h"
#include "runtime/torch/ResultViews.h"
#include "runtime/torch/SpecializedKernels.h"

#include <ATen/core/TensorBase.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace frit {

class CudaBackend;
class CudaGraphs;
class Driver;
class OperatorCapture;
class PoisonBackend;
class PoisonHost;
class TorchHost;

class TorchExecutable {
public:
  /// `constants` are the tensors that the graph was captured with, in order; weights in the file
  /// are used in its mapping. `poison` guards memory (PoisonHost). `weights` are those that a file
  /// was compiled without.
  static Result<std::unique_ptr<TorchExecutable>>
  load(std::shared_ptr<const Artifact> artifact, std::span<const at::TensorBase> constants,
       bool poison = false, const std::map<std::string, at::TensorBase> &weights = {});
  ~TorchExecutable();

  /// The same for the program of a file, whose calls refuse arguments that share memory with one
  /// that is written. Without `pack` it keeps no packed weights (PackedWeight).
  static Result<std::unique_ptr<TorchExecutable>>
  open(std::shared_ptr<const Artifact> artifact,
       const std::map<std::string, at::TensorBase> &weights, bool pack);

  /// Takes the handles of `inputs`; throws what eager would throw.
  void run(std::span<InputValue> inputs, std::span<OutputValue> outputs);
  /// The same, but returns the reason if the arguments do not fit the compiled graph, or the error
  /// of the program (repeatErrors); nothing has happened then, and the caller owns the handles
  /// again.
  Status tryRun(std::span<InputValue> inputs, std::span<OutputValue> outputs);

  /// Runs a call and returns what is wrong; the arguments are taken, whatever the outcome.
  Status runOnce(std::span<InputValue> inputs, std::span<OutputValue> outputs);
  const DecodedPlan &decodedPlan() const { return *plan; }
  /// Visits the graphs of control flow, and theirs.
  void forEachSubgraph(const std::function<void(const TorchExecutable &)> &visit) const;

  size_t inputCount() const { return executor->inputCount(); }
  size_t outputCount() const { return executor->outputCount(); }
  const Counters &counters() const { return executor->counters(); }
  /// A JSON object with the counters since loading, including those of kernels for single buckets.
  std::string stats() const;

  /// Runs calls as CUDA graphs where possible (mode "reduce-overhead"). `operators` captures calls
  /// of operators; null if they cannot be captured. Calls without a graph are counted by the
  /// reason. Must precede the first call.
  void captureGraphs(GraphTensors tensors, std::shared_ptr<OperatorCapture> operators = nullptr);
  /// Errors of the program that occur before anything that cannot be undone are returned instead of
  /// thrown, so that the caller can run the call as traced. Must precede the first call.
  void repeatErrors();
  /// Calls use at most this many of torch's threads; 0: all. Must precede the first call.
  void limitThreads(int most) { mostThreads = most; }
  /// On a GPU, keeps cubins in a folder of Python's disk cache and takes them from there
  /// (CubinStore.h). Must precede the first call.
  void keepCubins(const std::string &root, uint64_t limit);
  /// Counts the buckets of calls from now on, and lets single buckets have their own kernels. Must
  /// precede the first call.
  void watchBuckets();
  /// The entries, one per bucket, of a combination that is worth a compilation; each combination is
  /// returned once.
  std::optional<std::vector<uint32_t>> takeWantedBuckets();
  /// Makes calls of these buckets run `made`: the same graph, compiled for their range of sizes.
  Status specialize(std::span<const uint32_t> buckets, std::shared_ptr<const Artifact> made,
                    std::span<const at::TensorBase> constants);
  void noteFailedSpecialization();
  /// Whether takeNotices would return anything.
  bool hasNotices() const {
    return hasNotes() || (executor->counters().overlapCopies.load(std::memory_order_relaxed) != 0 &&
                          !noticed.load(std::memory_order_relaxed));
  }
  /// Notices for the user about the calls so far, each once: which code was loaded, and why a call
  /// was slow.
  std::vector<std::string> takeNotices();
  /// The inputs and outputs, and the same as JSON.
  Signature describeItself() const;
  std::string signature() const;
  std::string_view report() const { return artifact->report(); }
  std::string_view graphName() const { return artifact->graphName(); }

private:
  TorchExecutable() = default;
  friend class ExecutableSums;
  friend class TorchSubgraph;
  Status chooseBackend();
  Status bindConstants(std::span<const at::TensorBase> constants,
                       const std::map<std::string, at::TensorBase> &weights);
  Result<at::TensorBase> weightTensor(uint32_t number,
                                      const std::map<std::string, at::TensorBase> &weights) const;
  bool hasNotes() const;
  Status runBelowAutograd(std::span<InputValue> inputs, std::span<OutputValue> outputs);
  Status runAsGraph(TorchExecutable &runner, std::span<InputValue> inputs,
                    std::span<OutputValue> outputs);
  Status runPoisoned(std::span<InputValue> inputs, std::span<OutputValue> outputs);
  Status checkArguments(std::span<InputValue> inputs, int &device) const;

  std::shared_ptr<const Artifact> artifact;
  /// The name in profilers.
  std::string spanName;
  std::shared_ptr<const DecodedPlan> plan;
  std::unique_ptr<TorchHost> host;
  std::unique_ptr<KernelBackend> backend;
  /// Set if the plan is one for GPUs.
  std::shared_ptr<Driver> driver;
  CudaBackend *cuda = nullptr;
  std::optional<CubinStore> cubins;
  /// Only with `poison`: between the executor and the two above.
  std::unique_ptr<PoisonHost> poisonHost;
  std::unique_ptr<PoisonBackend> poisonBackend;
  std::unique_ptr<PlanExecutor> executor;
  std::shared_ptr<OperatorCapture> operators;
  GraphTensors graphTensors;
  /// Set if calls are to be graphs; otherwise the reason why they never are, and how many calls it
  /// affected.
  std::unique_ptr<CudaGraphs> graphs;
  std::string whyNoGraphs;
  std::atomic<uint64_t> callsWithoutGraphs{0};
  /// Set if buckets are watched.
  std::unique_ptr<SpecializedKernels> specialized;
  std::atomic<bool> noticed{false};
  int mostThreads = 0;
  bool repeatsErrors = false;
  std::optional<ResultViews> views;
};

/// Throws the C++ exception that torch's Python layer turns into eager's exception.
/// An error of Python's numbers, for which torch has no class: ZeroDivisionError, OverflowError.
class NumberError : public c10::Error {
public:
  explicit NumberError(const Status &status) : c10::Error(status.message()), kind(status.kind()) {}
  ErrorKind kind;
};

[[noreturn]] void throwStatus(const Status &status);

} // namespace frit
