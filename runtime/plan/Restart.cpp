// If an operator returns another result than its fake kernel promised, or if the program raises an
// error, the call starts again and runs the traced graph. So its arguments, their values and the
// generators must still be what they were at entry. Steps run in another order than the program's,
// so only the traced graph knows which of two errors is the first, and what stands before it.
//
// An operator that keeps its promise in the first call of a plan is trusted from
// then on: later calls free and overwrite arguments as the plan says. A plan with control flow is
// never trusted, because a later call may take another branch.

#include "runtime/plan/PlanExecutor.h"

#include <algorithm>

namespace frit {

/// A register is fresh if its storage was allocated in this call: nobody else sees what is written
/// there.
void PlanExecutor::findEffects() {
  std::vector<bool> isFresh(decoded->tensors.size());
  isArgument.resize(decoded->tensors.size());
  for (const InputSpec &input : inputSpecs) {
    if (input.kind == format::InputKind::Tensor || input.kind == format::InputKind::ScalarTensor) {
      isArgument[input.reg] = true;
    }
  }
  const std::vector<DecodedStep> &steps = decoded->steps;
  for (size_t at = 0; at < steps.size(); ++at) {
    const DecodedStep &step = steps[at];
    bool writes = false, isIrreversible = false, promises = false;
    switch (step.kind) {
    case StepKind::Alloc:
    case StepKind::Wrap:
      isFresh[step.a] = true;
      break;
    case StepKind::Reuse:
      writes = isArgument[step.b];
      isFresh[step.a] = isFresh[step.b];
      break;
    case StepKind::View:
      promises = step.flag;
      isFresh[step.a] = isFresh[step.b];
      break;
    case StepKind::CopyInto:
      writes = !isFresh[step.a];
      break;
    case StepKind::Launch:
      effects.mayRaise |= decoded->source->kernels()->Get(decoded->sites[step.a].kernel)->raises();
      // A kernel that writes an argument is followed by the steps that say so.
      writes = at + 1 < steps.size() && steps[at + 1].kind == StepKind::Touch;
      break;
    case StepKind::Aten: {
      CallTraits traits = host.traitsOf(step.a);
      effects.mayRaise |= decoded->atenCalls[step.a]->raises();
      effects.branches |= traits.isControlFlow;
      promises = traits.isUnproven;
      if (traits.isRandom) {
        effects.firstDraw = std::min(effects.firstDraw, at);
      }
      isIrreversible = traits.isIrreversible;
      writes = std::any_of(traits.written.begin(), traits.written.end(),
                           [&](uint32_t tensor) { return !isFresh[tensor]; });
      break;
    }
    case StepKind::Check:
    case StepKind::Eval:
      effects.mayRaise = true;
      break;
    case StepKind::Free:
    case StepKind::Touch:
    case StepKind::Dim:
    case StepKind::Item:
      break;
    }
    if (writes) {
      effects.firstWrite = std::min(effects.firstWrite, at);
    }
    if (writes || isIrreversible) {
      effects.firstIrreversible = std::min(effects.firstIrreversible, at);
    }
    if (promises) {
      effects.lastPromise = at;
    }
  }
}

/// Arguments stay in their registers until the call ends, so that it costs nothing to keep them.
void PlanExecutor::keepArguments(RunState &state) {
  bool forErrors = repeatsErrors && effects.mayRaise && planDevice == format::Device::Cpu;
  state.keepsArguments = effects.lastPromise && !promisesKept.load(std::memory_order_relaxed);
  state.defersFrees = state.keepsArguments || forErrors;
  if (effects.drawsBeforePromise() || (forErrors && effects.firstDraw != kNoStep)) {
    state.random = host.saveRandom(state.gpu);
  }
}

/// Whether the arguments are still there and as they were, so that the caller can run the call
/// again: because an operator broke its promise, or because of an error of the program, which
/// another run raises as eager does. A lack of memory is no such error, nor is one of a GPU.
bool PlanExecutor::canRestart(const RunState &state, const Status &status, size_t reached) const {
  bool mayRepeat = state.mayRestart && repeatsErrors && reached < effects.firstIrreversible &&
                   planDevice == format::Device::Cpu;
  switch (status.kind()) {
  case ErrorKind::Disagreement:
    return reached < effects.firstWrite || (state.keepsArguments && effects.writesBeforePromise());
  case ErrorKind::Pending:
    return mayRepeat && host.isRepeatable();
  case ErrorKind::Index:
  case ErrorKind::ZeroDivision:
  case ErrorKind::Overflow:
  case ErrorKind::Value:
  case ErrorKind::Runtime:
    return mayRepeat;
  default:
    return false;
  }
}

void PlanExecutor::restart(RunState &state, std::span<InputValue> inputs) {
  if (state.random) {
    host.restoreRandom(*state.random);
  }
  giveBack(state, inputs);
}

void PlanExecutor::releaseArguments(std::span<InputValue> inputs) {
  for (InputValue &input : inputs) {
    if (input.handle) {
      host.releaseTensor(std::exchange(input.handle, nullptr));
    }
  }
}

/// Returns the arguments from their registers to the caller.
void PlanExecutor::giveBack(RunState &state, std::span<InputValue> inputs) {
  for (InputCopy &copy : state.copies) {
    if (!inputs[copy.input].handle) {
      host.retainTensor(copy.original.handle);
      inputs[copy.input].handle = copy.original.handle;
    }
  }
  for (size_t number = 0; number < std::min(inputs.size(), inputSpecs.size()); ++number) {
    InputValue &input = inputs[number];
    const InputSpec &spec = inputSpecs[number];
    bool isTensor =
        spec.kind == format::InputKind::Tensor || spec.kind == format::InputKind::ScalarTensor;
    if (isTensor && input.kind == InputValue::Kind::Tensor && !input.handle) {
      input.handle = std::exchange(state.tensors[spec.reg], TensorSlot()).handle;
    }
  }
}

void PlanExecutor::dropKept(RunState &state) {
  state.random.reset();
  state.keepsArguments = state.defersFrees = false;
}

} // namespace frit
