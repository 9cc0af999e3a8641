// A prepared call through the dispatcher. The operator is looked up, and literals and defaults are
// in a stack that each call copies, so only values from registers are filled in. Values are
// converted by the schema's types, as torch's own argument parser does: a number becomes a wrapped
// number where a tensor is needed, an int becomes a float where a float is.

#pragma once

#include "runtime/cpu/AttentionCall.h"
#include "runtime/cpu/ConvolutionCall.h"
#include "runtime/cpu/OrderCall.h"
#include "runtime/cpu/ProductCall.h"
#include "runtime/plan/PlanExecutor.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>
#include <stdexcept>

namespace frit {

class AtenCall {
public:
  /// Looks up the operator and converts literals; fails if the installed torch lacks the operator
  /// or its schema differs.
  /// `frozen`: see frozenTensors.
  static Result<AtenCall> prepare(const DecodedPlan &plan, const format::Aten &source,
                                  const std::vector<bool> &frozen);

  AtenCall(AtenCall &&other) noexcept
      : source(other.source), handle(other.handle), stack(std::move(other.stack)),
        dynamic(std::move(other.dynamic)), written(std::move(other.written)),
        resultsAlias(std::move(other.resultsAlias)), asksLayout(other.asksLayout),
        product(other.product), attention(other.attention), convolution(other.convolution),
        order(other.order), packed(std::move(other.packed)) {}

  /// A result differs from the one that the graph was traced with.
  struct Disagreement : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  /// May throw the operator's exceptions, and Disagreement.
  Status run(const DecodedPlan &plan, RunState &state) const;

  CallTraits traits() const;
  static CallTraits traitsOf(const c10::OperatorHandle &handle);

  const std::string &name() const { return handle.operator_name().name; }
  const std::string &overload() const { return handle.operator_name().overload_name; }

  mutable std::atomic<uint64_t> count{0};
  /// Results that were copied because their strides differed from the trace, or because they lay
  /// in the memory of an operand.
  mutable std::atomic<uint64_t> strideCopies{0};
  /// Calls that the runtime's own kernel computed (AtenProduct.cpp).
  mutable std::atomic<uint64_t> ownProducts{0};
  /// The same for attention (AtenAttention.cpp).
  mutable std::atomic<uint64_t> ownAttention{0};
  /// The same for convolutions (AtenConvolution.cpp).
  mutable std::atomic<uint64_t> ownConvolutions{0};
  /// The same for topk and sort (AtenOrder.cpp).
  mutable std::atomic<uint64_t> ownOrders{0};

  /// The memory of a packed weight, in bytes.
  uint64_t packedBytes() const { return packed ? static_cast<uint64_t>(packed->bytes()) : 0; }
  /// Reads the weight as it lies from now on; not beside calls.
  void readInPlace() { packed.reset(); }

private:
  AtenCall(const format::Aten &source, c10::OperatorHandle handle)
      : source(&source), handle(std::move(handle)) {}

  struct Dynamic {
    uint32_t position;
    const format::Value *value;
    c10::TypePtr type;
    int32_t length;
  };

  std::optional<at::Tensor> runOwnProduct(const DecodedPlan &plan, RunState &state) const;
  std::optional<at::Tensor> runOwnAttention(const DecodedPlan &plan, RunState &state) const;
  std::optional<at::Tensor> runOwnConvolution(const DecodedPlan &plan, RunState &state) const;
  std::optional<std::pair<at::Tensor, at::Tensor>> runOwnOrder(const DecodedPlan &plan,
                                                               RunState &state) const;
  void padConvolution(std::vector<c10::IValue> &arguments) const;
  at::Tensor finishConvolution(at::Tensor result, RunState &state) const;

  const format::Aten *source;
  c10::OperatorHandle handle;
  std::vector<c10::IValue> stack;
  std::vector<Dynamic> dynamic;
  /// Arguments that the operator writes to. Their version counters are bumped here, because
  /// autograd's own layer is bypassed.
  std::vector<uint32_t> written;
  /// Results that are an argument or a view of one.
  std::vector<bool> resultsAlias;
  /// Whether the operator returns a tensor's size, stride or storage offset.
  bool asksLayout = false;
  std::optional<ProductCall> product;
  std::optional<AttentionCall> attention;
  /// Then the handle is that of aten::convolution.
  std::optional<ConvolutionCall> convolution;
  std::optional<OrderCall> order;
  mutable std::atomic<int32_t> ordersPaused{0};
  /// The packed weight of the product or convolution, if the plan's file owns the weight and nobody
  /// can write to it.
  std::shared_ptr<PackedWeight> packed;
};

} // namespace frit
