#include "runtime/cuda/GraphedPlan.h"

#include <algorithm>
#include <bit>

namespace frit {

using format::InputKind;

namespace {

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

GraphedPlan::GraphedPlan(std::shared_ptr<const DecodedPlan> plan, TensorHost &host,
                         CudaBackend &backend, PlanExecutor &executor,
                         std::shared_ptr<Driver> driver, GraphPool &pool,
                         const GraphTensors &tensors, OperatorCapture *operators)
    : decoded(std::move(plan)), host(host), backend(backend), executor(executor),
      driver(std::move(driver)), pool(pool), operators(operators),
      statics(flags(executor.inputCount(), tensors.statics)),
      keptArguments(flags(executor.inputCount(), tensors.keptArguments)),
      keptResults(flags(executor.outputCount(), tensors.keptResults)),
      anyKeptArguments(anyOf(keptArguments)), anyKeptResults(anyOf(keptResults)) {
  for (uint32_t number = 0; number < decoded->atenCalls.size(); ++number) {
    isRandom |= host.traitsOf(number).isRandom;
  }
  whyNever = findWhyNever();
  whyExact = findWhyExact();
}

std::string GraphedPlan::stepNames() const {
  constexpr size_t kLongestNames = 120;
  std::string names;
  for (const DecodedStep &step : decoded->steps) {
    bool isKernel = step.kind == StepKind::Launch;
    if ((isKernel || step.kind == StepKind::Aten) && names.size() < kLongestNames) {
      names += (names.empty() ? "" : ", ") +
               (isKernel ? backend.kernelName(decoded->sites[step.a].kernel)
                         : decoded->atenCalls[step.a]->name()->str());
    }
  }
  return names;
}

uint64_t GraphedPlan::mostLaunches() const {
  uint64_t most = decoded->atenCalls.size();
  for (const LaunchSite &site : decoded->sites) {
    size_t ofSite = 0;
    for (const DecodedVariant &variant : site.variants) {
      ofSite = std::max(ofSite, site.launchesOf(variant));
    }
    most += ofSite;
  }
  return most;
}

std::string GraphedPlan::tooFew(uint64_t launches) {
  return "it launches " + std::to_string(launches) + " kernels, fewer than " +
         std::to_string(kFewestKernels);
}

std::string GraphedPlan::findWhyNever() const {
  if (std::string why = decoded->atenCalls.empty() ? "" : whyNotOperators(); !why.empty()) {
    return why;
  }
  for (const DecodedStep &step : decoded->steps) {
    if (step.kind == StepKind::Item) {
      return "it reads a value back from the GPU";
    }
  }
  for (uint32_t number = 0; number < executor.inputCount(); ++number) {
    const format::Input &input = *decoded->source->inputs()->Get(number);
    if (input.kind() != InputKind::Tensor) {
      continue;
    }
    std::string name = "input " + std::to_string(number) +
                       (input.name() ? " ('" + input.name()->str() + "')" : "");
    if (decoded->tensors[input.reg()].device == format::Device::Cpu) {
      return name + " lies on the CPU";
    }
    if (input.mutated() && !statics[number]) {
      return "it writes to " + name + ", which is no parameter or buffer";
    }
  }
  uint64_t most = mostLaunches();
  if (most < kFewestKernels) {
    return tooFew(most);
  }
  return backend.synchronous ? "FRIT_CUDA_SYNC=1 waits after each kernel" : "";
}

/// Why calls of these operators are never captured; empty if they may be.
std::string GraphedPlan::whyNotOperators() const {
  if (!operators) {
    size_t others = decoded->atenCalls.size() - 1;
    return "it calls " + decoded->atenCalls.front()->name()->str() +
           (others ? " and " + std::to_string(others) + " other operators" : "") +
           ", which take memory of their own";
  }
  for (uint32_t number = 0; number < decoded->atenCalls.size(); ++number) {
    std::string why = host.traitsOf(number).uncapturable;
    if (!why.empty()) {
      return why;
    }
    const format::Aten &call = *decoded->atenCalls[number];
    for (uint32_t at = 0; call.results() && at < call.results()->size(); ++at) {
      const format::Value &value = *call.results()->Get(at);
      if (value.kind() == format::ValueKind::Tensor &&
          decoded->tensors[value.reg()].device == format::Device::Cpu) {
        return "it calls " + call.name()->str() + " on the CPU";
      }
    }
  }
  for (const DecodedStep &step : decoded->steps) {
    if (step.kind == StepKind::Dim) {
      return "a size of a result is known only when it is there";
    }
  }
  return "";
}

/// Why a graph cannot be updated to other sizes; empty if it can.
std::string GraphedPlan::findWhyExact() const {
  if (!decoded->atenCalls.empty()) {
    return "it calls " + decoded->atenCalls.front()->name()->str();
  }
  bool copies =
      std::any_of(decoded->steps.begin(), decoded->steps.end(),
                  [](const DecodedStep &step) { return step.kind == StepKind::CopyInto; });
  return copies ? "it copies into an argument" : "";
}

bool GraphedPlan::findKeys(std::span<const InputValue> inputs, GraphCall &call,
                           std::string &why) const {
  auto &[context, stream, key, exact, fixed] = call;
  fixed = statics;
  std::shared_ptr<GraphLane> lane = anyKeptArguments ? pool.known(context, stream) : nullptr;
  key = {static_cast<int64_t>(reinterpret_cast<uintptr_t>(context)),
         static_cast<int64_t>(reinterpret_cast<uintptr_t>(stream))};
  for (uint32_t number = 0; number < inputs.size(); ++number) {
    const InputValue &input = inputs[number];
    key.push_back(static_cast<int64_t>(input.kind));
    if (input.kind != InputValue::Kind::Tensor) {
      exact.push_back(input.integer);
      exact.push_back(std::bit_cast<int64_t>(input.real));
      continue;
    }
    TensorView view = host.viewOf(input.handle);
    if (view.lazy != kPlain) {
      why = "input " + std::to_string(number) + " is conjugated or negated lazily";
      return false;
    }
    fixed[number] =
        statics[number] || (lane && keptArguments[number] && lane->kept.hold(view.data));
    constexpr int64_t kFixed = 1 << 30;
    key.push_back(static_cast<int64_t>(view.dtype) | static_cast<int64_t>(view.device) << 8 |
                  view.rank << 16 | static_cast<int64_t>(view.deviceIndex) << 32 |
                  (fixed[number] ? kFixed : 0));
    exact.push_back(view.offset);
    exact.insert(exact.end(), view.sizes, view.sizes + view.rank);
    exact.insert(exact.end(), view.strides, view.strides + view.rank);
    InputKind kind = decoded->source->inputs()->Get(number)->kind();
    if (view.device == format::Device::Cpu) {
      if (kind != InputKind::ScalarTensor) {
        why = "input " + std::to_string(number) + " lies on the CPU";
        return false;
      }
      // Kernels get a number by value.
      int64_t integer = 0;
      double real = 0;
      TensorSlot slot;
      slot.data = view.data;
      slot.handle = input.handle;
      if (!host.readItem(slot, &integer, &real).isOk()) {
        why = "input " + std::to_string(number) + " cannot be read";
        return false;
      }
      exact.push_back(integer);
      exact.push_back(std::bit_cast<int64_t>(real));
    } else if (fixed[number]) {
      key.push_back(static_cast<int64_t>(reinterpret_cast<uintptr_t>(view.data)));
    }
  }
  // Arguments that do not fit are reported by the executor.
  if (!whyExact.empty() || !executor.roundedSizes(inputs, key)) {
    key.insert(key.end(), exact.begin(), exact.end());
  }
  return true;
}

bool GraphedPlan::waitsForForward(std::span<const InputValue> inputs,
                                  const std::vector<bool> &fixed) const {
  for (uint32_t number = 0; number < inputs.size(); ++number) {
    if (keptArguments[number] && !fixed[number] &&
        inputs[number].kind == InputValue::Kind::Tensor) {
      return true;
    }
  }
  return false;
}

} // namespace frit
