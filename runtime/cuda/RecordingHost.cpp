#include "runtime/cuda/RecordingHost.h"

#include "runtime/plan/StorageSpan.h"

namespace frit {

namespace {

RecordedTensor &tensorOf(void *handle) { return *static_cast<RecordedTensor *>(handle); }

Status cannot(const std::string &what) { return Status::error(ErrorKind::Unsupported, what); }

uint64_t spanBytes(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                   format::Dtype dtype) {
  return spanOf(sizes, strides).value_or(0) * bytesOf(dtype);
}

/// Whether every element of the span belongs to the tensor.
bool isDense(const RecordedTensor &tensor) {
  uint64_t count = 1;
  for (int64_t size : tensor.sizes) {
    count *= static_cast<uint64_t>(size);
  }
  return spanOf(tensor.sizes, tensor.strides) == count;
}

} // namespace

void RecordingHost::begin(GraphMemory &own, DriverStream captured) {
  memory = &own;
  stream = captured;
  tensors.clear();
  storages.clear();
  bumps.clear();
  copies = 0;
}

RecordedTensor *RecordingHost::newTensor(RecordedStorage &storage, const TensorView &view) {
  auto rank = static_cast<size_t>(view.rank);
  ++storage.tensors;
  auto &list = storage.kind == RecordedStorage::Kind::Constant ? constantTensors : tensors;
  return &list.emplace_back(RecordedTensor{&storage,
                                           static_cast<char *>(view.data),
                                           {view.sizes, view.sizes + rank},
                                           {view.strides, view.strides + rank},
                                           view.offset,
                                           view.dtype,
                                           view.device,
                                           view.deviceIndex});
}

RecordedTensor *RecordingHost::real(RecordedStorage::Kind kind, uint32_t number, void *original,
                                    std::deque<RecordedStorage> &list) {
  TensorView view = inner.viewOf(original);
  auto rank = static_cast<size_t>(view.rank);
  RecordedStorage &storage = list.emplace_back();
  storage.kind = kind;
  storage.number = number;
  storage.first = static_cast<char *>(view.data);
  storage.bytes = spanBytes({view.sizes, rank}, {view.strides, rank}, view.dtype);
  storage.original = original;
  return newTensor(storage, view);
}

RecordedTensor *RecordingHost::addInput(uint32_t number, void *original, bool isPrivate) {
  RecordedTensor *tensor = real(RecordedStorage::Kind::Input, number, original, storages);
  if (isPrivate) {
    RecordedStorage &storage = *tensor->storage;
    storage.block = memory->take(storage.bytes);
    if (!storage.block) {
      return nullptr;
    }
    storage.first = tensor->data = static_cast<char *>(storage.block);
  }
  return tensor;
}

RecordedTensor *RecordingHost::addConstant(uint32_t number, void *original) {
  return real(RecordedStorage::Kind::Constant, number, original, constantStorages);
}

void *RecordingHost::allocateRaw(format::Device device, uint64_t bytes) {
  return device == format::Device::Cuda ? memory->take(bytes) : nullptr;
}

void RecordingHost::freeRaw(format::Device, void *block) { memory->give(block); }

Status RecordingHost::allocateTensor(const TensorShape &shape, TensorSlot &slot) {
  if (shape.device != format::Device::Cuda) {
    return cannot("it makes a tensor on the CPU");
  }
  RecordedStorage &storage = storages.emplace_back();
  storage.sizes.assign(shape.sizes.begin(), shape.sizes.end());
  storage.strides.assign(shape.strides.begin(), shape.strides.end());
  storage.offset = shape.offset;
  storage.dtype = shape.dtype;
  storage.device = shape.device;
  storage.bytes = spanBytes(shape.sizes, shape.strides, shape.dtype);
  // Elements before the first one are never accessed, so they get no memory here.
  storage.block = memory->take(storage.bytes);
  if (!storage.block) {
    return Status::error(ErrorKind::OutOfMemory, "out of memory: cannot allocate " +
                                                     std::to_string(storage.bytes) + " bytes");
  }
  storage.first = static_cast<char *>(storage.block);
  slot.handle = newTensor(storage, {storage.first, shape.sizes.data(), shape.strides.data(),
                                    static_cast<int64_t>(shape.sizes.size()), shape.offset,
                                    shape.dtype, shape.device});
  slot.data = storage.first;
  return Status::ok();
}

Status RecordingHost::viewTensor(const TensorSlot &source, const TensorShape &shape, int64_t offset,
                                 TensorSlot &slot) {
  RecordedTensor &from = tensorOf(source.handle);
  auto item = static_cast<int64_t>(bytesOf(shape.dtype));
  char *data = from.data + offset * item;
  int64_t start = from.offset * static_cast<int64_t>(bytesOf(from.dtype)) / item + offset;
  // The real host checks this again. Memory beyond this graph's may belong to another graph.
  uint64_t bytes = spanBytes(shape.sizes, shape.strides, shape.dtype);
  RecordedStorage &storage = *from.storage;
  if (bytes != 0 && storage.kind == RecordedStorage::Kind::Allocated &&
      (data < storage.first || data + bytes > storage.first + storage.bytes)) {
    return Status::error(ErrorKind::BadArtifact, "a view lies outside of its storage of " +
                                                     std::to_string(storage.bytes) +
                                                     " bytes; compile the artifact again");
  }
  RecordedTensor *view = newTensor(storage, {data, shape.sizes.data(), shape.strides.data(),
                                             static_cast<int64_t>(shape.sizes.size()), start,
                                             shape.dtype, shape.device});
  view->isWhole = false;
  slot.handle = view;
  slot.data = data;
  return Status::ok();
}

void RecordingHost::releaseTensor(void *handle) {
  RecordedTensor &tensor = tensorOf(handle);
  if (--tensor.references == 0 && --tensor.storage->tensors == 0 && tensor.storage->block) {
    memory->give(tensor.storage->block);
  }
}

void RecordingHost::retainTensor(void *handle) { ++tensorOf(handle).references; }

TensorView RecordingHost::viewOf(void *handle) {
  const RecordedTensor &tensor = tensorOf(handle);
  return {tensor.data,           tensor.sizes.data(),
          tensor.strides.data(), static_cast<int64_t>(tensor.sizes.size()),
          tensor.offset,         tensor.dtype,
          tensor.device,         tensor.deviceIndex};
}

Status RecordingHost::copyInto(const TensorSlot &destination, const TensorSlot &source) {
  const RecordedTensor &to = tensorOf(destination.handle), &from = tensorOf(source.handle);
  if (to.dtype != from.dtype || to.sizes != from.sizes || to.strides != from.strides ||
      !isDense(to) || to.device != from.device) {
    return cannot("it copies between tensors of different layouts");
  }
  uint64_t bytes = spanBytes(to.sizes, to.strides, to.dtype);
  ++copies;
  if (stream && bytes != 0) {
    DriverCode code =
        backend.call().cuMemcpyDtoDAsync(reinterpret_cast<uintptr_t>(to.data),
                                         reinterpret_cast<uintptr_t>(from.data), bytes, stream);
    if (code != 0) {
      return backend.failed(code, "copying " + std::to_string(bytes) + " bytes in a captured call");
    }
  }
  bumpVersion(destination);
  return Status::ok();
}

void RecordingHost::bumpVersion(const TensorSlot &slot) {
  const RecordedStorage &storage = *tensorOf(slot.handle).storage;
  if (storage.kind == RecordedStorage::Kind::Input) {
    bumps.push_back(storage.number);
  }
}

Status RecordingHost::readItem(const TensorSlot &slot, int64_t *integer, double *real) {
  const RecordedTensor &tensor = tensorOf(slot.handle);
  if (tensor.device != format::Device::Cpu || !tensor.storage->original) {
    return cannot("it reads a value back from the GPU");
  }
  TensorSlot original;
  original.data = tensor.data;
  original.handle = tensor.storage->original;
  return inner.readItem(original, integer, real);
}

Status RecordingHost::wrapScalar(format::Dtype dtype, int64_t integer, double real,
                                 TensorSlot &slot) {
  RecordedStorage &storage = storages.emplace_back();
  storage.kind = RecordedStorage::Kind::Scalar;
  storage.dtype = dtype;
  storage.integer = integer;
  storage.real = real;
  slot.handle = newTensor(storage, {nullptr, nullptr, nullptr, 0, 0, dtype, format::Device::Cpu});
  return Status::ok();
}

Status RecordingHost::callAten(uint32_t, RunState &) { return cannot("it calls an operator"); }

} // namespace frit
