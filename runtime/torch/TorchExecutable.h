// An artifact loaded for torch: checks it, binds its constants, and runs it on at::Tensor handles. Safe to call from several
// threads at once. The Python object around it is python/bindings/ExecutableObject.

#pragma once

#include "runtime/plan/PlanExecutor.h"

#include <ATen/core/TensorBase.h>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace frit {

class PoisonBackend;
class PoisonHost;
class TorchHost;

class TorchExecutable {
public:
  /// `constants` are the tensors the graph was captured with, in order; weights the file carries are used where it is mapped. With
  /// `poison` memory is guarded (PoisonHost).
  static Result<std::unique_ptr<TorchExecutable>> load(std::shared_ptr<const Artifact> artifact,
                                                       std::span<const at::TensorBase> constants, bool poison = false);
  ~TorchExecutable();

  /// Takes the handles of `inputs`; throws what eager would throw.
  void run(std::span<InputValue> inputs, std::span<OutputValue> outputs);

  size_t inputCount() const { return executor->inputCount(); }
  size_t outputCount() const { return executor->outputCount(); }
  /// JSON object with the counters since loading.
  std::string stats() const;
  /// Once, after the first call that was slower than it looks: why; nothing otherwise.
  std::optional<std::string> takeNotice() {
    bool none = executor->counters().overlapCopies.load(std::memory_order_relaxed) == 0;
    return none || noticed.exchange(true) ? std::nullopt : std::optional(notice());
  }
  /// JSON: what it takes and gives.
  std::string signature() const;
  std::string_view report() const { return artifact->report(); }
  std::string_view graphName() const { return artifact->graphName(); }

private:
  TorchExecutable() = default;
  Status chooseBackend();
  Status bindConstants(std::span<const at::TensorBase> constants);
  std::string notice() const;
  Status runPoisoned(std::span<InputValue> inputs, std::span<OutputValue> outputs);
  std::string bucketStats() const;
  Status checkArguments(std::span<InputValue> inputs, int &device) const;

  std::shared_ptr<const Artifact> artifact;
  /// How profilers call it.
  std::string spanName;
  std::shared_ptr<const DecodedPlan> plan;
  std::unique_ptr<TorchHost> host;
  std::unique_ptr<KernelBackend> backend;
  /// Only with `poison`: between the executor and the two above.
  std::unique_ptr<PoisonHost> poisonHost;
  std::unique_ptr<PoisonBackend> poisonBackend;
  std::unique_ptr<PlanExecutor> executor;
  std::atomic<bool> noticed{false};
};

/// Raises the C++ exception torch's Python layer turns into what eager raises.
[[noreturn]] void throwStatus(const Status &status);

} // namespace frit
