// A host that exposes reads of uninitialised memory and writes beyond buffers (`options={"poison":
// True}`): fresh memory holds NaN, +-1e30 or the least integer in turn, every buffer is followed by
// guard bytes, and no two temporaries share an arena. It wraps an executor's host and backend and
// does not change results.

#pragma once

#include "runtime/plan/Host.h"

#include <mutex>
#include <thread>

namespace frit {

class PoisonHost : public TensorHost {
public:
  PoisonHost(TensorHost &inner, const DecodedPlan &plan) : inner(inner), plan(plan) {}

  /// Checks the guard bytes of this thread's buffers; the error names `culprit`, which ran last.
  Status check(const std::string &culprit);
  /// Checks all buffers, and forgets those that the call has returned.
  Status finish();

  bool separateBuffers() const override { return true; }
  void *allocateRaw(format::Device device, uint64_t bytes) override;
  void freeRaw(format::Device device, void *memory) override;
  Status allocateTensor(const TensorShape &shape, TensorSlot &slot) override;
  void releaseTensor(void *handle) override;
  Status callAten(uint32_t number, RunState &state) override;

  void *takeBlock(format::Device device, uint64_t capacity) override {
    return inner.takeBlock(device, capacity);
  }
  void giveBlock(format::Device device, void *memory) override { inner.giveBlock(device, memory); }
  void warn(const std::string &message) override { inner.warn(message); }
  void note(const std::string &message) override { inner.note(message); }
  Status viewTensor(const TensorSlot &source, const TensorShape &shape, int64_t offset,
                    TensorSlot &slot) override {
    return inner.viewTensor(source, shape, offset, slot);
  }
  Status resolveTensor(const TensorSlot &source, TensorSlot &slot) override {
    return inner.resolveTensor(source, slot);
  }
  void retainTensor(void *handle) override { inner.retainTensor(handle); }
  TensorView viewOf(void *handle) override { return inner.viewOf(handle); }
  Status copyInto(const TensorSlot &destination, const TensorSlot &source) override {
    return inner.copyInto(destination, source);
  }
  void bumpVersion(const TensorSlot &tensor) override { inner.bumpVersion(tensor); }
  Status readItem(const TensorSlot &tensor, int64_t *integer, double *real) override {
    return inner.readItem(tensor, integer, real);
  }
  Status wrapScalar(format::Dtype dtype, int64_t integer, double real, TensorSlot &slot) override {
    return inner.wrapScalar(dtype, integer, real, slot);
  }
  CallTraits traitsOf(uint32_t number) const override { return inner.traitsOf(number); }
  bool isRepeatable() const override { return inner.isRepeatable(); }
  std::shared_ptr<SavedRandom> saveRandom(int32_t gpu) override { return inner.saveRandom(gpu); }
  void restoreRandom(const SavedRandom &saved) override { inner.restoreRandom(saved); }
  int currentDevice() override { return inner.currentDevice(); }
  void *currentStream() override { return inner.currentStream(); }
  bool releaseCachedMemory() override { return inner.releaseCachedMemory(); }
  void *beginKernel(const KernelArguments &arguments) override {
    return inner.beginKernel(arguments);
  }
  void endKernel(void *span) override { inner.endKernel(span); }
  void parallelFor(int64_t units, int64_t grain, RangeBody body, void *argument) override {
    inner.parallelFor(units, grain, body, argument);
  }

private:
  /// A buffer followed by guard bytes; `owner` is its block or tensor handle.
  struct Guarded {
    const void *owner;
    const unsigned char *end;
    std::thread::id thread;
  };
  void guard(const void *owner, void *begin, uint64_t bytes, format::Dtype dtype);
  Status forget(const void *owner);

  TensorHost &inner;
  const DecodedPlan &plan;
  std::mutex lock;
  std::vector<Guarded> guarded;
  uint32_t turn = 0;
  /// A violation found where no status could be returned.
  Status broken = Status::ok();
};

/// Checks all guard bytes after each kernel.
class PoisonBackend : public KernelBackend {
public:
  PoisonBackend(KernelBackend &inner, PoisonHost &host, const DecodedPlan &plan)
      : inner(inner), host(host), plan(plan) {}
  Status ready() override { return inner.ready(); }
  Status launch(const KernelArguments &arguments, TensorHost &) override;
  std::vector<std::pair<std::string, uint64_t>> counters() const override {
    return inner.counters();
  }

private:
  KernelBackend &inner;
  PoisonHost &host;
  const DecodedPlan &plan;
};

} // namespace frit
