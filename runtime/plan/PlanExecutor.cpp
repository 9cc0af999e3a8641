// Executes the steps of a call and returns its results; PlanInputs.cpp handles its arguments.

#include "runtime/plan/PlanExecutor.h"

#include "runtime/plan/PlanWeights.h"
#include "runtime/plan/ScalarProgram.h"

#include <algorithm>

namespace frit {

using format::OutputKind;

namespace {

/// Blocks of at least this size are cached. Any allocator reuses smaller ones without page faults;
/// larger ones would cost a page fault for every page in every call.
constexpr uint64_t kKeptBytes = 8 << 20;

Status outOfMemory(uint64_t bytes) {
  return Status::error(ErrorKind::OutOfMemory,
                       "out of memory: cannot allocate " + std::to_string(bytes) + " bytes");
}

} // namespace

PlanExecutor::PlanExecutor(std::shared_ptr<const DecodedPlan> plan, TensorHost &host,
                           KernelBackend &backend)
    : decoded(std::move(plan)), host(host), backend(backend),
      planDevice(decoded->source->target() == format::Target::Gpu ? format::Device::Cuda
                                                                  : format::Device::Cpu) {
  const format::Plan &source = *decoded->source;
  if (source.inputs()) {
    for (const format::Input *input : *source.inputs()) {
      if (input->mutated() && input->kind() == format::InputKind::Tensor) {
        mutatedInputs.push_back(static_cast<uint32_t>(inputSpecs.size()));
      }
      inputSpecs.push_back({input, input->kind(), input->reg(), input->scalar(), input->expected(),
                            input->offset(), input->only_called(), false});
    }
  }
  if (source.symbols()) {
    for (const format::Symbol *symbol : *source.symbols()) {
      symbolSpecs.push_back({symbol, symbol->reg(), symbol->input(), symbol->dim(), symbol->min(),
                             symbol->max(), symbol->divisor(), symbol->scale(), symbol->offset(),
                             symbol->stride()});
    }
  }
  if (source.buckets()) {
    for (const format::Bucket *bucket : *source.buckets()) {
      auto bound =
          std::find_if(symbolSpecs.begin(), symbolSpecs.end(),
                       [&](const SymbolSpec &symbol) { return symbol.reg == bucket->symbol(); });
      bucketSpecs.push_back({bucket->symbol(),
                             bucket->dst(),
                             {bucket->sizes()->data(), bucket->sizes()->size()},
                             static_cast<size_t>(bound - symbolSpecs.begin())});
    }
    bucketCounts = std::make_unique<BucketCounters[]>(bucketSpecs.size());
  }
  if (source.outputs()) {
    for (const format::Output *output : *source.outputs()) {
      outputSpecs.push_back({output->kind(), output->reg(), output->dtype(), output});
      if (output->kind() == OutputKind::Input) {
        inputSpecs[output->reg()].returned = true;
      }
    }
  }
  variantTotals = std::make_unique<std::atomic<uint64_t>[]>(decoded->variantCounts);
  findEffects();
}

std::vector<VariantCounts> PlanExecutor::variantCounts() const {
  std::vector<VariantCounts> result;
  const std::atomic<uint64_t> *next = variantTotals.get();
  for (uint32_t number : decoded->kernelsWithVariants) {
    const format::Kernel &kernel = *decoded->source->kernels()->Get(number);
    VariantCounts &entry = result.emplace_back();
    entry.kernel = kernel.name() ? kernel.name()->str() : "kernel";
    for (uint32_t variant = 0; variant < kernel.variants()->size(); ++variant) {
      entry.launches.push_back((next++)->load(std::memory_order_relaxed));
    }
  }
  return result;
}

PlanExecutor::~PlanExecutor() {
  delete idleState.load();
  for (auto &[tensor, slot] : constantSlots) {
    host.releaseTensor(slot.handle);
  }
}

Status PlanExecutor::bindConstant(uint32_t number, void *handle) {
  const format::Constant &constant = *decoded->source->constants()->Get(number);
  TensorView view = host.viewOf(handle);
  FRIT_RETURN_IF_ERROR(fitsConstant(*decoded, number, view));
  if (view.device == format::Device::Cuda) {
    if (gpuOfConstants >= 0 && gpuOfConstants != view.deviceIndex) {
      return Status::error(ErrorKind::BadInput,
                           "constant " + std::to_string(number) +
                               " lies on cuda:" + std::to_string(view.deviceIndex) +
                               ", others on cuda:" + std::to_string(gpuOfConstants) +
                               "; move all to one device");
    }
    gpuOfConstants = view.deviceIndex;
  }
  host.retainTensor(handle);
  constantSlots.emplace_back(constant.tensor(), slotOfView(handle, view));
  return Status::ok();
}

std::unique_ptr<RunState> PlanExecutor::takeState() {
  if (RunState *state = idleState.exchange(nullptr, std::memory_order_acquire)) {
    return std::unique_ptr<RunState>(state);
  }
  {
    std::lock_guard<std::mutex> guard(stateLock);
    if (!moreStates.empty()) {
      std::unique_ptr<RunState> state = std::move(moreStates.back());
      moreStates.pop_back();
      return state;
    }
  }
  auto state = std::make_unique<RunState>();
  state->ints = decoded->initialInts;
  state->floats = decoded->initialFloats;
  state->tensors.resize(decoded->tensors.size());
  state->views.resize(inputSpecs.size());
  state->pointers.resize(decoded->maxPointers);
  state->kernelInts.resize(decoded->maxInts);
  state->kernelFloats.resize(decoded->maxFloats);
  state->sizes.resize(decoded->maxRank);
  state->strides.resize(decoded->maxRank);
  state->variantCounts.resize(decoded->variantCounts);
  return state;
}

void PlanExecutor::returnState(std::unique_ptr<RunState> state) {
  RunState *expected = nullptr;
  if (idleState.compare_exchange_strong(expected, state.get(), std::memory_order_release)) {
    (void)state.release(); // idleState owns it now.
    return;
  }
  std::lock_guard<std::mutex> guard(stateLock);
  moreStates.push_back(std::move(state));
}

Status PlanExecutor::run(std::span<InputValue> inputs, std::span<OutputValue> outputs) {
  Status status = runOnce(inputs, outputs, /*mayRestart=*/false);
  releaseArguments(inputs);
  return status;
}

Status PlanExecutor::tryRun(std::span<InputValue> inputs, std::span<OutputValue> outputs) {
  return runOnce(inputs, outputs, /*mayRestart=*/true);
}

Status PlanExecutor::runOnce(std::span<InputValue> inputs, std::span<OutputValue> outputs,
                             bool mayRestart) {
  std::unique_ptr<RunState> state = takeState();
  state->mayRestart = mayRestart;
  Status status = enter(*state, inputs);
  bool isEntered = status.isOk();
  size_t reached = 0;
  if (isEntered) {
    status = walk(*state, reached);
    if (status.isOk() && state->keepsArguments && !effects.branches) {
      promisesKept.store(true, std::memory_order_relaxed);
    }
  }
  bool isGivenBack =
      !status.isOk() &&
      (status.kind() == ErrorKind::BadInput ? !isEntered : canRestart(*state, status, reached));
  if (isGivenBack) {
    if (status.kind() == ErrorKind::Disagreement) {
      status = Status::error(ErrorKind::BadInput, status.message());
    }
    restart(*state, inputs);
    status = std::move(status).runAgain();
  }
  if (status.isOk() && !state->copies.empty()) {
    status = writeBack(*state);
  }
  if (status.isOk()) {
    status = collect(*state, inputs, outputs);
  }
  if (status.isOk() && decoded->paddedElements != kNoRegister) {
    counts.paddedElements.fetch_add(static_cast<uint64_t>(state->ints[decoded->paddedElements]),
                                    std::memory_order_relaxed);
    counts.logicalElements.fetch_add(static_cast<uint64_t>(state->ints[decoded->logicalElements]),
                                     std::memory_order_relaxed);
  }
  leave(*state);
  returnState(std::move(state));
  if (!isGivenBack) {
    releaseArguments(inputs);
  }
  return status;
}

Status PlanExecutor::walk(RunState &state, size_t &reached) {
  int64_t *ints = state.ints.data();
  for (; reached < decoded->steps.size(); ++reached) {
    const DecodedStep &step = decoded->steps[reached];
    switch (step.kind) {
    case StepKind::Eval:
      if (ScalarError error = runProgram(decoded->programs[step.a], ints, state.floats.data());
          error != ScalarError::None) {
        return statusOf(error);
      }
      break;
    case StepKind::Alloc:
      FRIT_RETURN_IF_ERROR(allocate(state, step));
      break;
    case StepKind::Reuse:
      FRIT_RETURN_IF_ERROR(reuse(state, step.a, step.b));
      break;
    case StepKind::Free:
      if (!state.defersFrees || !isArgument[step.a]) {
        release(state, step.a);
      }
      break;
    case StepKind::View:
      if (step.flag) {
        FRIT_RETURN_IF_ERROR(checkShape(state, step.a, step.b));
      }
      FRIT_RETURN_IF_ERROR(view(state, step.a, step.b, step.c == kNoRegister ? 0 : ints[step.c],
                                state.tensors[step.b].lazy));
      break;
    case StepKind::Launch:
      FRIT_RETURN_IF_ERROR(launch(state, decoded->sites[step.a]));
      break;
    case StepKind::Aten:
      state.atenCalls += 1;
      FRIT_RETURN_IF_ERROR(host.callAten(step.a, state));
      break;
    case StepKind::CopyInto:
      FRIT_RETURN_IF_ERROR(host.copyInto(state.tensors[step.a], state.tensors[step.b]));
      break;
    case StepKind::Touch:
      host.bumpVersion(state.tensors[step.a]);
      break;
    case StepKind::Dim: {
      TensorView tensor = host.viewOf(state.tensors[step.a].handle);
      if (step.b >= tensor.rank) {
        return Status::error(ErrorKind::Runtime, "a call returned a tensor of " +
                                                     std::to_string(tensor.rank) +
                                                     " dimensions where dimension " +
                                                     std::to_string(step.b) + " was expected");
      }
      ints[step.c] = tensor.sizes[step.b];
      break;
    }
    case StepKind::Item: {
      int64_t integer = 0;
      double real = 0;
      FRIT_RETURN_IF_ERROR(host.readItem(state.tensors[step.a], &integer, &real));
      if (step.flag) {
        state.floats[step.b] = real;
      } else {
        ints[step.b] = integer;
      }
      break;
    }
    case StepKind::Wrap: {
      TensorSlot &slot = state.tensors[step.a];
      FRIT_RETURN_IF_ERROR(host.wrapScalar(decoded->tensors[step.a].dtype,
                                           step.flag ? 0 : ints[step.b],
                                           step.flag ? state.floats[step.b] : 0, slot));
      slot.owner = TensorSlot::Owner::Handle;
      break;
    }
    case StepKind::Check:
      if (ints[step.a] == 0) {
        return Status::error(ErrorKind::Runtime, decoded->checkMessages[step.b]);
      }
      break;
    }
  }
  return Status::ok();
}

TensorShape PlanExecutor::shapeOf(RunState &state, uint32_t tensor) const {
  const TensorType &type = decoded->tensors[tensor];
  for (size_t dim = 0; dim < type.sizes.size(); ++dim) {
    state.sizes[dim] = state.ints[type.sizes[dim]];
    state.strides[dim] = state.ints[type.strides[dim]];
  }
  return {{state.sizes.data(), type.sizes.size()},
          {state.strides.data(), type.sizes.size()},
          type.dtype,
          type.device};
}

Status PlanExecutor::allocate(RunState &state, const DecodedStep &step) {
  TensorSlot &slot = state.tensors[step.a];
  const TensorType &type = decoded->tensors[step.a];
  int64_t signedBytes = state.ints[step.b];
  if (signedBytes < 0) {
    return Status::error(ErrorKind::Runtime, "graph '" +
                                                 std::string(decoded->artifact->graphName()) +
                                                 "' would allocate " + std::to_string(signedBytes) +
                                                 " bytes: a size in this call is negative");
  }
  auto bytes = static_cast<uint64_t>(signedBytes);
  if (step.c != kNoRegister && !type.needsHandle && !host.separateBuffers()) {
    int64_t offset = state.ints[step.c];
    if (offset < 0 || static_cast<uint64_t>(offset) > state.arenaBytes ||
        bytes > state.arenaBytes - static_cast<uint64_t>(offset)) {
      return Status::error(ErrorKind::BadArtifact,
                           "graph '" + std::string(decoded->artifact->graphName()) +
                               "': tensor register " + std::to_string(step.a) +
                               " lies outside of the arena; compile the artifact again");
    }
    slot.data = static_cast<char *>(state.arena) + offset;
    return Status::ok();
  }
  state.allocations += 1;
  state.held.add(bytes);
  slot.bytes = bytes;
  slot.isTemporary = step.flag == static_cast<uint8_t>(format::StorageClass::Temporary);
  if (slot.isTemporary) {
    state.heldTemporaries.add(bytes);
  }
  uint64_t capacity = 0;
  if (type.capacity != kNoRegister && type.device == format::Device::Cpu && bytes >= kKeptBytes &&
      !host.separateBuffers()) {
    capacity =
        std::max(bytes, static_cast<uint64_t>(std::max<int64_t>(state.ints[type.capacity], 0)));
  }
  if (type.needsHandle) {
    TensorShape shape = shapeOf(state, step.a);
    shape.capacity = capacity;
    shape.offset = type.offset == kNoRegister ? 0 : state.ints[type.offset];
    if (shape.offset < 0) {
      return Status::error(ErrorKind::BadArtifact,
                           "graph '" + std::string(decoded->artifact->graphName()) +
                               "': tensor register " + std::to_string(step.a) +
                               " begins before its storage; compile the artifact again");
    }
    FRIT_RETURN_IF_ERROR(host.allocateTensor(shape, slot));
    slot.owner = TensorSlot::Owner::Handle;
    return Status::ok();
  }
  slot.allocation =
      capacity ? host.takeBlock(type.device, capacity) : host.allocateRaw(type.device, bytes);
  if (!slot.allocation) {
    return outOfMemory(bytes);
  }
  slot.data = slot.allocation;
  slot.owner = capacity ? TensorSlot::Owner::Block : TensorSlot::Owner::Raw;
  return Status::ok();
}

Status PlanExecutor::view(RunState &state, uint32_t tensor, uint32_t source, int64_t offset,
                          LazyBits lazy) {
  TensorSlot &slot = state.tensors[tensor];
  const TensorSlot &from = state.tensors[source];
  const TensorType &type = decoded->tensors[tensor];
  if (type.needsHandle || from.lazy != kPlain) {
    TensorShape shape = shapeOf(state, tensor);
    shape.lazy = lazy;
    FRIT_RETURN_IF_ERROR(host.viewTensor(from, shape, offset, slot));
    slot.owner = TensorSlot::Owner::Handle;
    return Status::ok();
  }
  slot.data = from.data ? static_cast<char *>(from.data) +
                              offset * static_cast<int64_t>(bytesOf(type.dtype))
                        : nullptr;
  return Status::ok();
}

Status PlanExecutor::reuse(RunState &state, uint32_t tensor, uint32_t from) {
  if (decoded->tensors[tensor].needsHandle || state.tensors[from].lazy != kPlain) {
    // Values are written there without lazy bits.
    FRIT_RETURN_IF_ERROR(view(state, tensor, from, 0, kPlain));
    // The storage continues under the new register: its bytes are counted there until that is
    // freed.
    state.tensors[tensor].bytes = std::exchange(state.tensors[from].bytes, 0);
    state.tensors[tensor].isTemporary = state.tensors[from].isTemporary;
    release(state, from);
    return Status::ok();
  }
  state.tensors[tensor] = std::exchange(state.tensors[from], TensorSlot());
  return Status::ok();
}

/// Whether a variant may run on the pointers and sizes of a launch.
static bool holds(const DecodedVariant &variant, const RunState &state) {
  if (variant.guard != kNoRegister && state.ints[variant.guard] == 0) {
    return false;
  }
  uintptr_t bits = 0;
  for (const format::PointerBits &pointer : variant.aligned) {
    bits |= reinterpret_cast<uintptr_t>(state.pointers[pointer.tensor()]) & pointer.mask();
  }
  return bits == 0;
}

Status PlanExecutor::launch(RunState &state, const LaunchSite &site) {
  uint8_t lazy = kPlain;
  for (size_t at = 0; at < site.tensors.size(); ++at) {
    const TensorSlot &slot = state.tensors[site.tensors[at]];
    state.pointers[at] = slot.data;
    lazy |= slot.lazy;
  }
  if (lazy != kPlain) {
    FRIT_RETURN_IF_ERROR(resolve(state, site));
  }
  for (size_t at = 0; at < site.ints.size(); ++at) {
    state.kernelInts[at] = state.ints[site.ints[at]];
  }
  for (size_t at = 0; at < site.floats.size(); ++at) {
    state.kernelFloats[at] = state.floats[site.floats[at]];
  }
  uint32_t chosen = 0;
  if (site.variants.size() > 1) {
    while (chosen + 1 < site.variants.size() && !holds(site.variants[chosen], state)) {
      ++chosen;
    }
    state.variantCounts[site.counts + chosen] += 1;
  }
  const DecodedVariant &variant = site.variants[chosen];
  KernelArguments arguments = {&site,
                               &variant,
                               chosen,
                               state.pointers.data(),
                               state.kernelInts.data(),
                               state.kernelFloats.data(),
                               nullptr,
                               state.ints.data(),
                               state.tensors.data()};
  int64_t workspaceBytes = variant.workspace == kNoRegister ? 0 : state.ints[variant.workspace];
  if (workspaceBytes > 0) {
    arguments.workspace = host.allocateRaw(planDevice, static_cast<uint64_t>(workspaceBytes));
    if (!arguments.workspace) {
      return outOfMemory(static_cast<uint64_t>(workspaceBytes));
    }
    for (HeldBytes *held : {&state.held, &state.heldTemporaries}) {
      held->touch(static_cast<uint64_t>(workspaceBytes));
    }
  }
  state.kernelLaunches += 1;
  void *span = host.beginKernel(arguments);
  Status status = backend.launch(arguments, host);
  if (lazy != kPlain && status.isOk()) {
    status = writeResolved(state);
  }
  if (span) {
    host.endKernel(span);
  }
  if (arguments.workspace) {
    host.freeRaw(planDevice, arguments.workspace);
  }
  return status;
}

Status PlanExecutor::collect(RunState &state, std::span<InputValue> inputs,
                             std::span<OutputValue> outputs) {
  auto fill = [&](const OutputSpec &spec, OutputValue &output) -> Status {
    using Kind = OutputValue::Kind;
    switch (spec.kind) {
    case OutputKind::Tensor: {
      TensorSlot &slot = state.tensors[spec.reg];
      output.kind = Kind::Tensor;
      output.handle = slot.handle;
      if (const auto *sizes = spec.source->base_sizes()) {
        for (uint32_t dim = 0; dim < sizes->size(); ++dim) {
          output.baseSizes.push_back(state.ints[sizes->Get(dim)]);
          output.baseStrides.push_back(state.ints[spec.source->base_strides()->Get(dim)]);
        }
      }
      if (slot.owner == TensorSlot::Owner::Handle) {
        slot.owner = TensorSlot::Owner::Nothing;
      } else {
        host.retainTensor(slot.handle);
      }
      if (!state.copies.empty()) {
        TensorSlot result;
        result.handle = output.handle;
        FRIT_RETURN_IF_ERROR(ontoOriginal(state, result));
        output.handle = result.handle;
      }
      return Status::ok();
    }
    case OutputKind::Int:
    case OutputKind::Bool:
      output.kind = spec.kind == OutputKind::Int ? Kind::Int : Kind::Bool;
      output.integer = state.ints[spec.reg];
      return Status::ok();
    case OutputKind::Float:
      output.kind = Kind::Float;
      output.real = state.floats[spec.reg];
      return Status::ok();
    case OutputKind::None:
      output.kind = Kind::None;
      return Status::ok();
    case OutputKind::Input: {
      const InputValue &input = inputs[spec.reg];
      output.kind = static_cast<Kind>(input.kind);
      output.integer = input.integer;
      output.real = input.real;
      output.handle = input.handle;
      if (output.handle) {
        host.retainTensor(output.handle);
      }
      return Status::ok();
    }
    case OutputKind::IntTensor:
    case OutputKind::FloatTensor: {
      TensorSlot slot;
      bool real = spec.kind == OutputKind::FloatTensor;
      FRIT_RETURN_IF_ERROR(host.wrapScalar(spec.dtype, real ? 0 : state.ints[spec.reg],
                                           real ? state.floats[spec.reg] : 0, slot));
      output.kind = Kind::Tensor;
      output.handle = slot.handle;
      return Status::ok();
    }
    }
    return Status::ok();
  };
  for (size_t number = 0; number < outputSpecs.size(); ++number) {
    if (Status status = fill(outputSpecs[number], outputs[number]); !status.isOk()) {
      for (OutputValue &output : outputs.first(number)) {
        if (output.handle) {
          host.releaseTensor(std::exchange(output.handle, nullptr));
        }
        output.kind = OutputValue::Kind::None;
      }
      return status;
    }
  }
  return Status::ok();
}

void PlanExecutor::release(RunState &state, uint32_t tensor) {
  TensorSlot &slot = state.tensors[tensor];
  state.held.drop(slot.bytes);
  if (slot.isTemporary) {
    state.heldTemporaries.drop(slot.bytes);
  }
  switch (slot.owner) {
  case TensorSlot::Owner::Nothing:
    break;
  case TensorSlot::Owner::Raw:
    host.freeRaw(decoded->tensors[tensor].device, slot.allocation);
    break;
  case TensorSlot::Owner::Block:
    host.giveBlock(decoded->tensors[tensor].device, slot.allocation);
    break;
  case TensorSlot::Owner::Handle:
    host.releaseTensor(slot.handle);
    break;
  }
  slot = TensorSlot();
}

void PlanExecutor::leave(RunState &state) {
  for (uint32_t tensor = 0; tensor < state.tensors.size(); ++tensor) {
    if (state.tensors[tensor].owner != TensorSlot::Owner::Nothing) {
      release(state, tensor);
    } else {
      state.tensors[tensor] = TensorSlot();
    }
  }
  dropCopies(state);
  dropResolved(state);
  dropKept(state);
  if (state.arena) {
    host.giveBlock(planDevice, std::exchange(state.arena, nullptr));
    state.arenaBytes = 0;
  }
  auto add = [](std::atomic<uint64_t> &counter, uint64_t &value) {
    if (value != 0) {
      counter.fetch_add(value, std::memory_order_relaxed);
      value = 0;
    }
  };
  counts.calls.fetch_add(1, std::memory_order_relaxed);
  add(counts.kernelLaunches, state.kernelLaunches);
  add(counts.atenCalls, state.atenCalls);
  add(counts.allocations, state.allocations);
  for (uint32_t at = 0; at < decoded->variantCounts; ++at) {
    add(variantTotals[at], state.variantCounts[at]);
  }
  auto raise = [](std::atomic<uint64_t> &counter, HeldBytes &held) {
    uint64_t known = counter.load(std::memory_order_relaxed);
    while (held.peak > known &&
           !counter.compare_exchange_weak(known, held.peak, std::memory_order_relaxed)) {
    }
    held = HeldBytes();
  };
  raise(counts.peakBytes, state.held);
  raise(counts.temporaryBytes, state.heldTemporaries);
}

} // namespace frit
