#include "runtime/cuda/CudaGraphs.h"

#include <algorithm>

namespace frit {

using format::InputKind;

namespace {

constexpr DriverCode kOutOfMemory = 2;
constexpr unsigned kNonBlocking = 1;
/// The most keys that are remembered, captured or not, and the most reasons that are counted
/// separately.
constexpr size_t kMostKeys = 128, kMostReasons = 32;

constexpr const char *kHasKept =
    "its backward, or somebody else, still has what it kept in an earlier call";

std::vector<bool> flags(size_t count, std::span<const uint32_t> numbers) {
  std::vector<bool> set(count);
  for (uint32_t number : numbers) {
    if (number < count) {
      set[number] = true;
    }
  }
  return set;
}

bool anyOf(const std::vector<bool> &set) {
  return std::find(set.begin(), set.end(), true) != set.end();
}

} // namespace

Status CudaGraphs::Walk::launch(const KernelArguments &arguments, TensorHost &host) {
  if (mode != Mode::Count) {
    return backend.launchInto(this, arguments, host);
  }
  constexpr size_t kLongestNames = 120;
  launches += arguments.site->launchesOf(*arguments.variant);
  if (names.size() < kLongestNames) {
    names += (names.empty() ? "" : ", ") + backend.kernelName(arguments.site->kernel);
  }
  return Status::ok();
}

DriverCode CudaGraphs::Walk::launch(const DriverKernelNode &launch, DriverStream stream) {
  const DriverTable &call = backend.call();
  if (mode == Mode::Update) {
    // With more launches than nodes the graph does not fit, which `fits` reports at the end.
    return met++ < known.size()
               ? call.cuGraphExecKernelNodeSetParams(graph, known[met - 1], &launch)
               : 0;
  }
  DriverCode code = call.cuLaunchKernel(launch.function, launch.gridX, launch.gridY, launch.gridZ,
                                        launch.blockX, launch.blockY, launch.blockZ,
                                        launch.sharedBytes, stream, launch.parameters, nullptr);
  int status = 0;
  const DriverGraphNode *last = nullptr;
  size_t count = 0;
  // The node that the next launch would depend on is that of this launch.
  code =
      code ? code : call.cuStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, &count);
  constexpr DriverCode kUnknown = 999;
  if (code == 0 && count != 1) {
    return kUnknown;
  }
  if (code == 0) {
    nodes.push_back(*last);
  }
  return code;
}

void CudaGraphs::Walk::count() {
  mode = Mode::Count;
  launches = 0;
  names.clear();
}

void CudaGraphs::Walk::capture() {
  mode = Mode::Capture;
  nodes.clear();
}

void CudaGraphs::Walk::update(DriverGraphExec made, std::span<const DriverGraphNode> ofIt) {
  mode = Mode::Update;
  graph = made;
  known = ofIt;
  met = 0;
}

CudaGraphs::CudaGraphs(std::shared_ptr<const DecodedPlan> plan, TensorHost &host,
                       CudaBackend &backend, PlanExecutor &executor, std::shared_ptr<Driver> driver,
                       GraphPool &pool, const GraphTensors &tensors, OperatorCapture *operators)
    : plan(std::move(plan)), host(host), backend(backend), executor(executor),
      driver(std::move(driver)), pool(pool), statics(flags(executor.inputCount(), tensors.statics)),
      keptArguments(flags(executor.inputCount(), tensors.keptArguments)),
      keptResults(flags(executor.outputCount(), tensors.keptResults)),
      anyKeptArguments(anyOf(keptArguments)), anyKeptResults(anyOf(keptResults)),
      operators(operators), recording(host, backend), recorded(backend) {
  for (uint32_t number = 0; number < this->plan->atenCalls.size(); ++number) {
    isRandom |= host.traitsOf(number).isRandom;
  }
  never = whyNever();
  onlyExact = whyExact();
  recorder = this->plan->atenCalls.empty()
                 ? std::make_unique<PlanExecutor>(this->plan, recording, recorded)
                 : std::make_unique<PlanExecutor>(this->plan, host, backend);
}

CudaGraphs::~CudaGraphs() {
  bool isUsable = driver->usable().isOk();
  for (auto &[key, entry] : entries) {
    if (isUsable) {
      drop(entry);
    } else if (entry.ofOperators.object) {
      // Leaked, because destroying it would call a lost driver, or another process's.
      new OperatorCapture::Graph(std::move(entry.ofOperators));
    }
  }
}

/// The most launches of a call: all its kernels, and one for each operator.
uint64_t CudaGraphs::mostLaunches() const {
  uint64_t most = plan->atenCalls.size();
  for (const LaunchSite &site : plan->sites) {
    size_t ofSite = 0;
    for (const DecodedVariant &variant : site.variants) {
      ofSite = std::max(ofSite, site.launchesOf(variant));
    }
    most += ofSite;
  }
  return most;
}

Status CudaGraphs::bindConstant(uint32_t number, void *handle) {
  return recorder->bindConstant(
      number, plan->atenCalls.empty() ? recording.addConstant(number, handle) : handle);
}

GraphCounters CudaGraphs::counters() {
  ForkSafeGuard guard(countLock);
  return counts;
}

void CudaGraphs::count(const std::string &why) {
  ForkSafeGuard guard(countLock);
  if (!guard.held) {
    return;
  }
  auto known = counts.notCaptured.find(why);
  if (known == counts.notCaptured.end()) {
    if (counts.notCaptured.size() >= kMostReasons) {
      ++counts.notCaptured["other reasons"];
      return;
    }
    known = counts.notCaptured.emplace(why, 0).first;
    host.note("graph '" + std::string(plan->artifact->graphName()) +
              "' is not captured in a CUDA graph: " + why);
  }
  ++known->second;
}

Status CudaGraphs::plain(std::span<InputValue> inputs, std::span<OutputValue> outputs,
                         const std::string &why) {
  if (!why.empty()) {
    count(why);
  }
  return executor.run(inputs, outputs);
}

Status CudaGraphs::run(std::span<InputValue> inputs, std::span<OutputValue> outputs) {
  if (!never.empty() || inputs.size() != statics.size() || !driver->usable().isOk()) {
    return plain(inputs, outputs, never);
  }
  DriverContext context = nullptr;
  DriverStream stream = host.currentStream();
  if (driver->call().cuCtxGetCurrent(&context) != 0 || !context) {
    return plain(inputs, outputs, "");
  }
  if (backend.isCapturing(stream)) {
    return plain(inputs, outputs, "the caller captures the stream already");
  }
  Key key, exact;
  std::string why;
  std::vector<bool> fixed;
  if (!keysOf(inputs, context, stream, key, exact, fixed, why)) {
    return plain(inputs, outputs, why);
  }
  if (anyKeptResults && host.showsKeptTensors()) {
    return plain(inputs, outputs, "saved_tensors_hooks get what it keeps for its backward");
  }
  bool isToCapture = false;
  {
    ForkSafeGuard guard(lock);
    if (!guard.held) {
      return plain(inputs, outputs, "");
    }
    auto [found, isNew] = entries.try_emplace(key);
    Entry &entry = found->second;
    entry.lastUse = ++clock;
    if (isNew) {
      entry.fixed = std::move(fixed);
      makeRoom();
    }
    bool isEarly = ++entry.calls <= kCallsBeforeCopies && waitsForForward(inputs, entry.fixed);
    if (isNew || isEarly) {
      // Runs without a graph.
    } else if (!plan->atenCalls.empty() && !entry.isCaptured() && entry.refused.empty()) {
      isToCapture = true;
    } else {
      why = prepare(entry, exact, inputs, context, stream);
      if (why.empty()) {
        std::shared_ptr<GraphLane> lane = entry.lane;
        ForkSafeGuard ofLane(lane->lock);
        // Kept results lie in memory that only torch's captures allocate from.
        KeptResults::Conflict conflict = entry.ofOperators.object
                                             ? lane->kept.conflict(&entry, entry.order)
                                             : KeptResults::Conflict::None;
        std::vector<TensorSlot> fresh(entry.fresh.size());
        if (conflict == KeptResults::Conflict::Own) {
          why = kHasKept;
        } else if (conflict == KeptResults::Conflict::OfLater) {
          dropCounted(entry);
          isToCapture = true;
        } else if (makeFresh(entry, fresh).isOk()) {
          return replay(entry, stream, inputs, fresh, outputs);
        } else {
          why = "there was no memory for its results beside that of its graphs, which were dropped";
          dropAll();
        }
      }
    }
  }
  return isToCapture ? runAndCapture(key, exact, context, stream, inputs, outputs)
                     : plain(inputs, outputs, why);
}

/// Readies the graph of this call; returns why the call cannot launch it, or an empty string.
std::string CudaGraphs::prepare(Entry &entry, const Key &exact, std::span<const InputValue> inputs,
                                DriverContext context, DriverStream stream) {
  if (!entry.refused.empty() || (entry.isCaptured() && entry.exact == exact)) {
    return entry.refused;
  }
  if (entry.isCaptured()) {
    Status status;
    {
      ForkSafeGuard ofLane(entry.lane->lock);
      status = update(entry, inputs);
    }
    if (status.isOk() && recorded.fits() && recording.copied() == 0) {
      entry.exact = exact;
      ForkSafeGuard guard(countLock);
      ++counts.updates;
      return "";
    }
    // Some nodes have been updated for this call and others not.
    dropCounted(entry);
    if (!status.isOk()) {
      return status.message();
    }
    // These sizes need other kernels, so the graph is captured anew.
  }
  entry.lane = pool.lane(context, stream, driver);
  Status status;
  if (entry.lane) {
    ForkSafeGuard ofLane(entry.lane->lock);
    status = capture(entry, inputs);
  }
  if (entry.isCaptured()) {
    entry.exact = exact;
    return "";
  }
  entry.lane.reset();
  std::string why = status.isOk() ? "its memory is held by the process this one was forked from"
                                  : status.message();
  // Memory may be available later, so this is not remembered, except in a training step.
  if (status.isOk() || status.kind() != ErrorKind::OutOfMemory || anyKeptResults) {
    entry.refused = why;
  }
  return why;
}

void CudaGraphs::dropAll() {
  for (auto &[key, entry] : entries) {
    dropCounted(entry);
  }
  entries.clear();
}

void CudaGraphs::dropCounted(Entry &entry) {
  {
    ForkSafeGuard guard(countLock);
    counts.evictions += entry.isCaptured();
    counts.keptBytes -= entry.keptBytes;
  }
  drop(entry);
}

/// Evicts the least recently used entries beyond the limits.
void CudaGraphs::makeRoom() {
  dropOldest(kMostKeys, [](const Entry &entry) { return !entry.isCaptured(); });
  dropOldest(mostGraphs, [](const Entry &entry) { return entry.isCaptured(); });
  dropOldest(kMostKeeping, [](const Entry &entry) { return entry.keeps(); });
}

/// `isOne` says which entries count. The entry in use is never the oldest.
void CudaGraphs::dropOldest(size_t most, bool (*isOne)(const Entry &)) {
  auto isDroppable = [&](const auto &one) { return isOne(one.second); };
  for (auto there = static_cast<size_t>(std::count_if(entries.begin(), entries.end(), isDroppable));
       there > most; --there) {
    auto oldest = std::find_if(entries.begin(), entries.end(), isDroppable);
    for (auto at = oldest; at != entries.end(); ++at) {
      oldest = isDroppable(*at) && at->second.lastUse < oldest->second.lastUse ? at : oldest;
    }
    dropCounted(oldest->second);
    entries.erase(oldest);
  }
}

void CudaGraphs::drop(Entry &entry) {
  entry.fresh.clear();
  entry.keptBytes = 0;
  if (entry.lane) {
    entry.lane->kept.leave(&entry);
  }
  if (entry.ofOperators.object) {
    entry.graph = nullptr;
    entry.ofOperators = {};
  } else if (entry.graph) {
    driver->call().cuGraphExecDestroy(std::exchange(entry.graph, nullptr));
    if (entry.source) {
      driver->call().cuGraphDestroy(std::exchange(entry.source, nullptr));
    }
  }
  entry.lane.reset();
}

/// Walks the plan with the graph's memory, and records the copies and results of a launch in
/// `entry`.
Status CudaGraphs::walk(std::span<const InputValue> inputs, GraphMemory &memory,
                        DriverStream stream, Entry &entry) {
  recording.begin(memory, stream);
  entry.copies.clear();
  std::vector<InputValue> stand(inputs.begin(), inputs.end());
  for (uint32_t number = 0; number < inputs.size(); ++number) {
    if (!inputs[number].handle) {
      continue;
    }
    bool isPrivate =
        !entry.fixed[number] && plan->source->inputs()->Get(number)->kind() == InputKind::Tensor;
    RecordedTensor *tensor = recording.addInput(number, inputs[number].handle, isPrivate);
    if (!tensor) {
      return Status::error(ErrorKind::OutOfMemory,
                           "there is no memory for a copy of input " + std::to_string(number));
    }
    stand[number].handle = tensor;
    if (isPrivate && tensor->storage->bytes != 0) {
      entry.copies.push_back({number, tensor->data, tensor->storage->bytes});
    }
  }
  std::vector<OutputValue> outputs(executor.outputCount());
  FRIT_RETURN_IF_ERROR(recorder->run(stand, outputs));
  entry.bumps = recording.bumped();
  return recordResults(outputs, entry);
}

/// Records the next result of the call; returns null if it is not a tensor whose memory has to be
/// found.
CudaGraphs::Result *CudaGraphs::addResult(const OutputValue &output, Entry &entry) const {
  const format::Output &spec =
      *plan->source->outputs()->Get(static_cast<uint32_t>(entry.results.size()));
  Result &result = entry.results.emplace_back();
  result.kind = output.kind;
  result.integer = output.integer;
  result.real = output.real;
  if (spec.kind() == format::OutputKind::Input) {
    result.kind = OutputValue::Kind::Input;
    result.number = spec.reg();
    return nullptr;
  }
  return output.kind == OutputValue::Kind::Tensor ? &result : nullptr;
}

Status CudaGraphs::recordResults(std::span<OutputValue> outputs, Entry &entry) const {
  entry.fresh.clear();
  entry.results.clear();
  std::vector<const RecordedStorage *> storages;
  for (const OutputValue &output : outputs) {
    Result *added = addResult(output, entry);
    if (!added) {
      continue;
    }
    Result &result = *added;
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
      result.lookOffset =
          (tensor.data - storage.first) / static_cast<int64_t>(bytesOf(tensor.dtype));
    }
    if (storage.kind == RecordedStorage::Kind::Fresh) {
      auto known = std::find(storages.begin(), storages.end(), &storage);
      result.number = static_cast<uint32_t>(known - storages.begin());
      if (known == storages.end()) {
        storages.push_back(&storage);
        entry.fresh.push_back({storage.sizes, storage.strides, storage.offset, storage.dtype,
                               storage.device, storage.first, storage.bytes, nullptr});
      }
    }
  }
  return Status::ok();
}

/// Why a graph of the walked plan would not pay; empty if it does.
std::string CudaGraphs::notWorth(const Entry &entry, uint64_t launches) {
  uint64_t copies = entry.copies.size(), bytes = 0, evictions = counters().evictions;
  for (const CopyIn &copy : entry.copies) {
    bytes += copy.bytes;
  }
  for (const Fresh &fresh : entry.fresh) {
    copies += fresh.bytes != 0 && !fresh.kept;
    bytes += fresh.kept ? 0 : fresh.bytes;
  }
  if (launches < kFewestKernels) {
    return tooFew(launches);
  }
  if (launches <= copies) {
    return "it launches " + std::to_string(launches) + " kernels and would copy " +
           std::to_string(copies) + " arguments and results";
  }
  if (bytes / kBytesPerLaunch > launches) {
    return "it would copy " + std::to_string(bytes >> 20) + " MiB to save " +
           std::to_string(launches) + " launches";
  }
  return evictions <= 4 * mostGraphs ? ""
                                     : "its calls differ too often: " + std::to_string(evictions) +
                                           " graphs were made and dropped";
}

/// Captures the graph of a call, or returns why it cannot. A capture executes nothing, so a failure
/// has no effects.
Status CudaGraphs::capture(Entry &entry, std::span<const InputValue> inputs) {
  FRIT_RETURN_IF_ERROR(plan->atenCalls.empty() ? captureKernels(entry, inputs)
                                               : captureOperators(entry, inputs));
  {
    ForkSafeGuard guard(countLock);
    ++counts.captures;
    if (!onlyExact.empty() && plan->source->symbols() && plan->source->symbols()->size() != 0) {
      if (++counts.exact[onlyExact] == 1) {
        host.note("graph '" + std::string(plan->artifact->graphName()) +
                  "' has a CUDA graph for each of its sizes: " + onlyExact);
      }
    }
  }
  makeRoom();
  return Status::ok();
}

Status CudaGraphs::captureKernels(Entry &entry, std::span<const InputValue> inputs) {
  GraphMemory memory(*entry.lane);
  recorded.count();
  FRIT_RETURN_IF_ERROR(walk(inputs, memory, nullptr, entry));
  if (std::string why = notWorth(entry, recorded.launches); !why.empty()) {
    return Status::error(ErrorKind::Unsupported, why);
  }
  entry.kernels = recorded.names;
  memory.rewind();
  recorded.capture();
  return record(entry, inputs, memory);
}

/// The capture is thread-local: other threads may allocate and synchronise meanwhile.
DriverCode CudaGraphs::beginCapture(DriverStream stream) const {
  constexpr int kThreadLocalCapture = 1;
  return driver->call().cuStreamBeginCapture(stream, kThreadLocalCapture);
}

/// Updates the nodes of a graph for another call. Launches in progress keep their values.
Status CudaGraphs::update(Entry &entry, std::span<const InputValue> inputs) {
  GraphMemory memory(*entry.lane);
  recorded.update(entry.graph, entry.nodes);
  return walk(inputs, memory, nullptr, entry);
}

Status CudaGraphs::record(Entry &entry, std::span<const InputValue> inputs, GraphMemory &memory) {
  const DriverTable &call = driver->call();
  DriverStream &stream = entry.lane->captureStream;
  DriverCode code = stream ? 0 : call.cuStreamCreate(&stream, kNonBlocking);
  code = code ? code : beginCapture(stream);
  if (code != 0) {
    return backend.failed(code, "beginning a capture");
  }
  Status status = walk(inputs, memory, stream, entry);
  DriverGraph graph = nullptr;
  // Always ended: a stream that stays in capture mode could never run again.
  code = call.cuStreamEndCapture(stream, &graph);
  if (status.isOk() && (code != 0 || !graph)) {
    status = backend.failed(code, "ending a capture");
  }
  if (status.isOk()) {
    status = instantiate(entry, graph, host.currentStream());
  }
  if (status.isOk() && onlyExact.empty()) {
    entry.source = graph;
    // Copies make nodes that are not updated, so such a graph fits no other call.
    entry.nodes = recording.copied() == 0 ? recorded.nodes : std::vector<DriverGraphNode>();
  } else if (graph) {
    call.cuGraphDestroy(graph);
  }
  return status;
}

Status CudaGraphs::instantiate(Entry &entry, DriverGraph graph, DriverStream stream) {
  auto make = [&] { return driver->call().cuGraphInstantiateWithFlags(&entry.graph, graph, 0); };
  DriverCode code = make();
  if (code == kOutOfMemory && backend.freedMemory(stream, host)) {
    code = make();
  }
  if (code != 0) {
    entry.graph = nullptr;
    return backend.failed(code, "making a CUDA graph");
  }
  return Status::ok();
}

} // namespace frit
