#include "runtime/cuda/GraphReplay.h"

namespace frit {

namespace {

std::string describeGraph(const std::string &kernels) { return "CUDA graph of " + kernels; }

} // namespace

Status GraphReplay::allocate(const GraphEntry &entry, std::span<TensorSlot> storages) const {
  TensorHost &host = plan.host;
  for (size_t at = 0; at < storages.size(); ++at) {
    const ResultStorage &one = entry.storages[at];
    if (one.kept) {
      storages[at].handle = one.kept->handle();
      host.retainTensor(storages[at].handle);
      continue;
    }
    Status status = host.allocateTensor({one.sizes, one.strides, one.dtype, one.device, one.offset},
                                        storages[at]);
    if (!status.isOk()) {
      for (TensorSlot &made : storages.first(at)) {
        host.releaseTensor(made.handle);
      }
      return status;
    }
  }
  return Status::ok();
}

Status GraphReplay::launch(const GraphEntry &entry, DriverStream stream) const {
  if (!entry.graph) {
    return plan.operators->replay(entry.ofOperators);
  }
  const DriverTable &call = plan.driver->call();
  DriverCode code = call.cuGraphLaunch(entry.graph, stream);
  if (code == kOutOfMemory && plan.backend.freedMemory(stream, plan.host)) {
    code = call.cuGraphLaunch(entry.graph, stream);
  }
  return code ? plan.backend.failed(code, describeGraph(entry.kernels)) : Status::ok();
}

Status GraphReplay::run(const GraphEntry &entry, DriverStream stream, std::span<InputValue> inputs,
                        std::span<TensorSlot> storages, std::span<OutputValue> outputs) const {
  TensorHost &host = plan.host;
  Status status;
  const DriverTable &call = plan.driver->call();
  auto copy = [&](const void *to, const void *from, uint64_t bytes) {
    DriverCode code = call.cuMemcpyDtoDAsync(reinterpret_cast<uintptr_t>(to),
                                             reinterpret_cast<uintptr_t>(from), bytes, stream);
    return code ? plan.backend.failed(code, "copying for the " + describeGraph(entry.kernels))
                : Status::ok();
  };
  for (size_t at = 0; at < entry.copies.size() && status.isOk(); ++at) {
    const ArgumentCopy &one = entry.copies[at];
    status = copy(one.to, host.viewOf(inputs[one.input].handle).data, one.bytes);
  }
  if (status.isOk()) {
    status = launch(entry, stream);
  }
  for (size_t at = 0; at < storages.size() && status.isOk(); ++at) {
    if (entry.storages[at].bytes != 0 && !entry.storages[at].kept) {
      status = copy(storages[at].data, entry.storages[at].from, entry.storages[at].bytes);
    }
  }
  if (status.isOk()) {
    for (uint32_t number : entry.bumps) {
      TensorSlot slot;
      slot.handle = inputs[number].handle;
      host.bumpVersion(slot);
    }
    status = makeResults(entry, inputs, storages, outputs);
  }
  for (TensorSlot &slot : storages) {
    host.releaseTensor(slot.handle);
  }
  for (InputValue &input : inputs) {
    if (input.handle) {
      host.releaseTensor(std::exchange(input.handle, nullptr));
    }
  }
  if (status.isOk()) {
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

Status GraphReplay::makeResults(const GraphEntry &entry, std::span<InputValue> inputs,
                                std::span<TensorSlot> storages,
                                std::span<OutputValue> outputs) const {
  TensorHost &host = plan.host;
  for (size_t number = 0; number < outputs.size(); ++number) {
    const GraphResult &result = entry.results[number];
    OutputValue &output = outputs[number];
    output.kind = result.kind;
    output.integer = result.integer;
    output.real = result.real;
    output.baseSizes = result.baseSizes;
    output.baseStrides = result.baseStrides;
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
    if (result.storage == RecordedStorage::Kind::Allocated) {
      source = storages[result.number];
    } else {
      source.handle = result.storage == RecordedStorage::Kind::Input ? inputs[result.number].handle
                                                                     : result.original;
      source.data = host.viewOf(source.handle).data;
    }
    if (result.isWhole) {
      host.retainTensor(source.handle);
      output.handle = source.handle;
      continue;
    }
    FRIT_RETURN_IF_ERROR(host.viewTensor(
        source, {result.sizes, result.strides, result.dtype, result.device, result.offset},
        result.viewOffset, slot));
    output.handle = slot.handle;
  }
  return Status::ok();
}

} // namespace frit
