#include "runtime/cuda/KernelRecorder.h"

#include <algorithm>

namespace frit {

using format::InputKind;

namespace {

constexpr unsigned kNonBlocking = 1;

} // namespace

KernelRecorder::KernelRecorder(const GraphedPlan &plan, const GraphCache &cache)
    : GraphRecorder(plan, cache), recording(plan.host, plan.backend), kernels(plan.backend),
      executor(plan.decoded, recording, kernels) {}

Status KernelRecorder::bindConstant(uint32_t number, void *handle) {
  return executor.bindConstant(number, recording.addConstant(number, handle));
}

Status KernelRecorder::capture(GraphEntry &entry, std::span<const InputValue> inputs) {
  GraphMemory memory(*entry.lane);
  kernels.count();
  FRIT_RETURN_IF_ERROR(walk(inputs, memory, nullptr, entry));
  if (std::string why = whyNotWorth(entry, kernels.launches); !why.empty()) {
    return Status::error(ErrorKind::Unsupported, why);
  }
  entry.kernels = kernels.names;
  memory.rewind();
  kernels.capture();
  return record(entry, inputs, memory);
}

Result<bool> KernelRecorder::update(GraphEntry &entry, std::span<const InputValue> inputs) {
  GraphMemory memory(*entry.lane);
  kernels.update(entry.graph, entry.nodes);
  FRIT_RETURN_IF_ERROR(walk(inputs, memory, nullptr, entry));
  return kernels.fits() && recording.copied() == 0;
}

Status KernelRecorder::record(GraphEntry &entry, std::span<const InputValue> inputs,
                              GraphMemory &memory) {
  const DriverTable &call = plan.driver->call();
  DriverStream &stream = entry.lane->captureStream;
  DriverCode code = stream ? 0 : call.cuStreamCreate(&stream, kNonBlocking);
  code = code ? code : beginCapture(stream);
  if (code != 0) {
    return plan.backend.failed(code, "beginning a capture");
  }
  Status status = walk(inputs, memory, stream, entry);
  DriverGraph graph = nullptr;
  // Also ended after an error, because a stream that stays in capture mode could never run again.
  code = call.cuStreamEndCapture(stream, &graph);
  if (status.isOk() && (code != 0 || !graph)) {
    status = plan.backend.failed(code, "ending a capture");
  }
  if (status.isOk()) {
    status = instantiate(entry, graph, plan.host.currentStream());
  }
  if (status.isOk() && plan.whyExact.empty()) {
    entry.source = graph;
    // Copies make nodes that are not updated, so such a graph fits no other call.
    entry.nodes = recording.copied() == 0 ? kernels.nodes : std::vector<DriverGraphNode>();
  } else if (graph) {
    call.cuGraphDestroy(graph);
  }
  return status;
}

Status KernelRecorder::instantiate(GraphEntry &entry, DriverGraph graph, DriverStream stream) {
  auto make = [&] {
    return plan.driver->call().cuGraphInstantiateWithFlags(&entry.graph, graph, 0);
  };
  DriverCode code = make();
  if (code == kOutOfMemory && plan.backend.freedMemory(stream, plan.host)) {
    code = make();
  }
  if (code != 0) {
    entry.graph = nullptr;
    return plan.backend.failed(code, "making a CUDA graph");
  }
  return Status::ok();
}

/// Walks the plan with the graph's memory, and records the copies and results of a launch in
/// `entry`.
Status KernelRecorder::walk(std::span<const InputValue> inputs, GraphMemory &memory,
                            DriverStream stream, GraphEntry &entry) {
  recording.begin(memory, stream);
  entry.copies.clear();
  std::vector<InputValue> standIns(inputs.begin(), inputs.end());
  for (uint32_t number = 0; number < inputs.size(); ++number) {
    if (!inputs[number].handle) {
      continue;
    }
    bool isPrivate = !entry.fixed[number] &&
                     plan.decoded->source->inputs()->Get(number)->kind() == InputKind::Tensor;
    RecordedTensor *tensor = recording.addInput(number, inputs[number].handle, isPrivate);
    if (!tensor) {
      return Status::error(ErrorKind::OutOfMemory,
                           "there is no memory for a copy of input " + std::to_string(number));
    }
    standIns[number].handle = tensor;
    if (isPrivate && tensor->storage->bytes != 0) {
      entry.copies.push_back({number, tensor->data, tensor->storage->bytes});
    }
  }
  std::vector<OutputValue> outputs(plan.executor.outputCount());
  FRIT_RETURN_IF_ERROR(executor.run(standIns, outputs));
  entry.bumps = recording.bumped();
  return readResults(outputs, entry);
}

Status KernelRecorder::readResults(std::span<OutputValue> outputs, GraphEntry &entry) const {
  entry.storages.clear();
  entry.results.clear();
  std::vector<const RecordedStorage *> storages;
  for (const OutputValue &output : outputs) {
    GraphResult *added = addResult(output, entry);
    if (!added) {
      continue;
    }
    GraphResult &result = *added;
    const RecordedTensor &tensor = *static_cast<RecordedTensor *>(output.handle);
    const RecordedStorage &storage = *tensor.storage;
    result.storage = storage.kind;
    result.sizes = tensor.sizes;
    result.strides = tensor.strides;
    result.offset = tensor.offset;
    result.dtype = tensor.dtype;
    result.device = tensor.device;
    result.isWhole = tensor.isWhole;
    result.original = storage.original;
    result.number = storage.number;
    if (storage.kind == RecordedStorage::Kind::Scalar) {
      result.integer = storage.integer;
      result.real = storage.real;
      continue;
    }
    if (!result.isWhole) {
      result.viewOffset =
          (tensor.data - storage.first) / static_cast<int64_t>(bytesOf(tensor.dtype));
    }
    if (storage.kind == RecordedStorage::Kind::Allocated) {
      auto known = std::find(storages.begin(), storages.end(), &storage);
      result.number = static_cast<uint32_t>(known - storages.begin());
      if (known == storages.end()) {
        storages.push_back(&storage);
        entry.storages.push_back({storage.sizes, storage.strides, storage.offset, storage.dtype,
                                  storage.device, storage.first, storage.bytes, nullptr});
      }
    }
  }
  return Status::ok();
}

} // namespace frit
