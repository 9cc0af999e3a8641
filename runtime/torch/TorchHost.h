// The executor's world when torch is there: at::Tensor for what the user or an ATen call sees,
// torch's allocators for bare memory, torch's threads. Exceptions from torch are kept as they are
// and raised again at the edge, so the user reads eager's words.

#pragma once

#include "runtime/plan/PlanExecutor.h"
#include "runtime/torch/AtenCall.h"

#include <exception>
#include <mutex>

namespace frit {

class GraphPool;

class TorchHost : public TensorHost {
public:
  /// Looks up all operators the plan calls; an unknown one is an error here and not in the middle
  /// of a call.
  static Result<std::unique_ptr<TorchHost>> create(const DecodedPlan &plan);

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
  TensorView look(void *handle) override;
  std::shared_ptr<KeptTensor> keepTensor(void *handle) override;
  bool showsKeptTensors() const override;
  Status copyInto(const TensorSlot &destination, const TensorSlot &source) override;
  void bumpVersion(const TensorSlot &tensor) override;
  Status readItem(const TensorSlot &tensor, int64_t *integer, double *real) override;
  Status wrapScalar(format::Dtype dtype, int64_t integer, double real, TensorSlot &slot) override;
  Status callAten(uint32_t number, RunState &state) override;
  CallTraits traitsOf(uint32_t number) const override { return calls[number].traits(); }
  void note(const std::string &message) override;
  void *beginKernel(const char *name) override;
  void endKernel(void *span) override;
  void *currentStream() override;
  bool releaseCachedMemory() override;
  void parallelFor(int64_t units, int64_t grain, RangeBody body, void *argument) override;

  const std::vector<AtenCall> &atenCalls() const { return calls; }
  bool hasNotes() const { return anyNotes.load(std::memory_order_relaxed); }
  std::vector<std::string> takeNotes();

private:
  explicit TorchHost(const DecodedPlan &plan) : plan(plan) {}

  const DecodedPlan &plan;
  std::vector<AtenCall> calls;
  std::mutex noteLock;
  std::vector<std::string> notes;
  std::atomic<bool> anyNotes{false};
};

/// The memory of all CUDA graphs of this process, from torch's allocator.
GraphPool &graphPoolOfProcess();

/// Keeps the exception being handled until rethrowPending on this thread; use inside a catch.
Status keepException();
/// Raises what keepException kept.
[[noreturn]] void rethrowPending();
/// The same status, in words where it stands for an exception that keepException kept.
Status inWords(Status status);

} // namespace frit
