// Computes matrix products with the runtime's kernel instead of ATen's.

#include "runtime/torch/AtenCall.h"

#include "runtime/torch/Bridge.h"
#include "runtime/torch/ParallelFor.h"
#include "runtime/torch/ProfilerSpan.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>

namespace frit {

/// Returns the result; nullopt if ATen has to compute it.
std::optional<at::Tensor> AtenCall::runOwnProduct(const DecodedPlan &plan, RunState &state) const {
  if (!product) {
    return std::nullopt;
  }
  auto view = [&](uint32_t reg) {
    const TensorSlot &slot = state.tensors[reg];
    return makeView(*implOf(slot.handle), slot.data, slot.lazy);
  };
  std::optional<TensorView> added;
  if (product->added != kNoRegister) {
    added = view(product->added);
  }
  std::optional<Product> work =
      productFrom(view(product->left), view(product->right), added ? &*added : nullptr);
  if (!work || !isProductFaster(*work, productMachine())) {
    return std::nullopt;
  }
  const uint32_t operands[] = {product->left, product->right, product->added};
  auto span = beginCallSpan("frit::product", plan, *source, state, operands);
  at::Tensor result(at::detail::empty_cpu({work->rows, work->columns}, c10::kFloat));
  work->result = result.mutable_data_ptr<float>();
  work->resultStride = work->columns;
  work->packed = packed.get();
  runProduct(*work, parallelForOnTorchThreads);
  ownProducts.fetch_add(1, std::memory_order_relaxed);
  return result;
}

} // namespace frit
