#include "runtime/plan/ControlFlow.h"

#include "runtime/plan/StorageSpan.h"

#include <algorithm>
#include <chrono>

namespace frit {

using format::OutputKind;
using format::ValueKind;

namespace {

/// In the order of ControlFlow::Kind.
constexpr const char *kNames[] = {"higher_order::cond", "higher_order::while_loop",
                                  "higher_order::while_loop_stack_output", "higher_order::scan"};

const format::Value &argument(const format::Aten &call, uint32_t number) {
  return *call.arguments()->Get(number);
}

uint32_t countOf(const format::Value &list) { return list.items() ? list.items()->size() : 0; }

/// The results in order; a list stands for its items.
std::vector<const format::Value *> resultsOf(const format::Aten &call) {
  std::vector<const format::Value *> all;
  if (!call.results()) {
    return all;
  }
  for (const format::Value *result : *call.results()) {
    if (result->kind() != ValueKind::List) {
      all.push_back(result);
      continue;
    }
    for (uint32_t at = 0; at < countOf(*result); ++at) {
      all.push_back(result->items()->Get(at));
    }
  }
  return all;
}

/// Reads a predicate: a number or a tensor with one element.
Status isTrue(const InputValue &value, TensorHost &host, bool &answer) {
  int64_t integer = value.integer;
  double real = value.real;
  if (value.kind == InputValue::Kind::Tensor) {
    TensorView view = host.viewOf(value.handle);
    int64_t count = 1;
    for (int64_t dim = 0; dim < view.rank; ++dim) {
      count *= view.sizes[dim];
    }
    if (count != 1) { // torch's words
      return Status::error(ErrorKind::Runtime,
                           count == 0
                               ? "Boolean value of Tensor with no values is ambiguous"
                               : "Boolean value of Tensor with more than one value is ambiguous");
    }
    TensorSlot slot = slotOfView(value.handle, view);
    FRIT_RETURN_IF_ERROR(host.readItem(slot, &integer, &real));
  }
  answer = integer != 0 || real != 0;
  return Status::ok();
}

/// Asks the host whether to go on, ten times a second: a loop may have no end.
class Pulse {
public:
  Status beat(TensorHost &host) {
    auto now = Clock::now();
    if (now < next) {
      return Status::ok();
    }
    next = now + kPause;
    return host.interrupted();
  }

private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPause{100};
  Clock::time_point next = Clock::now() + kPause;
};

/// Owns the handle.
TensorSlot slotOf(void *handle, TensorHost &host) {
  TensorSlot slot = slotOfView(handle, host.viewOf(handle));
  slot.owner = TensorSlot::Owner::Handle;
  return slot;
}

} // namespace

/// Values with references of their own.
class ControlFlow::Values {
public:
  explicit Values(TensorHost &host) : host(host) {}
  Values(const Values &) = delete;
  Values &operator=(const Values &) = delete;
  ~Values() { clear(); }

  void clear() {
    for (InputValue &value : all) {
      if (value.handle) {
        host.releaseTensor(value.handle);
      }
    }
    all.clear();
  }

  /// Takes the reference of `value`.
  void take(const InputValue &value) { all.push_back(value); }

  void add(const InputValue &value) {
    if (value.handle) {
      host.retainTensor(value.handle);
    }
    all.push_back(value);
  }

  void add(const format::Value &value, const RunState &state) {
    using Kind = InputValue::Kind;
    InputValue made;
    switch (value.kind()) {
    case ValueKind::Tensor:
      made.kind = Kind::Tensor;
      made.handle = state.tensors[value.reg()].handle;
      break;
    case ValueKind::IntReg:
    case ValueKind::BoolReg:
      made.kind = value.kind() == ValueKind::IntReg ? Kind::Int : Kind::Bool;
      made.integer = state.ints[value.reg()];
      break;
    case ValueKind::FloatReg:
      made.kind = Kind::Float;
      made.real = state.floats[value.reg()];
      break;
    case ValueKind::Int:
    case ValueKind::Bool:
      made.kind = value.kind() == ValueKind::Int ? Kind::Int : Kind::Bool;
      made.integer = value.integer();
      break;
    case ValueKind::Double:
      made.kind = Kind::Float;
      made.real = value.real().value_or(0);
      break;
    case ValueKind::List:
      for (uint32_t at = 0; at < countOf(value); ++at) {
        add(*value.items()->Get(at), state);
      }
      return;
    default:
      break; // None
    }
    add(made);
  }

  /// Adds the values of others from `first` on.
  void addFrom(const Values &other, size_t first) {
    for (const InputValue &value : std::span(other.all).subspan(first)) {
      add(value);
    }
  }

  /// Gives the references away.
  std::vector<InputValue> release() { return std::exchange(all, {}); }

  size_t size() const { return all.size(); }
  InputValue &operator[](size_t at) { return all[at]; }
  const InputValue &operator[](size_t at) const { return all[at]; }
  TensorHost &getHost() const { return host; }

private:
  TensorHost &host;
  std::vector<InputValue> all;
};

/// The bytes of a tensor that a graph made.
static uint64_t bytesOf(const InputValue &value, TensorHost &host) {
  if (value.kind != InputValue::Kind::Tensor || !value.handle) {
    return 0;
  }
  TensorShape shape = shapeOfView(host.viewOf(value.handle));
  return spanOf(shape.sizes, shape.strides).value_or(0) * bytesOf(shape.dtype);
}

bool ControlFlow::isControlFlow(const format::Aten &call) {
  return call.name()->string_view().starts_with("higher_order::");
}

bool ControlFlow::callsOperators(const DecodedPlan &plan) {
  return !std::all_of(plan.atenCalls.begin(), plan.atenCalls.end(),
                      [](const format::Aten *call) { return isControlFlow(*call); });
}

Result<ControlFlow> ControlFlow::prepare(const DecodedPlan &plan, const format::Aten &call,
                                         SubgraphTable &table) {
  const auto *name = std::find(std::begin(kNames), std::end(kNames), call.name()->string_view());
  if (name == std::end(kNames)) {
    return Status::error(ErrorKind::Unsupported,
                         "this version of frit does not know the control flow " +
                             call.name()->str() + "; compile the program with this version");
  }
  ControlFlow made(plan, call, static_cast<Kind>(name - std::begin(kNames)));
  FRIT_RETURN_IF_ERROR(made.load(table));
  FRIT_RETURN_IF_ERROR(made.checkCounts());
  return made;
}

Result<std::shared_ptr<Subgraph>> SubgraphTable::find(const Artifact &artifact,
                                                      std::string_view name) {
  if (auto known = loaded.find(name); known != loaded.end()) {
    return known->second;
  }
  if (!load) {
    return Status::error(ErrorKind::Unsupported, "this host loads no graphs of control flow");
  }
  auto file = artifact.subgraph(name);
  FRIT_RETURN_IF_ERROR(file.status());
  auto graph = load(*file);
  if (graph.isOk()) {
    loaded.emplace(name, *graph);
  }
  return graph;
}

Status ControlFlow::load(SubgraphTable &table) {
  for (uint32_t at = 0; call->graphs() && at < call->graphs()->size(); ++at) {
    auto graph = table.find(*plan->artifact, call->graphs()->Get(at)->string_view());
    FRIT_RETURN_IF_ERROR(graph.status());
    graphs.push_back(std::move(*graph));
    if (const auto *inputs = graphs.back()->plan().source->inputs();
        inputs && std::any_of(inputs->begin(), inputs->end(),
                              [](const format::Input *input) { return input->mutated(); })) {
      return Status::error(ErrorKind::BadArtifact, call->name()->str() +
                                                       " has a graph that writes to its arguments; "
                                                       "compile the artifact again");
    }
    std::vector<bool> &shared = shares.emplace_back();
    if (const auto *outputs = graphs.back()->plan().source->outputs()) {
      for (const format::Output *output : *outputs) {
        shared.push_back(output->kind() == OutputKind::Input || output->view_of() != kNoRegister ||
                         output->shares_with() != kNoRegister);
      }
    }
  }
  return Status::ok();
}

Status ControlFlow::checkCounts() const {
  auto bad = [&](const std::string &what) {
    return Status::error(ErrorKind::BadArtifact,
                         call->name()->str() + " " + what + "; compile the artifact again");
  };
  uint32_t arguments = call->arguments() ? call->arguments()->size() : 0;
  if (graphs.size() != (kind == Kind::Scan ? 1 : 2) || arguments != (kind == Kind::Scan ? 3 : 2)) {
    return bad("has a wrong number of graphs or arguments");
  }
  std::vector<size_t> given;
  for (uint32_t at = 0; at < arguments; ++at) {
    if (argument(*call, at).kind() != ValueKind::List && (kind != Kind::Cond || at == 1)) {
      return bad("takes lists");
    }
    given.push_back(countOf(argument(*call, at)));
  }
  bool isLoop = kind == Kind::WhileLoop || kind == Kind::WhileLoopStack;
  size_t inputs = kind == Kind::Cond ? given[1] : given[0] + given[1];
  inputs += kind == Kind::Scan ? given[2] : 0;
  size_t outputs = call->results() ? resultsOf(*call).size() : 0;
  for (size_t graph = 0; graph < graphs.size(); ++graph) {
    const format::Plan &source = *graphs[graph]->plan().source;
    bool isTest = isLoop && graph == 0;
    if ((source.inputs() ? source.inputs()->size() : 0) != inputs ||
        shares[graph].size() != (isTest ? 1 : outputs)) {
      return bad("has a graph with another number of arguments or results");
    }
  }
  bool carriesMore = kind == Kind::Scan && given[0] > outputs;
  return carriesMore || (isLoop && given[0] != outputs) ? bad("carries another number of values")
                                                        : Status::ok();
}

Status ControlFlow::run(TensorHost &host, RunState &state) const {
  switch (kind) {
  case Kind::Cond:
    return runCond(host, state);
  case Kind::WhileLoop:
  case Kind::WhileLoopStack:
    return runWhileLoop(host, state);
  case Kind::Scan:
    return runScan(host, state);
  }
  return Status::ok();
}

Status ControlFlow::runGraph(size_t graph, const Values &arguments, Values &results,
                             RunState &state, uint64_t carried) const {
  Values given(arguments.getHost());
  given.addFrom(arguments, 0);
  std::vector<InputValue> inputs = given.release();
  std::vector<OutputValue> outputs(shares[graph].size());
  Status status = graphs[graph]->run(inputs, outputs);
  const Counters &counters = graphs[graph]->counters();
  state.held.touch(carried + counters.peakBytes);
  state.heldTemporaries.touch(carried + counters.temporaryBytes);
  if (status.kind() == ErrorKind::BadInput) {
    // The caller's arguments are right: what an operator promised about their layout is not.
    return Status::error(ErrorKind::Disagreement, call->name()->str() + ": " + status.message());
  }
  FRIT_RETURN_IF_ERROR(status);
  results.clear();
  for (const OutputValue &output : outputs) {
    InputValue value;
    value.kind = static_cast<InputValue::Kind>(output.kind);
    value.integer = output.integer;
    value.real = output.real;
    value.handle = output.handle;
    results.take(value);
  }
  return Status::ok();
}

Status ControlFlow::runCond(TensorHost &host, RunState &state) const {
  Values predicate(host), operands(host), results(host);
  predicate.add(argument(*call, 0), state);
  bool answer = false;
  FRIT_RETURN_IF_ERROR(isTrue(predicate[0], host, answer));
  operands.add(argument(*call, 1), state);
  size_t graph = answer ? 0 : 1;
  FRIT_RETURN_IF_ERROR(runGraph(graph, operands, results, state, 0));
  std::vector<const format::Value *> places = resultsOf(*call);
  for (size_t at = 0; at < places.size(); ++at) {
    FRIT_RETURN_IF_ERROR(store(*places[at], results[at], shares[graph][at], host, state));
  }
  return Status::ok();
}

Status ControlFlow::runWhileLoop(TensorHost &host, RunState &state) const {
  Values operands(host), others(host), results(host);
  operands.add(argument(*call, 0), state);
  size_t carried = operands.size();
  others.add(argument(*call, 1), state);
  operands.addFrom(others, 0);
  bool hasRun = false;
  uint64_t latest = 0, all = 0; // bytes of the last iteration's results, and of all that are kept
  std::vector<std::unique_ptr<Values>> iterations;
  Pulse pulse;
  while (true) {
    bool answer = false;
    FRIT_RETURN_IF_ERROR(pulse.beat(host));
    FRIT_RETURN_IF_ERROR(runGraph(0, operands, results, state, all));
    FRIT_RETURN_IF_ERROR(isTrue(results[0], host, answer));
    if (!answer) {
      break;
    }
    FRIT_RETURN_IF_ERROR(runGraph(1, operands, results, state, all));
    latest = 0;
    for (size_t at = 0; at < results.size(); ++at) {
      latest += shares[1][at] ? 0 : bytesOf(results[at], host);
    }
    all = latest + (kind == Kind::WhileLoopStack ? all : 0);
    operands.clear();
    operands.addFrom(results, 0);
    operands.addFrom(others, 0);
    if (kind == Kind::WhileLoopStack) {
      iterations.push_back(std::make_unique<Values>(host));
      iterations.back()->addFrom(results, 0);
    }
    hasRun = true;
  }
  results.clear();
  std::vector<const format::Value *> places = resultsOf(*call);
  for (size_t at = 0; at < carried; ++at) {
    if (kind == Kind::WhileLoop) {
      bool isShared = !hasRun || shares[1][at];
      FRIT_RETURN_IF_ERROR(store(*places[at], operands[at], isShared, host, state));
      continue;
    }
    // Without an iteration torch stacks what came in.
    auto count = std::max<int64_t>(static_cast<int64_t>(iterations.size()), 1);
    for (int64_t step = 0; step < count; ++step) {
      const Values &made = hasRun ? *iterations[static_cast<size_t>(step)] : operands;
      FRIT_RETURN_IF_ERROR(stack(*places[at], step, count, made[at], host, state));
    }
  }
  return Status::ok();
}

Status ControlFlow::runScan(TensorHost &host, RunState &state) const {
  Values carried(host), scanned(host), others(host), results(host);
  carried.add(argument(*call, 0), state);
  scanned.add(argument(*call, 1), state);
  others.add(argument(*call, 2), state);
  std::vector<const format::Value *> places = resultsOf(*call);
  uint64_t latest = 0;
  size_t kept = carried.size();
  int64_t count = scanned.size() == 0 ? 0 : host.viewOf(scanned[0].handle).sizes[0];
  for (size_t at = 0; at < scanned.size(); ++at) {
    // torch takes the number of steps from the first one.
    if (host.viewOf(scanned[at].handle).sizes[0] < count) {
      return Status::error(ErrorKind::Index,
                           "scan: a tensor has fewer elements along the scanned dimension than "
                           "the first one");
    }
  }
  if (count == 0) {
    return Status::error(ErrorKind::Runtime, "scan: the scanned dimension has no elements");
  }
  Pulse pulse;
  for (int64_t step = 0; step < count; ++step) {
    FRIT_RETURN_IF_ERROR(pulse.beat(host));
    Values operands(host);
    operands.addFrom(carried, 0);
    for (size_t at = 0; at < scanned.size(); ++at) {
      TensorView whole = host.viewOf(scanned[at].handle);
      TensorShape shape = shapeOfView(whole);
      shape.sizes = shape.sizes.subspan(1);
      shape.strides = shape.strides.subspan(1);
      shape.lazy = whole.lazy;
      TensorSlot slice;
      FRIT_RETURN_IF_ERROR(
          host.viewTensor(slotOf(scanned[at].handle, host), shape, step * whole.strides[0], slice));
      InputValue value;
      value.kind = InputValue::Kind::Tensor;
      value.handle = slice.handle;
      operands.take(value);
    }
    operands.addFrom(others, 0);
    FRIT_RETURN_IF_ERROR(runGraph(0, operands, results, state, latest));
    carried.clear();
    latest = 0;
    for (size_t at = 0; at < results.size(); ++at) {
      if (at < kept) {
        latest += shares[0][at] ? 0 : bytesOf(results[at], host);
        carried.add(results[at]);
      } else {
        FRIT_RETURN_IF_ERROR(stack(*places[at], step, count, results[at], host, state));
      }
    }
  }
  results.clear();
  for (size_t at = 0; at < kept; ++at) {
    FRIT_RETURN_IF_ERROR(store(*places[at], carried[at], shares[0][at], host, state));
  }
  return Status::ok();
}

void ControlFlow::hold(TensorSlot &slot, uint64_t bytes, RunState &state) {
  slot.bytes = bytes;
  state.held.add(bytes);
}

Status ControlFlow::stack(const format::Value &result, int64_t at, int64_t count,
                          const InputValue &value, TensorHost &host, RunState &state) const {
  if (result.kind() != ValueKind::Tensor) {
    return Status::ok(); // nothing reads it
  }
  TensorView part = host.viewOf(value.handle);
  TensorSlot &whole = state.tensors[result.reg()];
  if (at == 0) {
    // Contiguous, as torch stacks; store() gives it other strides if the plan promises them.
    std::vector<int64_t> sizes = {count};
    sizes.insert(sizes.end(), part.sizes, part.sizes + part.rank);
    std::vector<int64_t> strides = contiguousStrides(sizes);
    FRIT_RETURN_IF_ERROR(host.allocateTensor({sizes, strides, part.dtype, part.device}, whole));
    whole.owner = TensorSlot::Owner::Handle;
    InputValue made;
    made.kind = InputValue::Kind::Tensor;
    made.handle = whole.handle;
    hold(whole, bytesOf(made, host), state);
  }
  TensorView all = host.viewOf(whole.handle);
  TensorShape shape = shapeOfView(all);
  shape.sizes = shape.sizes.subspan(1);
  shape.strides = shape.strides.subspan(1);
  if (!std::equal(shape.sizes.begin(), shape.sizes.end(), part.sizes, part.sizes + part.rank)) {
    return Status::error(ErrorKind::Runtime, "scan: its steps give results of different sizes");
  }
  TensorSlot slice;
  FRIT_RETURN_IF_ERROR(host.viewTensor(whole, shape, at * all.strides[0], slice));
  Status status = host.copyInto(slice, slotOf(value.handle, host));
  host.releaseTensor(slice.handle);
  if (status.isOk() && at + 1 == count) {
    InputValue made;
    made.kind = InputValue::Kind::Tensor;
    state.held.drop(whole.bytes);
    made.handle = std::exchange(whole, TensorSlot()).handle;
    Values owner(host);
    owner.take(made);
    return store(result, owner[0], false, host, state, /*isStacked=*/true);
  }
  return status;
}

Status ControlFlow::store(const format::Value &result, InputValue &value, bool isShared,
                          TensorHost &host, RunState &state, bool isStacked) const {
  switch (result.kind()) {
  case ValueKind::IntReg:
  case ValueKind::BoolReg:
    state.ints[result.reg()] = value.integer;
    return Status::ok();
  case ValueKind::FloatReg:
    state.floats[result.reg()] = value.real;
    return Status::ok();
  case ValueKind::Tensor:
    break;
  default:
    return Status::ok();
  }
  if (value.kind != InputValue::Kind::Tensor) {
    return Status::error(ErrorKind::Disagreement,
                         call->name()->str() + ": a graph gives no tensor where the plan has one");
  }
  const TensorType &type = plan->tensors[result.reg()];
  TensorView view = host.viewOf(value.handle);
  TensorShape shape = shapeOfView(view);
  std::vector<int64_t> strides;
  bool isEmpty = false, hasStrides = true;
  bool isFree = result.integer() != 0 && !isStacked;
  if (type.rank >= 0 && !isFree) {
    bool fits = view.dtype == type.dtype && view.rank == type.rank;
    for (int64_t dim = 0; fits && dim < view.rank; ++dim) {
      fits = view.sizes[dim] == state.ints[type.sizes[dim]];
      isEmpty |= view.sizes[dim] == 0;
      strides.push_back(type.hasStrides ? state.ints[type.strides[dim]] : view.strides[dim]);
      hasStrides &= view.sizes[dim] == 1 || view.strides[dim] == strides.back();
    }
    if (!fits) {
      return Status::error(ErrorKind::Disagreement,
                           call->name()->str() +
                               ": a graph gives a tensor of another type or shape than the plan "
                               "was compiled for");
    }
    shape.strides = strides;
  }
  TensorSlot &slot = state.tensors[result.reg()];
  // As for calls of ATen (Artifact.fbs): only kernels and views rely on the promised strides.
  if (!isShared && (hasStrides || isEmpty || isFree)) {
    uint64_t bytes = bytesOf(value, host);
    slot = slotOf(std::exchange(value.handle, nullptr), host);
    hold(slot, bytes, state);
    value = InputValue();
    return Status::ok();
  }
  FRIT_RETURN_IF_ERROR(host.allocateTensor(shape, slot));
  slot.owner = TensorSlot::Owner::Handle;
  hold(slot, bytesOf(value, host), state);
  return host.copyInto(slot, slotOf(value.handle, host));
}

} // namespace frit
