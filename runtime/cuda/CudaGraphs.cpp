#include "runtime/cuda/CudaGraphs.h"

namespace frit {

CudaGraphs::CudaGraphs(std::shared_ptr<const DecodedPlan> decoded, TensorHost &host,
                       CudaBackend &backend, PlanExecutor &executor, std::shared_ptr<Driver> driver,
                       GraphPool &pool, const GraphTensors &tensors, OperatorCapture *operators)
    : plan(std::move(decoded), host, backend, executor, driver, pool, tensors, operators),
      counts(plan.name(), host), cache(std::move(driver), counts),
      recorder(GraphRecorder::make(plan, cache, counts)), replay(plan) {}

Status CudaGraphs::run(std::span<InputValue> inputs, std::span<OutputValue> outputs) {
  GraphCall call;
  std::string why;
  if (!describe(inputs, call, why)) {
    return runPlain(inputs, outputs, why);
  }
  Status status;
  switch (tryGraph(call, inputs, outputs, status, why)) {
  case Outcome::Launched:
    return status;
  case Outcome::Plain:
    return runPlain(inputs, outputs, why);
  case Outcome::PlainThenCapture:
    return runAndCapture(call, inputs, outputs);
  }
  return status;
}

/// Finds the keys of a call. Returns false if it runs without a graph, with a reason unless that
/// does not count.
bool CudaGraphs::describe(std::span<const InputValue> inputs, GraphCall &call, std::string &why) {
  why = plan.whyNever;
  if (!why.empty() || inputs.size() != plan.statics.size() || !plan.driver->usable().isOk()) {
    return false;
  }
  call.stream = plan.host.currentStream();
  Result<DriverContext> context = plan.driver->currentContext(plan.host);
  if (!context.isOk()) {
    return false;
  }
  call.context = *context;
  if (plan.backend.isCapturing(call.stream)) {
    why = "the caller captures the stream already";
    return false;
  }
  if (!plan.findKeys(inputs, call, why)) {
    return false;
  }
  if (plan.anyKeptResults && plan.host.showsKeptTensors()) {
    why = "saved_tensors_hooks get what it keeps for its backward";
    return false;
  }
  return true;
}

Status CudaGraphs::runPlain(std::span<InputValue> inputs, std::span<OutputValue> outputs,
                            const std::string &why) {
  if (!why.empty()) {
    counts.addNotCaptured(why);
  }
  return plan.executor.run(inputs, outputs);
}

/// Launches the graph of a call, if it has one or can get one now. `status` is that of the launch,
/// `why` the reason for running without a graph; empty if that does not count.
CudaGraphs::Outcome CudaGraphs::tryGraph(const GraphCall &call, std::span<InputValue> inputs,
                                         std::span<OutputValue> outputs, Status &status,
                                         std::string &why) {
  ForkSafeGuard guard(lock);
  if (!guard.held) {
    return Outcome::Plain;
  }
  auto [entry, isNew] = cache.use(call.key);
  if (isNew) {
    entry.fixed = call.fixed;
  }
  bool isEarly = ++entry.calls <= kCallsBeforeCopies && plan.waitsForForward(inputs, entry.fixed);
  if (isNew || isEarly) {
    return Outcome::Plain;
  }
  if (plan.callsOperators() && !entry.isCaptured() && entry.refused.empty()) {
    return Outcome::PlainThenCapture;
  }
  why = prepare(entry, call, inputs);
  return why.empty() ? launch(entry, call.stream, inputs, outputs, status, why) : Outcome::Plain;
}

/// Launches a graph that is ready, unless results that it would overwrite are still in use.
CudaGraphs::Outcome CudaGraphs::launch(GraphEntry &entry, DriverStream stream,
                                       std::span<InputValue> inputs, std::span<OutputValue> outputs,
                                       Status &status, std::string &why) {
  std::shared_ptr<GraphLane> lane = entry.lane;
  ForkSafeGuard ofLane(lane->lock);
  // Saved results are in memory from which only torch's captures allocate.
  switch (entry.ofOperators.object ? lane->kept.conflict(&entry, entry.order)
                                   : KeptResults::Conflict::None) {
  case KeptResults::Conflict::Own:
    why = "its backward, or somebody else, still has what it kept in an earlier call";
    return Outcome::Plain;
  case KeptResults::Conflict::OfLater:
    cache.drop(entry);
    return Outcome::PlainThenCapture;
  case KeptResults::Conflict::None:
    break;
  }
  std::vector<TensorSlot> storages(entry.storages.size());
  if (!replay.allocate(entry, storages).isOk()) {
    why = "there was no memory for its results beside that of its graphs, which were dropped";
    cache.dropAll();
    return Outcome::Plain;
  }
  status = replay.run(entry, stream, inputs, storages, outputs);
  if (status.isOk()) {
    counts.update([](GraphCounters &counters) { ++counters.replays; });
  }
  return Outcome::Launched;
}

/// Runs the call without a graph, then captures the graph for later calls.
Status CudaGraphs::runAndCapture(const GraphCall &call, std::span<InputValue> inputs,
                                 std::span<OutputValue> outputs) {
  TensorHost &host = plan.host;
  std::vector<InputValue> kept(inputs.begin(), inputs.end());
  for (InputValue &input : kept) {
    if (input.handle) {
      host.retainTensor(input.handle);
    }
  }
  Status status = plan.executor.run(inputs, outputs);
  if (status.isOk()) {
    ForkSafeGuard guard(lock);
    // Another thread may have captured it, or the entry may be gone again.
    if (GraphEntry *entry = guard.held ? cache.find(call.key) : nullptr) {
      if (std::string why = prepare(*entry, call, kept); !why.empty()) {
        counts.addNotCaptured(why);
      }
    }
  }
  for (InputValue &input : kept) {
    if (input.handle) {
      host.releaseTensor(input.handle);
    }
  }
  return status;
}

/// Readies the graph of this call; returns why the call cannot launch it, or an empty string.
std::string CudaGraphs::prepare(GraphEntry &entry, const GraphCall &call,
                                std::span<const InputValue> inputs) {
  if (!entry.refused.empty() || (entry.isCaptured() && entry.exact == call.exact)) {
    return entry.refused;
  }
  if (entry.isCaptured()) {
    Result<bool> fits = false;
    {
      ForkSafeGuard ofLane(entry.lane->lock);
      fits = recorder->update(entry, inputs);
    }
    if (fits.isOk() && *fits) {
      entry.exact = call.exact;
      counts.update([](GraphCounters &counters) { ++counters.updates; });
      return "";
    }
    // Some nodes have been updated for this call and others not.
    cache.drop(entry);
    if (!fits.isOk()) {
      return fits.status().message();
    }
    // These sizes need other kernels, so the graph is captured anew.
  }
  entry.lane = plan.pool.lane(call.context, call.stream, plan.driver);
  Status status;
  if (entry.lane) {
    ForkSafeGuard ofLane(entry.lane->lock);
    status = capture(entry, inputs);
  }
  if (entry.isCaptured()) {
    entry.exact = call.exact;
    return "";
  }
  entry.lane.reset();
  std::string why = status.isOk() ? "its memory is held by the process this one was forked from"
                                  : status.message();
  // Memory may be available later, so this failure is not recorded, except in a training step.
  if (status.isOk() || status.kind() != ErrorKind::OutOfMemory || plan.anyKeptResults) {
    entry.refused = why;
  }
  return why;
}

Status CudaGraphs::capture(GraphEntry &entry, std::span<const InputValue> inputs) {
  FRIT_RETURN_IF_ERROR(recorder->capture(entry, inputs));
  counts.addCapture(plan.hasSymbols() ? plan.whyExact : "");
  cache.makeRoom();
  return Status::ok();
}

} // namespace frit
