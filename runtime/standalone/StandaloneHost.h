// The executor's host without torch: a tensor is a shared block of memory with sizes and strides.
// There is no dispatcher, so loading a plan that calls operators fails with their names.

#pragma once

#include "runtime/cpu/ThreadPool.h"
#include "runtime/plan/ControlFlow.h"

#include <map>
#include <memory>

namespace frit {

/// A handle of this host points to a HostTensor.
struct HostTensor {
  std::shared_ptr<char> storage;
  char *data;
  int64_t offset;
  std::vector<int64_t> sizes, strides;
  format::Dtype dtype;
  /// From the start of `storage`; unknown for memory that others own.
  uint64_t storageBytes = UINT64_MAX;
  format::Device device = format::Device::Cpu;
  std::atomic<int64_t> references{1};
};

inline HostTensor *hostTensor(void *handle) { return static_cast<HostTensor *>(handle); }

class StandaloneHost : public TensorHost {
public:
  /// Fails for plans with ATen calls.
  static Result<std::unique_ptr<StandaloneHost>> create(const DecodedPlan &plan,
                                                        unsigned threads = 0);
  /// A host for a graph of control flow, on the threads of this one.
  Result<std::unique_ptr<StandaloneHost>> createForSubgraph(const DecodedPlan &plan) const;
  /// Loads the graphs of the plan's control flow.
  Status prepareControlFlow(const DecodedPlan &plan, LoadSubgraph load);

  /// Binds the artifact's weights to the executor's constants. They are not copied, and keep the
  /// artifact alive. Weights of the caller are found by name in `given`, which keeps its
  /// references.
  Status bindWeights(const DecodedPlan &plan, PlanExecutor &executor,
                     const std::map<std::string, HostTensor *> &given = {});

  void *allocateRaw(format::Device device, uint64_t bytes) override;
  void freeRaw(format::Device device, void *memory) override;
  Status allocateTensor(const TensorShape &shape, TensorSlot &slot) override;
  Status viewTensor(const TensorSlot &source, const TensorShape &shape, int64_t offset,
                    TensorSlot &slot) override;
  void releaseTensor(void *handle) override;
  void retainTensor(void *handle) override;
  TensorView viewOf(void *handle) override;
  Status copyInto(const TensorSlot &destination, const TensorSlot &source) override;
  void bumpVersion(const TensorSlot &) override {}
  Status readItem(const TensorSlot &tensor, int64_t *integer, double *real) override;
  Status wrapScalar(format::Dtype dtype, int64_t integer, double real, TensorSlot &slot) override;
  Status callAten(uint32_t number, RunState &state) override;
  void warn(const std::string &message) override;
  void parallelFor(int64_t units, int64_t grain, RangeBody body, void *argument) override;

protected:
  explicit StandaloneHost(std::shared_ptr<ThreadPool> pool) : pool(std::move(pool)) {}
  /// An error if the plan calls operators of ATen.
  static Status refuseCalls(const DecodedPlan &plan);
  /// Wraps memory from allocateRaw in a storage.
  virtual std::shared_ptr<char> own(format::Device device, char *memory);
  /// A host tensor on the device where the plan needs it; the caller owns the reference.
  virtual Result<HostTensor *> place(HostTensor *tensor, format::Device device);

private:
  Status bindPlaced(PlanExecutor &executor, uint32_t number, HostTensor *tensor,
                    format::Device device);

  std::shared_ptr<ThreadPool> pool;
  /// By number of the call.
  std::vector<ControlFlow> controls;
};

/// Copies elements of one dtype between strided tensors of one shape.
void copyStrided(const HostTensor &from, char *to, const std::vector<int64_t> &toStrides);

} // namespace frit
