// If an operator returns another result than its fake kernel promised, the call starts again and
// runs the traced graph. So its arguments, their values and the generators must still be what they
// were at entry. An operator that keeps its promise in the first call of a plan is trusted from
// then on: later calls free and overwrite arguments as the plan says. A plan with control flow is
// never trusted, because a later call may take another branch.

#include "runtime/plan/PlanExecutor.h"

#include <algorithm>

namespace frit {

void PlanExecutor::findPromises() {
  bool writes = false, draws = false;
  for (const DecodedStep &step : decoded->steps) {
    bool checks = step.kind == StepKind::View && step.flag;
    if (step.kind == StepKind::Aten) {
      CallTraits traits = host.traitsOf(step.a);
      checks = traits.isUnproven;
      writes |= traits.isMutable;
      draws |= traits.isRandom;
      promises.branches |= traits.isControlFlow;
    }
    writes |= step.kind == StepKind::CopyInto || step.kind == StepKind::Touch;
    if (checks) {
      promises.any = true;
      promises.afterWrites = writes;
      promises.afterDraws = draws;
    }
  }
}

void PlanExecutor::keepArguments(RunState &state) {
  if (!promises.any) {
    return;
  }
  state.keepsArguments = !promises.kept.load(std::memory_order_relaxed);
  for (uint32_t number = 0; state.keepsArguments && number < inputSpecs.size(); ++number) {
    format::InputKind kind = inputSpecs[number].kind;
    if (kind == format::InputKind::Tensor || kind == format::InputKind::ScalarTensor) {
      void *handle = state.tensors[inputSpecs[number].reg].handle;
      host.retainTensor(handle);
      state.kept.emplace_back(number, handle);
    }
  }
  if (promises.afterDraws) {
    state.random = host.saveRandom(state.gpu);
  }
}

bool PlanExecutor::canRestart(const RunState &state) const {
  return !state.wroteInput || (state.keepsArguments && promises.afterWrites);
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
  for (auto &[number, handle] : state.kept) {
    if (!inputs[number].handle) {
      inputs[number].handle = std::exchange(handle, nullptr);
    }
  }
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
  for (auto &[number, handle] : state.kept) {
    if (handle) {
      host.releaseTensor(handle);
    }
  }
  state.kept.clear();
  state.random.reset();
  state.keepsArguments = false;
}

} // namespace frit
