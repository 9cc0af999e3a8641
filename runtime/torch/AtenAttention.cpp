// Attention that the runtime's own kernel computes for ATen.

#include "runtime/torch/AtenCall.h"

#include "runtime/torch/Bridge.h"
#include "runtime/torch/ParallelFor.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

namespace frit {

/// The first result; nullopt if the operands are for ATen. The result has the strides that the plan
/// promises, those of ATen's.
std::optional<at::Tensor> AtenCall::runOwnAttention(const DecodedPlan &plan,
                                                    RunState &state) const {
  if (!attention) {
    return std::nullopt;
  }
  const TensorType &type = plan.tensors[attention->result];
  if (type.rank != 4 || !type.hasStrides || state.ints[type.strides[3]] != 1) {
    return std::nullopt;
  }
  auto view = [&](uint32_t reg) {
    const TensorSlot &slot = state.tensors[reg];
    return makeView(*implOf(slot.handle), slot.data, slot.lazy);
  };
  std::optional<TensorView> mask;
  if (attention->mask != kNoRegister) {
    mask = view(attention->mask);
  }
  std::optional<Attention> work =
      attentionFrom(*attention, view(attention->query), view(attention->key),
                    view(attention->value), mask ? &*mask : nullptr);
  if (!work || !isAttentionFaster(*work, productLanes())) {
    return std::nullopt;
  }
  RECORD_FUNCTION("frit::attention", c10::ArrayRef<const c10::IValue>());
  work->resultStrides = {state.ints[type.strides[0]], state.ints[type.strides[1]],
                         state.ints[type.strides[2]]};
  at::Tensor result(at::detail::empty_strided_cpu(
      {work->batches, work->heads, work->queries, work->depth},
      {work->resultStrides.batch, work->resultStrides.head, work->resultStrides.row, 1},
      c10::kFloat));
  work->result = result.mutable_data_ptr<float>();
  runAttention(*work, parallelForOnTorchThreads);
  ownAttention.fetch_add(1, std::memory_order_relaxed);
  return result;
}

} // namespace frit
