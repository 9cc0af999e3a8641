// Computes the keys of a plan's graphs, and the reasons why a call cannot become a graph.

#include "runtime/cuda/CudaGraphs.h"

#include <algorithm>
#include <bit>

namespace frit {

using format::InputKind;

std::string CudaGraphs::tooFew(uint64_t launches) {
  return "it launches " + std::to_string(launches) + " kernels, fewer than " +
         std::to_string(CudaGraphs::kFewestKernels);
}

std::string CudaGraphs::whyNever() const {
  if (std::string why = plan->atenCalls.empty() ? "" : whyNotOperators(); !why.empty()) {
    return why;
  }
  for (const DecodedStep &step : plan->steps) {
    if (step.kind == StepKind::Item) {
      return "it reads a value back from the GPU";
    }
  }
  for (uint32_t number = 0; number < executor.inputCount(); ++number) {
    const format::Input &input = *plan->source->inputs()->Get(number);
    if (input.kind() != InputKind::Tensor) {
      continue;
    }
    std::string name = "input " + std::to_string(number) +
                       (input.name() ? " ('" + input.name()->str() + "')" : "");
    if (plan->tensors[input.reg()].device == format::Device::Cpu) {
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

/// Why a graph cannot be updated to other sizes; empty if it can.
std::string CudaGraphs::whyExact() const {
  if (!plan->atenCalls.empty()) {
    return "it calls " + plan->atenCalls.front()->name()->str();
  }
  bool copies = std::any_of(plan->steps.begin(), plan->steps.end(), [](const DecodedStep &step) {
    return step.kind == StepKind::CopyInto;
  });
  return copies ? "it copies into an argument" : "";
}

bool CudaGraphs::keysOf(std::span<const InputValue> inputs, DriverContext context,
                        DriverStream stream, Key &key, Key &exact, std::vector<bool> &fixed,
                        std::string &why) const {
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
    TensorView view = host.look(input.handle);
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
    InputKind kind = plan->source->inputs()->Get(number)->kind();
    if (view.device == format::Device::Cpu) {
      if (kind != InputKind::ScalarTensor) {
        why = "input " + std::to_string(number) + " lies on the CPU";
        return false;
      }
      // A number that kernels get by value.
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
  if (!onlyExact.empty() || !executor.roundedSizes(inputs, key)) {
    key.insert(key.end(), exact.begin(), exact.end());
  }
  return true;
}

/// Whether the call has saved tensors of a forward that do not lie in a graph's memory, although
/// forwards may become graphs.
bool CudaGraphs::waitsForForward(std::span<const InputValue> inputs,
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
