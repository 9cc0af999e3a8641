// Computes topk and sort with the runtime's kernel instead of ATen's.

#include "runtime/torch/AtenCall.h"

#include "runtime/torch/Bridge.h"
#include "runtime/torch/ParallelFor.h"
#include "runtime/torch/ProfilerSpan.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/topk.h>

#include <algorithm>

namespace frit {

/// If most rows have equal numbers, so many calls of the same step go to ATen at once.
constexpr int32_t kPauseAfterTies = 16;

/// Returns the values and their places; nullopt if ATen has to compute them.
std::optional<std::pair<at::Tensor, at::Tensor>> AtenCall::runOwnOrder(const DecodedPlan &plan,
                                                                       RunState &state) const {
  if (!order || (ordersPaused.load(std::memory_order_relaxed) > 0 &&
                 ordersPaused.fetch_sub(1, std::memory_order_relaxed) > 0)) {
    return std::nullopt;
  }
  const TensorSlot &slot = state.tensors[order->input];
  TensorView view = makeView(*implOf(slot.handle), slot.data, slot.lazy);
  int64_t count =
      order->countRegister == kNoRegister ? order->count : state.ints[order->countRegister];
  std::optional<OrderedRows> work = rowsFrom(*order, view, count);
  if (!work) {
    return std::nullopt;
  }
  const uint32_t operands[] = {order->input};
  auto span =
      beginCallSpan(order->isTopK ? "frit::topk" : "frit::sort", plan, *source, state, operands);
  std::vector<int64_t> sizes(view.sizes, view.sizes + view.rank);
  sizes.back() = work->count;
  at::Tensor values(at::detail::empty_cpu(sizes, c10::kFloat));
  at::Tensor places(at::detail::empty_cpu(sizes, c10::kLong));
  work->values = values.mutable_data_ptr<float>();
  work->places = places.mutable_data_ptr<int64_t>();
  std::vector<int64_t> left = orderRows(*work, parallelForOnTorchThreads);
  if (static_cast<int64_t>(left.size()) * 2 > work->rows) {
    ordersPaused.store(kPauseAfterTies, std::memory_order_relaxed);
    return std::nullopt;
  }
  for (int64_t row : left) {
    at::Tensor numbers = at::from_blob(const_cast<float *>(work->input + row * work->rowStride),
                                       {work->length}, at::kFloat);
    auto [first, where] = order->isTopK ? numbers.topk(work->count, 0, order->descending)
                                        : numbers.sort(0, order->descending);
    auto at = row * work->count;
    std::copy_n(valuesOf<float>(first), work->count, work->values + at);
    std::copy_n(valuesOf<int64_t>(where), work->count, work->places + at);
  }
  ownOrders.fetch_add(1, std::memory_order_relaxed);
  return std::pair(std::move(values), std::move(places));
}

} // namespace frit
