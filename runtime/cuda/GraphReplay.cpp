// Runs a call that has a graph: copies arguments in, launches once, copies results out.

#include "runtime/cuda/CudaGraphs.h"

namespace frit {

namespace {

constexpr DriverCode kOutOfMemory = 2;

std::string wordGraph(const std::string &kernels) { return "CUDA graph of " + kernels; }

} // namespace

/// Allocates the tensors that a call returns. Nothing else has happened before they exist; all are
/// freed if one cannot be allocated.
Status CudaGraphs::makeFresh(const Entry &entry, std::span<TensorSlot> fresh) {
  for (size_t at = 0; at < fresh.size(); ++at) {
    const Fresh &one = entry.fresh[at];
    if (one.kept) {
      fresh[at].handle = one.kept->handle();
      host.retainTensor(fresh[at].handle);
      continue;
    }
    Status status =
        host.allocateTensor({one.sizes, one.strides, one.dtype, one.device, one.offset}, fresh[at]);
    if (!status.isOk()) {
      for (TensorSlot &made : fresh.first(at)) {
        host.releaseTensor(made.handle);
      }
      return status;
    }
  }
  return Status::ok();
}

Status CudaGraphs::launch(const Entry &entry, DriverStream stream) {
  if (!entry.graph) {
    return operators->replay(entry.ofOperators);
  }
  const DriverTable &call = driver->call();
  DriverCode code = call.cuGraphLaunch(entry.graph, stream);
  if (code == kOutOfMemory && backend.freedMemory(stream, host)) {
    code = call.cuGraphLaunch(entry.graph, stream);
  }
  return code ? backend.failed(code, wordGraph(entry.kernels)) : Status::ok();
}

Status CudaGraphs::replay(Entry &entry, DriverStream stream, std::span<InputValue> inputs,
                          std::span<TensorSlot> fresh, std::span<OutputValue> outputs) {
  Status status;
  const DriverTable &call = driver->call();
  auto copy = [&](const void *to, const void *from, uint64_t bytes) {
    DriverCode code = call.cuMemcpyDtoDAsync(reinterpret_cast<uintptr_t>(to),
                                             reinterpret_cast<uintptr_t>(from), bytes, stream);
    return code ? backend.failed(code, "copying for the " + wordGraph(entry.kernels))
                : Status::ok();
  };
  for (size_t at = 0; at < entry.copies.size() && status.isOk(); ++at) {
    const CopyIn &one = entry.copies[at];
    status = copy(one.to, host.look(inputs[one.input].handle).data, one.bytes);
  }
  if (status.isOk()) {
    status = launch(entry, stream);
  }
  for (size_t at = 0; at < fresh.size() && status.isOk(); ++at) {
    if (entry.fresh[at].bytes != 0 && !entry.fresh[at].kept) {
      status = copy(fresh[at].data, entry.fresh[at].from, entry.fresh[at].bytes);
    }
  }
  if (status.isOk()) {
    for (uint32_t number : entry.bumps) {
      TensorSlot slot;
      slot.handle = inputs[number].handle;
      host.bumpVersion(slot);
    }
    status = makeResults(entry, inputs, fresh, outputs);
  }
  for (TensorSlot &slot : fresh) {
    host.releaseTensor(slot.handle);
  }
  for (InputValue &input : inputs) {
    if (input.handle) {
      host.releaseTensor(std::exchange(input.handle, nullptr));
    }
  }
  if (status.isOk()) {
    ForkSafeGuard guard(countLock);
    ++counts.replays;
    return status;
  }
  for (OutputValue &output : outputs) {
    if (output.handle) {
      host.releaseTensor(std::exchange(output.handle, nullptr));
    }
    output.kind = OutputValue::Kind::None;
  }
  return status;
}

Status CudaGraphs::makeResults(const Entry &entry, std::span<InputValue> inputs,
                               std::span<TensorSlot> fresh, std::span<OutputValue> outputs) {
  for (size_t number = 0; number < outputs.size(); ++number) {
    const Result &result = entry.results[number];
    OutputValue &output = outputs[number];
    output.kind = result.kind;
    output.integer = result.integer;
    output.real = result.real;
    if (result.kind == OutputValue::Kind::Input) {
      const InputValue &input = inputs[result.number];
      output.kind = static_cast<OutputValue::Kind>(input.kind);
      output.integer = input.integer;
      output.real = input.real;
      output.handle = input.handle;
      if (output.handle) {
        host.retainTensor(output.handle);
      }
      continue;
    }
    if (result.kind != OutputValue::Kind::Tensor) {
      continue;
    }
    TensorSlot slot, source;
    if (result.storage == RecordedStorage::Kind::Scalar) {
      FRIT_RETURN_IF_ERROR(host.wrapScalar(result.dtype, result.integer, result.real, slot));
      output.handle = slot.handle;
      continue;
    }
    if (result.storage == RecordedStorage::Kind::Fresh) {
      source = fresh[result.number];
    } else {
      source.handle = result.storage == RecordedStorage::Kind::Input ? inputs[result.number].handle
                                                                     : result.original;
      source.data = host.look(source.handle).data;
    }
    if (result.isWhole) {
      host.retainTensor(source.handle);
      output.handle = source.handle;
      continue;
    }
    FRIT_RETURN_IF_ERROR(host.viewTensor(
        source, {result.sizes, result.strides, result.dtype, result.device, result.offset},
        result.lookOffset, slot));
    output.handle = slot.handle;
  }
  return Status::ok();
}

} // namespace frit
