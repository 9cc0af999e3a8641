// The executor's host while a call is captured as a CUDA graph. Its tensors only record addresses
// in the graph's memory; there are no real tensors and nothing is computed. A plan is walked twice
// with it: to assign memory, and to be captured.

#pragma once

#include "runtime/cuda/CudaBackend.h"
#include "runtime/cuda/GraphPool.h"

#include <deque>

namespace frit {

/// Memory of tensors of a recorded call.
struct RecordedStorage {
  /// Allocated: by the plan. Input, Constant: argument or constant `number`. Scalar: a 0-d
  /// CPU tensor with the value `integer` or `real`.
  enum class Kind : uint8_t { Allocated, Input, Constant, Scalar } kind = Kind::Allocated;
  uint32_t number = 0;
  /// The requested shape.
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  format::Dtype dtype = {};
  format::Device device = {};
  /// The first element and bytes of the requested shape, and the block that contains it.
  char *first = nullptr;
  uint64_t bytes = 0;
  void *block = nullptr;
  int64_t integer = 0;
  double real = 0;
  /// The number of tensors in it.
  int64_t tensors = 0;
  /// The real tensor, for arguments and constants.
  void *original = nullptr;
};

/// A handle of this host points to a RecordedTensor.
struct RecordedTensor {
  RecordedStorage *storage;
  char *data;
  std::vector<int64_t> sizes, strides;
  int64_t offset;
  format::Dtype dtype;
  format::Device device;
  int32_t deviceIndex;
  int64_t references = 1;
  /// Whether it is the allocated tensor itself, and not a view of it.
  bool isWhole = true;
};

class RecordingHost : public TensorHost {
public:
  RecordingHost(TensorHost &inner, const CudaBackend &backend) : inner(inner), backend(backend) {}

  /// Begins a walk. `stream` is the one being captured; null while memory is assigned.
  void begin(GraphMemory &memory, DriverStream stream);
  /// Adds an argument. `isPrivate`: a copy in memory of the graph replaces it.
  RecordedTensor *addInput(uint32_t number, void *original, bool isPrivate);
  /// Adds a tensor that is the same in all calls.
  RecordedTensor *addConstant(uint32_t number, void *original);
  /// The arguments whose version counters a call bumps, with repetitions.
  const std::vector<uint32_t> &bumped() const { return bumps; }
  /// The number of copies between tensors in this walk.
  uint64_t copied() const { return copies; }

  void *allocateRaw(format::Device device, uint64_t bytes) override;
  void freeRaw(format::Device device, void *memory) override;
  Status allocateTensor(const TensorShape &shape, TensorSlot &slot) override;
  Status viewTensor(const TensorSlot &source, const TensorShape &shape, int64_t offset,
                    TensorSlot &slot) override;
  void releaseTensor(void *handle) override;
  void retainTensor(void *handle) override;
  TensorView viewOf(void *handle) override;
  Status copyInto(const TensorSlot &destination, const TensorSlot &source) override;
  void bumpVersion(const TensorSlot &tensor) override;
  Status readItem(const TensorSlot &tensor, int64_t *integer, double *real) override;
  Status wrapScalar(format::Dtype dtype, int64_t integer, double real, TensorSlot &slot) override;
  Status callAten(uint32_t number, RunState &state) override;
  void parallelFor(int64_t, int64_t, RangeBody, void *) override {}
  int currentDevice() override { return inner.currentDevice(); }
  void *currentStream() override { return stream; }
  void note(const std::string &text) override { inner.note(text); }

private:
  RecordedTensor *newTensor(RecordedStorage &storage, const TensorView &view);
  RecordedTensor *real(RecordedStorage::Kind kind, uint32_t number, void *original,
                       std::deque<RecordedStorage> &storages);

  TensorHost &inner;
  const CudaBackend &backend;
  GraphMemory *memory = nullptr;
  DriverStream stream = nullptr;
  std::deque<RecordedTensor> tensors, constantTensors;
  std::deque<RecordedStorage> storages, constantStorages;
  std::vector<uint32_t> bumps;
  uint64_t copies = 0;
};

} // namespace frit
