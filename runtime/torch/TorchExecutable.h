// An artifact loaded for torch: checks it, binds its constants, and runs it on at::Tensor handles.
// Safe to call from several threads at once. The Python object around it is
// python/bindings/ExecutableObject.

#pragma once

#include "runtime/cuda/GraphTensors.h"
#include "runtime/plan/PlanExecutor.h"
#include "runtime/plan/Values.h"
#include "runtime/torch/ResultViews.h"
#include "runtime/torch/SpecializedKernels.h"

#include <ATen/core/TensorBase.h>

#include <atomic>
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
  /// `constants` are the tensors the graph was captured with, in order; weights the file carries
  /// are used where it is mapped. With `poison` memory is guarded (PoisonHost). `weights` are those
  /// a file was compiled without.
  static Result<std::unique_ptr<TorchExecutable>>
  load(std::shared_ptr<const Artifact> artifact, std::span<const at::TensorBase> constants,
       bool poison = false, const std::map<std::string, at::TensorBase> &weights = {});
  ~TorchExecutable();

  /// Takes the handles of `inputs`; throws what eager would throw.
  void run(std::span<InputValue> inputs, std::span<OutputValue> outputs);
  /// The same, but returns the reason where the arguments do not fit what was compiled: nothing has
  /// been done, and their handles are the caller's again.
  Status tryRun(std::span<InputValue> inputs, std::span<OutputValue> outputs);

  size_t inputCount() const { return executor->inputCount(); }
  size_t outputCount() const { return executor->outputCount(); }
  const Counters &counters() const { return executor->counters(); }
  /// JSON object with the counters since loading, those of the kernels for single buckets included.
  std::string stats() const;

  /// Calls become CUDA graphs where they can (mode "reduce-overhead"). `operators`: who captures
  /// calls of operators; null where nobody does. What runs without a graph is counted by its
  /// reason. Before the first call.
  void captureGraphs(GraphTensors tensors, std::shared_ptr<OperatorCapture> operators = nullptr);
  /// Calls count which buckets they meet from here on, and may run kernels of their own there.
  /// Before the first call.
  void watchBuckets();
  /// The entries of the buckets, one for each, for which kernels would be worth a compilation; each
  /// once.
  std::optional<std::vector<uint32_t>> takeWantedBuckets();
  /// Calls of these buckets run `made` from now on: the same graph, compiled for their range of
  /// sizes.
  Status specialize(std::span<const uint32_t> buckets, std::shared_ptr<const Artifact> made,
                    std::span<const at::TensorBase> constants);
  void noteFailedSpecialization();
  /// Whether takeNotices has something to say.
  bool hasNotices() const {
    return hasNotes() || (executor->counters().overlapCopies.load(std::memory_order_relaxed) != 0 &&
                          !noticed.load(std::memory_order_relaxed));
  }
  /// What the user may want to know of the calls so far, each once: which code was loaded, and why
  /// a call was slower than it looks.
  std::vector<std::string> takeNotices();
  /// What it takes and gives, and the same as JSON.
  Signature describeItself() const;
  std::string signature() const;
  std::string_view report() const { return artifact->report(); }
  std::string_view graphName() const { return artifact->graphName(); }

private:
  TorchExecutable() = default;
  friend class ExecutableSums;
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
  /// How profilers call it.
  std::string spanName;
  std::shared_ptr<const DecodedPlan> plan;
  std::unique_ptr<TorchHost> host;
  std::unique_ptr<KernelBackend> backend;
  /// Where the plan is one for GPUs.
  std::shared_ptr<Driver> driver;
  CudaBackend *cuda = nullptr;
  /// Only with `poison`: between the executor and the two above.
  std::unique_ptr<PoisonHost> poisonHost;
  std::unique_ptr<PoisonBackend> poisonBackend;
  std::unique_ptr<PlanExecutor> executor;
  std::shared_ptr<OperatorCapture> operators;
  GraphTensors graphTensors;
  /// Only where calls are to be graphs; else why they never are, and how many were to be.
  std::unique_ptr<CudaGraphs> graphs;
  std::string whyNoGraphs;
  std::atomic<uint64_t> callsWithoutGraphs{0};
  /// Only where buckets are watched.
  std::unique_ptr<SpecializedKernels> specialized;
  std::atomic<bool> noticed{false};
  std::optional<ResultViews> views;
};

/// Raises the C++ exception torch's Python layer turns into what eager raises.
[[noreturn]] void throwStatus(const Status &status);

} // namespace frit
