// Computes attention with the runtime's kernel instead of ATen's.

#include "runtime/torch/AtenCall.h"

#include "runtime/torch/Bridge.h"
#include "runtime/torch/ParallelFor.h"
#include "runtime/torch/ProfilerSpan.h"

#include <ATen/DimVector.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>

namespace frit {

/// The strides of ATen's result: those of the query if its elements are dense in memory.
static at::DimVector resultStrides(const c10::TensorImpl &query) {
  return query.is_non_overlapping_and_dense_default()
             ? at::DimVector(query.strides())
             : at::DimVector(at::infer_dense_strides(query.sizes(), query.strides()));
}

/// Returns the first result; nullopt if ATen has to compute it.
std::optional<at::Tensor> AtenCall::runOwnAttention(const DecodedPlan &plan,
                                                    RunState &state) const {
  if (!attention) {
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
  if (!work || !isAttentionFaster(*work, productMachine())) {
    return std::nullopt;
  }
  const c10::TensorImpl &query = *implOf(state.tensors[attention->query].handle);
  at::DimVector strides = resultStrides(query);
  if (strides[3] != 1 && work->depth != 1) {
    return std::nullopt;
  }
  const uint32_t operands[] = {attention->query, attention->key, attention->value, attention->mask};
  auto span = beginCallSpan("frit::attention", plan, *source, state, operands);
  at::Tensor result(at::detail::empty_strided_cpu(query.sizes(), strides, c10::kFloat));
  work->result = result.mutable_data_ptr<float>();
  work->resultStrides = {strides[0], strides[1], strides[2]};
  runAttention(*work, parallelForOnTorchThreads);
  ownAttention.fetch_add(1, std::memory_order_relaxed);
  return result;
}

} // namespace frit
