// Computes convolutions and their epilogues with the runtime's kernel instead of ATen's.

#include "runtime/torch/AtenCall.h"

#include "runtime/torch/Bridge.h"
#include "runtime/torch/ParallelFor.h"
#include "runtime/torch/ProfilerSpan.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/constant_pad_nd.h>

namespace frit {

/// Returns the result; nullopt if ATen has to compute it.
std::optional<at::Tensor> AtenCall::runOwnConvolution(const DecodedPlan &plan,
                                                      RunState &state) const {
  if (!convolution) {
    return std::nullopt;
  }
  const uint32_t registers[] = {convolution->input, convolution->weight, convolution->bias,
                                convolution->scale, convolution->shift,  convolution->added};
  std::optional<TensorView> views[6];
  const TensorView *given[6] = {};
  for (size_t at = 0; at < 6; ++at) {
    if (registers[at] != kNoRegister) {
      const TensorSlot &slot = state.tensors[registers[at]];
      views[at] = makeView(*implOf(slot.handle), slot.data, slot.lazy);
      given[at] = &*views[at];
    }
  }
  std::optional<Convolution> work =
      convolutionFrom(*convolution, {given[0], given[1], given[2], given[3], given[4], given[5]});
  if (!work || !isConvolutionFaster(*work, convolutionLanes())) {
    return std::nullopt;
  }
  auto span = beginCallSpan("frit::convolution", plan, *source, state, registers);
  at::Tensor result(at::detail::empty_cpu(
      {work->images, work->outputs, work->resultHeight, work->resultWidth}, c10::kFloat,
      /*pin_memory=*/false, c10::MemoryFormat::ChannelsLast));
  work->result = result.mutable_data_ptr<float>();
  work->packed = packed.get();
  runConvolution(*work, parallelForOnTorchThreads);
  if (!isPaddingNeutral(*work, parallelForOnTorchThreads)) {
    return std::nullopt;
  }
  ownConvolutions.fetch_add(1, std::memory_order_relaxed);
  return result;
}

/// The arguments of aten::convolution for the call. Zeros that the program writes are written.
void AtenCall::padConvolution(std::vector<c10::IValue> &arguments) const {
  if (!convolution->isPaddingWritten) {
    return;
  }
  const int64_t *before = convolution->padding, *behind = convolution->paddingBehind;
  arguments[0] =
      at::constant_pad_nd(arguments[0].toTensor(), {before[1], behind[1], before[0], behind[0]}, 0);
  arguments[4] = std::vector<int64_t>{0, 0};
}

/// Computes the epilogue of a convolution with operators of ATen.
at::Tensor AtenCall::finishConvolution(at::Tensor result, RunState &state) const {
  auto tensor = [&](uint32_t reg) { return at::Tensor(tensorOf(state.tensors[reg].handle)); };
  auto channels = [&](uint32_t reg) { return tensor(reg).view({-1, 1, 1}); };
  if (convolution->scale != kNoRegister) {
    result.mul_(channels(convolution->scale));
  }
  if (convolution->shift != kNoRegister) {
    result.add_(channels(convolution->shift));
  }
  if (convolution->added != kNoRegister) {
    result.add_(tensor(convolution->added));
  }
  if (convolution->low || convolution->high) {
    auto limit = [](std::optional<float> value) {
      return value ? std::optional<c10::Scalar>(*value) : std::nullopt;
    };
    result = at::clamp(result, limit(convolution->low), limit(convolution->high));
  }
  return result;
}

} // namespace frit
