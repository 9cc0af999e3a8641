// The arguments of a call: moves them into registers, binds symbols from them, and checks
// everything else against the compiled graph.

#include "runtime/plan/PlanExecutor.h"
#include "runtime/plan/ScalarProgram.h"
#include "runtime/plan/Signature.h"

#include <algorithm>

namespace frit {

using format::InputKind;

Status PlanExecutor::badInput(size_t number, const std::string &what) const {
  const format::Input *input = inputSpecs[number].source;
  std::string origin = input->origin() ? "; assumed by " + input->origin()->str() : "";
  // The operator, the location and the beginning of the source line, because a message is one line.
  constexpr size_t kLongestOrigin = 100;
  if (origin.size() > kLongestOrigin) {
    origin.resize(kLongestOrigin - 3);
    origin += "...";
  }
  return Status::error(ErrorKind::BadInput, "graph '" +
                                                std::string(decoded->artifact->graphName()) +
                                                "', " + inputName(number) + ": " + what + origin);
}

Status PlanExecutor::enter(RunState &state, std::span<InputValue> inputs) {
  if (inputs.size() != inputSpecs.size()) {
    return Status::error(ErrorKind::BadInput, "graph '" +
                                                  std::string(decoded->artifact->graphName()) +
                                                  "' takes " + std::to_string(inputSpecs.size()) +
                                                  " inputs, got " + std::to_string(inputs.size()));
  }
  FRIT_RETURN_IF_ERROR(backend.ready());
  state.gpu = gpuOfConstants;
  // Set again only when everything is computed: after an error, registers of two calls may be
  // mixed.
  bool changed = !std::exchange(state.sizesValid, false);
  for (size_t number = 0; number < inputs.size(); ++number) {
    FRIT_RETURN_IF_ERROR(takeInput(state, number, inputs[number], changed));
  }
  FRIT_RETURN_IF_ERROR(bindSymbols(state, inputs, changed));
  if (!bucketSpecs.empty()) {
    chooseBuckets(state, changed);
  }
  if (changed) {
    counts.sizeEvaluations.fetch_add(1, std::memory_order_relaxed);
    FRIT_RETURN_IF_ERROR(
        statusOf(runProgram(decoded->sizeProgram, state.ints.data(), state.floats.data())));
    FRIT_RETURN_IF_ERROR(checkSizes(state));
  }
  state.sizesValid = true;
  for (size_t number = 0; number < inputs.size(); ++number) {
    const InputSpec &spec = inputSpecs[number];
    if (spec.kind == InputKind::Tensor) {
      Status fits = checkTensor(number, state);
      if (!fits.isOk() && copiesArguments) {
        FRIT_RETURN_IF_ERROR(restride(state, number));
        fits = checkTensor(number, state);
      }
      FRIT_RETURN_IF_ERROR(fits);
    } else if (spec.expected != kNoRegister && state.ints[spec.expected] != state.ints[spec.reg]) {
      return badInput(number, "it is " + std::to_string(state.ints[spec.reg]) +
                                  ", the sizes of this call require " +
                                  std::to_string(state.ints[spec.expected]));
    }
  }
  if (!decoded->addressGuards.empty()) {
    FRIT_RETURN_IF_ERROR(checkAddresses(state));
  }
  for (auto &[tensor, slot] : constantSlots) {
    state.tensors[tensor] = slot;
  }
  if (decoded->source->constants() &&
      constantSlots.size() != decoded->source->constants()->size()) {
    return Status::error(ErrorKind::BadInput,
                         "graph '" + std::string(decoded->artifact->graphName()) + "' needs " +
                             std::to_string(decoded->source->constants()->size()) +
                             " constants, load() was given " +
                             std::to_string(constantSlots.size()));
  }
  if (state.mayRestart) {
    keepArguments(state);
  }
  if (!mutatedInputs.empty()) {
    FRIT_RETURN_IF_ERROR(separateMutated(state));
  }
  return prepareArena(state);
}

/// Moves an argument into its register.
Status PlanExecutor::takeInput(RunState &state, size_t number, InputValue &input, bool &changed) {
  const InputSpec &spec = inputSpecs[number];
  using Kind = InputValue::Kind;
  auto set = [&](uint32_t reg, int64_t value) {
    changed |= state.ints[reg] != value;
    state.ints[reg] = value;
  };
  switch (spec.kind) {
  case InputKind::Tensor:
  case InputKind::ScalarTensor: {
    if (input.kind != Kind::Tensor) {
      return badInput(number, "a tensor is needed");
    }
    TensorView &view = state.views[number];
    view = host.viewOf(input.handle);
    const TensorType &type = decoded->tensors[spec.reg];
    if (view.dtype != type.dtype) {
      return badInput(number, std::string("its dtype is ") + nameOf(view.dtype) +
                                  ", compiled for " + nameOf(type.dtype));
    }
    if (view.rank != type.rank) {
      return badInput(number, "it has " + std::to_string(view.rank) + " dimensions, compiled for " +
                                  std::to_string(type.rank));
    }
    if (view.device != type.device && !spec.onlyCalled) {
      return badInput(number, std::string("it lies on ") + format::EnumNameDevice(view.device) +
                                  ", compiled for " + format::EnumNameDevice(type.device));
    }
    if (view.device == format::Device::Cuda && view.deviceIndex != state.gpu) {
      if (state.gpu >= 0) {
        return badInput(number, "it lies on cuda:" + std::to_string(view.deviceIndex) +
                                    ", others on cuda:" + std::to_string(state.gpu) +
                                    "; move all to one device");
      }
      state.gpu = view.deviceIndex;
    }
    TensorSlot &slot = state.tensors[spec.reg];
    slot = slotOfView(input.handle, view);
    slot.owner = TensorSlot::Owner::Handle;
    if (spec.returned) {
      host.retainTensor(input.handle);
    } else {
      input.handle = nullptr;
    }
    if (spec.kind == InputKind::ScalarTensor) {
      int64_t integer = 0;
      double real = 0;
      FRIT_RETURN_IF_ERROR(host.readItem(slot, &integer, &real));
      if (isFloating(type.dtype)) {
        state.floats[spec.scalar] = real;
      } else {
        set(spec.scalar, integer);
      }
    }
    return Status::ok();
  }
  case InputKind::Int:
  case InputKind::Bool:
    if (input.kind != Kind::Int && input.kind != Kind::Bool) {
      return badInput(
          number,
          "an integer is needed; ragged sizes of nested tensors are not supported, pad them");
    }
    set(spec.reg, input.integer);
    return Status::ok();
  case InputKind::Float:
    if (input.kind == Kind::None || input.kind == Kind::Tensor) {
      return badInput(number, "a float is needed");
    }
    state.floats[spec.reg] =
        input.kind == Kind::Float ? input.real : static_cast<double>(input.integer);
    return Status::ok();
  case InputKind::None:
    return Status::ok();
  }
  return Status::ok();
}

Status PlanExecutor::bindSymbols(RunState &state, std::span<const InputValue> inputs,
                                 bool &changed) {
  for (const SymbolSpec &symbol : symbolSpecs) {
    int64_t size =
        symbol.dim < 0 ? inputs[symbol.input].integer : symbol.in(state.views[symbol.input]);
    std::optional<int64_t> value = symbol.solve(size);
    bool outside = value && (*value < symbol.min || *value > symbol.max);
    if (!value || outside || (symbol.divisor != 1 && *value % symbol.divisor != 0)) {
      std::string wanted = sizeText(*symbol.source),
                  name = symbol.source->name() ? symbol.source->name()->str() : wanted;
      if (wanted != name) {
        wanted += " with " + name;
      }
      return badInput(symbol.input, symbol.what() + " is " + std::to_string(size) +
                                        ", compiled for " + wanted +
                                        (symbol.divisor != 1 && !outside && value
                                             ? ", a multiple of " + std::to_string(symbol.divisor)
                                             : " between " + std::to_string(symbol.min) + " and " +
                                                   std::to_string(symbol.max)));
    }
    changed |= state.ints[symbol.reg] != *value;
    state.ints[symbol.reg] = *value;
  }
  return Status::ok();
}

Status PlanExecutor::checkTensor(size_t number, const RunState &state) const {
  const InputSpec &spec = inputSpecs[number];
  const TensorType &type = decoded->tensors[spec.reg];
  const TensorView &view = state.views[number];
  bool empty = false;
  for (int64_t dim = 0; dim < view.rank; ++dim) {
    int64_t required = state.ints[type.sizes[dim]];
    if (view.sizes[dim] != required) {
      return badInput(number, "its size along dimension " + std::to_string(dim) + " is " +
                                  std::to_string(view.sizes[dim]) + ", compiled for " +
                                  std::to_string(required) + symbolOf(type.sizes[dim]));
    }
    empty |= required == 0;
  }
  if (empty || spec.onlyCalled || !type.hasStrides) {
    return Status::ok();
  }
  for (int64_t dim = 0; dim < view.rank; ++dim) {
    int64_t required = state.ints[type.strides[dim]];
    if (view.strides[dim] != required && view.sizes[dim] != 1) {
      return badInput(number, "its stride along dimension " + std::to_string(dim) + " is " +
                                  std::to_string(view.strides[dim]) + ", compiled for " +
                                  std::to_string(required));
    }
  }
  if (spec.offset != kNoRegister && view.offset != state.ints[spec.offset]) {
    return badInput(number, "its storage offset is " + std::to_string(view.offset) +
                                ", compiled for " + std::to_string(state.ints[spec.offset]));
  }
  return Status::ok();
}

/// Copies an argument to the strides and the offset that the graph was compiled for, if it has the
/// right sizes. A symbol that is read from a stride was read from those that it has.
Status PlanExecutor::restride(RunState &state, size_t number) {
  const InputSpec &spec = inputSpecs[number];
  TensorView &view = state.views[number];
  TensorShape shape = shapeOf(state, spec.reg);
  if (!std::equal(shape.sizes.begin(), shape.sizes.end(), view.sizes) ||
      std::any_of(symbolSpecs.begin(), symbolSpecs.end(), [&](const SymbolSpec &symbol) {
        return symbol.stride && symbol.input == number;
      })) {
    return Status::ok();
  }
  shape.offset = spec.offset == kNoRegister ? 0 : state.ints[spec.offset];
  TensorSlot copy;
  FRIT_RETURN_IF_ERROR(host.allocateTensor(shape, copy));
  copy.owner = TensorSlot::Owner::Handle;
  TensorSlot &slot = state.tensors[spec.reg];
  Status status = host.copyInto(copy, slot);
  host.releaseTensor(slot.handle);
  slot = copy;
  view = host.viewOf(copy.handle);
  counts.restridedArguments.fetch_add(1, std::memory_order_relaxed);
  return status;
}

Status PlanExecutor::prepareArena(RunState &state) {
  if (decoded->arenaBytes == kNoRegister || host.separateBuffers()) {
    return Status::ok();
  }
  int64_t bytes = state.ints[decoded->arenaBytes];
  if (bytes <= 0) {
    return bytes == 0 ? Status::ok()
                      : Status::error(ErrorKind::BadArtifact,
                                      "graph '" + std::string(decoded->artifact->graphName()) +
                                          "': the arena has " + std::to_string(bytes) +
                                          " bytes; compile the artifact again");
  }
  state.arena = host.takeBlock(planDevice, static_cast<uint64_t>(bytes));
  if (!state.arena) {
    return Status::error(ErrorKind::OutOfMemory, "out of memory: cannot allocate " +
                                                     std::to_string(bytes) +
                                                     " bytes for temporaries");
  }
  state.arenaBytes = static_cast<uint64_t>(bytes);
  state.allocations += 1;
  state.held.add(state.arenaBytes);
  state.heldTemporaries.add(state.arenaBytes);
  return Status::ok();
}

} // namespace frit
