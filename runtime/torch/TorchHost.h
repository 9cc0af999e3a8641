// The executor's host with torch: at::Tensor for values that the user or an ATen call sees, torch's
// allocators for bare memory, and torch's threads. Exceptions from torch are stored and rethrown at
// the boundary, so the user gets eager's messages.

#pragma once

#include "runtime/plan/ControlFlow.h"
#include "runtime/torch/AtenCall.h"

#include <exception>
#include <mutex>
#include <variant>

namespace frit {

class GraphPool;

class TorchHost : public TensorHost {
public:
  /// Looks up all operators that the plan calls, so that an unknown one is an error here and not in
  /// the middle of a call. `load` loads the graphs of control flow.
  static Result<std::unique_ptr<TorchHost>> create(const DecodedPlan &plan,
                                                   LoadSubgraph load = nullptr);

  void *allocateRaw(format::Device device, uint64_t bytes) override;
  void freeRaw(format::Device device, void *memory) override;
  void *takeBlock(format::Device device, uint64_t capacity) override;
  void giveBlock(format::Device device, void *memory) override;
  Status allocateTensor(const TensorShape &shape, TensorSlot &slot) override;
  Status viewTensor(const TensorSlot &source, const TensorShape &shape, int64_t offset,
                    TensorSlot &slot) override;
  Status resolveTensor(const TensorSlot &source, TensorSlot &slot) override;
  void releaseTensor(void *handle) override;
  void retainTensor(void *handle) override;
  TensorView viewOf(void *handle) override;
  std::shared_ptr<KeptTensor> keepTensor(void *handle) override;
  bool showsKeptTensors() const override;
  Status copyInto(const TensorSlot &destination, const TensorSlot &source) override;
  void bumpVersion(const TensorSlot &tensor) override;
  Status readItem(const TensorSlot &tensor, int64_t *integer, double *real) override;
  Status wrapScalar(format::Dtype dtype, int64_t integer, double real, TensorSlot &slot) override;
  Status callAten(uint32_t number, RunState &state) override;
  CallTraits traitsOf(uint32_t number) const override;
  bool isRepeatable() const override;
  std::shared_ptr<SavedRandom> saveRandom(int32_t gpu) override;
  void restoreRandom(const SavedRandom &saved) override;
  void note(const std::string &message) override;
  void *beginKernel(const KernelArguments &arguments) override;
  void endKernel(void *span) override;
  int currentDevice() override;
  void *currentStream() override;
  bool releaseCachedMemory() override;
  Status interrupted() override;
  void parallelFor(int64_t units, int64_t grain, RangeBody body, void *argument) override;

  using Call = std::variant<AtenCall, ControlFlow>;
  const std::vector<Call> &preparedCalls() const { return calls; }
  /// Keeps no packed weights; before the first call.
  void readWeightsInPlace();
  bool hasNotes() const { return anyNotes.load(std::memory_order_relaxed); }
  std::vector<std::string> takeNotes();

private:
  explicit TorchHost(const DecodedPlan &plan) : plan(plan) {}

  const DecodedPlan &plan;
  std::vector<Call> calls;
  std::mutex noteLock;
  std::vector<std::string> notes;
  std::atomic<bool> anyNotes{false};
};

/// Sets the function that throws what ends a long call, such as Python's KeyboardInterrupt. Any
/// thread may call it.
void setInterruptCheck(void (*check)());

/// The memory of all CUDA graphs of this process, from torch's allocator.
GraphPool &graphPoolOfProcess();

/// Stores the current exception until rethrowPending on this thread; for use inside of a catch.
Status keepException();
/// Rethrows the exception that keepException stored.
[[noreturn]] void rethrowPending();
/// Returns the status, with the message of the exception if keepException stored one.
Status inWords(Status status);

} // namespace frit
