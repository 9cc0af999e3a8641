#include "runtime/cuda/OperatorRecorder.h"

#include "runtime/plan/StorageSpan.h"

#include <algorithm>

namespace frit {

namespace {

constexpr int kInvalidated = 2;

uint64_t spanBytes(const TensorView &view) {
  auto rank = static_cast<size_t>(view.rank);
  return spanOf({view.sizes, rank}, {view.strides, rank}).value_or(0) * bytesOf(view.dtype);
}

char *firstOf(const TensorView &view) { return static_cast<char *>(view.data); }

/// The beginning of its storage.
char *baseOf(const TensorView &view) {
  return firstOf(view) - view.offset * static_cast<int64_t>(bytesOf(view.dtype));
}

} // namespace

OperatorRecorder::OperatorRecorder(const GraphedPlan &plan, const GraphCache &cache,
                                   GraphCounts &counts)
    : GraphRecorder(plan, cache), counts(counts), executor(plan.decoded, plan.host, plan.backend) {}

Status OperatorRecorder::bindConstant(uint32_t number, void *handle) {
  return executor.bindConstant(number, handle);
}

Status OperatorRecorder::capture(GraphEntry &entry, std::span<const InputValue> inputs) {
  std::shared_ptr<void> &shared = entry.lane->operators;
  if (!shared) {
    auto opened = plan.operators->open();
    FRIT_RETURN_IF_ERROR(opened.status());
    shared = std::move(*opened);
  }
  auto make = [&] {
    return plan.operators->capture(shared, [&] {
      DriverStream stream = plan.host.currentStream();
      if (!plan.backend.isCapturing(stream)) {
        return Status::error(ErrorKind::Runtime, "torch does not capture its current stream");
      }
      return repairCapture(stream, runCaptured(entry, inputs));
    });
  };
  auto made = make();
  if (made.status().kind() == ErrorKind::OutOfMemory && plan.anyKeptResults &&
      plan.backend.freedMemory(plan.host.currentStream(), plan.host)) {
    // The call that ran before has left as much memory in torch's cache as its graph keeps.
    made = make();
  }
  Status status = made.status();
  if (std::string why = status.isOk() ? whyNotWorth(entry, plan.mostLaunches()) : "";
      !why.empty()) {
    status = Status::error(ErrorKind::Unsupported, why);
  }
  if (!status.isOk()) {
    entry.storages.clear();
    return status;
  }
  keepResults(entry);
  entry.kernels = plan.stepNames();
  entry.ofOperators = std::move(*made);
  entry.graph = plan.isRandom ? nullptr : entry.ofOperators.exec;
  return Status::ok();
}

/// Registers the graph's saved results, whose memory is not shared from now on.
void OperatorRecorder::keepResults(GraphEntry &entry) {
  std::vector<std::shared_ptr<KeptTensor>> kept;
  for (const ResultStorage &storage : entry.storages) {
    if (storage.kept) {
      kept.push_back(storage.kept);
      entry.keptBytes += storage.bytes;
    }
  }
  entry.order = entry.lane->kept.add(&entry, std::move(kept), entry.keptInParameters);
  counts.update([&](GraphCounters &counters) { counters.keptBytes += entry.keptBytes; });
}

/// Ends a capture that an operator broke. Torch cannot end it without an error that leaves its
/// allocator believing that the capture goes on. So it is ended here, and torch ends a new, empty
/// one.
Status OperatorRecorder::repairCapture(DriverStream stream, Status status) const {
  const DriverTable &call = plan.driver->call();
  int state = 0;
  if (call.cuStreamIsCapturing(stream, &state) != 0 || state != kInvalidated) {
    return status;
  }
  DriverGraph broken = nullptr;
  call.cuStreamEndCapture(stream, &broken);
  if (broken) {
    call.cuGraphDestroy(broken);
  }
  DriverCode code = beginCapture(stream);
  if (code != 0) {
    return plan.backend.failed(code, "beginning a capture");
  }
  return status.isOk()
             ? Status::error(ErrorKind::Runtime, "an operator did what cannot be captured")
             : status;
}

/// Captures a run of the plan on copies of the arguments. All tensors are released at the end.
Status OperatorRecorder::runCaptured(GraphEntry &entry, std::span<const InputValue> inputs) {
  TensorHost &host = plan.host;
  entry.copies.clear();
  std::vector<InputValue> standIns(inputs.begin(), inputs.end());
  std::vector<Origin> origins;
  // Held until the results are read: freed memory might become that of a result.
  std::vector<void *> held;
  Status status;
  for (uint32_t number = 0; number < inputs.size(); ++number) {
    if (!inputs[number].handle) {
      continue;
    }
    const format::Input &input = *plan.decoded->source->inputs()->Get(number);
    if (status.isOk() && !entry.fixed[number] && input.kind() == format::InputKind::Tensor) {
      TensorView view = host.viewOf(inputs[number].handle);
      auto rank = static_cast<size_t>(view.rank);
      TensorSlot slot;
      status = host.allocateTensor({{view.sizes, rank},
                                    {view.strides, rank},
                                    view.dtype,
                                    view.device,
                                    input.offset() == kNoRegister ? 0 : view.offset},
                                   slot);
      standIns[number].handle = slot.handle;
      if (uint64_t bytes = status.isOk() ? spanBytes(view) : 0) {
        entry.copies.push_back({number, static_cast<char *>(slot.data), bytes});
      }
    } else if (status.isOk()) {
      host.retainTensor(inputs[number].handle);
    } else {
      standIns[number].handle = nullptr;
    }
    if (void *handle = standIns[number].handle) {
      host.retainTensor(handle);
      held.push_back(handle);
      origins.push_back({host.viewOf(handle), RecordedStorage::Kind::Input, number, handle});
    }
  }
  uint32_t number = 0;
  for (const auto &[reg, slot] : executor.constants()) {
    origins.push_back(
        {host.viewOf(slot.handle), RecordedStorage::Kind::Constant, number++, slot.handle});
  }
  std::vector<OutputValue> outputs(plan.executor.outputCount());
  if (status.isOk()) {
    status = executor.run(standIns, outputs);
  }
  if (status.isOk()) {
    status = readResults(outputs, origins, entry);
  }
  for (OutputValue &output : outputs) {
    if (output.handle) {
      held.push_back(output.handle);
    }
  }
  for (InputValue &input : standIns) {
    if (input.handle) {
      held.push_back(input.handle);
    }
  }
  for (void *handle : held) {
    host.releaseTensor(handle);
  }
  entry.bumps.clear();
  for (uint32_t at = 0; at < inputs.size(); ++at) {
    if (plan.decoded->source->inputs()->Get(at)->mutated()) {
      entry.bumps.push_back(at);
    }
  }
  return status;
}

/// Finds the locations of the results of a captured run: in arguments, constants, or memory of the
/// graph, from which each launch copies them.
Status OperatorRecorder::readResults(std::span<const OutputValue> outputs,
                                     std::span<const Origin> origins, GraphEntry &entry) const {
  entry.storages.clear();
  entry.results.clear();
  entry.keptInParameters.clear();
  std::vector<Group> groups;
  for (uint32_t number = 0; number < outputs.size(); ++number) {
    const OutputValue &output = outputs[number];
    GraphResult *added = addResult(output, entry);
    if (!added) {
      continue;
    }
    GraphResult &result = *added;
    TensorView view = plan.host.viewOf(output.handle);
    if (view.lazy != kPlain) {
      return Status::error(ErrorKind::Unsupported,
                           "result " + std::to_string(number) + " is conjugated or negated lazily");
    }
    auto rank = static_cast<size_t>(view.rank);
    result.sizes.assign(view.sizes, view.sizes + rank);
    result.strides.assign(view.strides, view.strides + rank);
    result.offset = view.offset;
    result.dtype = view.dtype;
    result.device = view.device;
    result.baseSizes = output.baseSizes;
    result.baseStrides = output.baseStrides;
    uint64_t bytes = spanBytes(view);
    const Origin *origin = nullptr;
    for (const Origin &one : origins) {
      bool shares =
          one.view.device == view.device && bytes != 0 && baseOf(one.view) == baseOf(view);
      // Several arguments may share a storage; prefers the one that begins where the result does.
      if (one.handle == output.handle || (shares && (!origin || (origin->handle != output.handle &&
                                                                 one.view.data == view.data)))) {
        origin = &one;
      }
    }
    if (origin) {
      result.storage = origin->kind;
      result.number = origin->number;
      result.original = origin->handle;
      result.isWhole = origin->handle == output.handle;
      if (plan.keptResults[number] &&
          (origin->kind == RecordedStorage::Kind::Constant || plan.statics[origin->number])) {
        entry.keptInParameters.push_back(view.data);
      }
      result.viewOffset =
          (firstOf(view) - firstOf(origin->view)) / static_cast<int64_t>(bytesOf(view.dtype));
      continue;
    }
    if (view.device == format::Device::Cpu) {
      if (view.rank != 0) {
        return Status::error(ErrorKind::Unsupported,
                             "result " + std::to_string(number) + " lies on the CPU");
      }
      // The number depends only on the key.
      TensorSlot slot;
      slot.data = view.data;
      slot.handle = output.handle;
      result.storage = RecordedStorage::Kind::Scalar;
      FRIT_RETURN_IF_ERROR(plan.host.readItem(slot, &result.integer, &result.real));
      continue;
    }
    result.storage = RecordedStorage::Kind::Allocated;
    char *base = baseOf(view), *first = firstOf(view);
    auto known = std::find_if(groups.begin(), groups.end(), [&](const Group &one) {
      return bytes != 0 && one.base == base && one.end != one.first;
    });
    if (known == groups.end()) {
      known = groups.insert(known, {base, first, first + bytes, {}});
    }
    known->first = std::min(known->first, first);
    known->end = std::max(known->end, first + bytes);
    known->members.push_back({number, view, output.handle});
  }
  for (const Group &group : groups) {
    addStorage(group, entry);
  }
  return Status::ok();
}

/// Adds one storage for these results. It is allocated like the first result that covers all of
/// them or, if there is none, as plain bytes of which all are views. If only the backward reads
/// them they are views of the graph's memory instead.
void OperatorRecorder::addStorage(const Group &group, GraphEntry &entry) const {
  auto bytes = static_cast<uint64_t>(group.end - group.first);
  bool isKept =
      bytes != 0 && std::all_of(group.members.begin(), group.members.end(), [&](const auto &one) {
        return plan.keptResults[one.number] && one.view.dtype == group.members.front().view.dtype;
      });
  if (std::shared_ptr<KeptTensor> kept =
          isKept ? plan.host.keepTensor(group.members.front().handle) : nullptr) {
    const TensorView &seen = group.members.front().view;
    for (const Group::Member &one : group.members) {
      GraphResult &result = entry.results[one.number];
      result.number = static_cast<uint32_t>(entry.storages.size());
      result.isWhole = false;
      result.viewOffset =
          (firstOf(one.view) - firstOf(seen)) / static_cast<int64_t>(bytesOf(one.view.dtype));
    }
    entry.storages.push_back(
        {{}, {}, 0, seen.dtype, seen.device, nullptr, kept->bytes(), std::move(kept)});
    return;
  }
  auto whole = std::find_if(group.members.begin(), group.members.end(), [&](const auto &one) {
    return firstOf(one.view) == group.first && spanBytes(one.view) == bytes;
  });
  auto number = static_cast<uint32_t>(entry.storages.size());
  bool hasWhole = whole != group.members.end();
  char *start = hasWhole ? group.first : group.base;
  if (hasWhole) {
    const GraphResult &result = entry.results[whole->number];
    entry.storages.push_back({result.sizes, result.strides, result.offset, result.dtype,
                              result.device, start, bytes, nullptr});
  } else {
    entry.storages.push_back({{group.end - start},
                              {1},
                              0,
                              format::Dtype::U8,
                              format::Device::Cuda,
                              start,
                              static_cast<uint64_t>(group.end - start),
                              nullptr});
  }
  for (const Group::Member &one : group.members) {
    GraphResult &result = entry.results[one.number];
    result.number = number;
    result.isWhole = hasWhole && one.handle == whole->handle;
    result.viewOffset = (firstOf(one.view) - start) / static_cast<int64_t>(bytesOf(one.view.dtype));
  }
}

} // namespace frit
