// Softmax and its logarithm, forward and backward. All are the textbook forms that
// shift by the row's maximum, so that a row of -inf gives NaN as in eager.
#include "passes/legalize/AtenCall.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::frit;

/// Reduces one dim and keeps it with size 1; a rank-0 tensor is its own reduction.
static Tensor along(TensorBuilder &b, ReduceKind kind, Tensor x, int64_t dim) {
  return x.rank() == 0 ? x : b.reduce(kind, x, {dim}, /*keep=*/true);
}

static int64_t getDim(AtenCall &call, unsigned argument, Tensor x) {
  // A rank-0 tensor accepts dim 0 and -1.
  return x.rank() == 0 ? 0 : call.dim(argument, x.rank());
}

static Tensor shifted(TensorBuilder &b, Tensor x, int64_t dim) {
  return b.sub(x, along(b, ReduceKind::Max, x, dim));
}

static Tensor softmax(AtenCall &call, TensorBuilder &b) {
  Tensor x = b.toMath(call.tensor("self"));
  int64_t dim = getDim(call, 1, x);
  Tensor e = b.math<math::ExpOp>(shifted(b, x, dim));
  return b.div(e, along(b, ReduceKind::Sum, e, dim));
}

static Tensor logSoftmax(AtenCall &call, TensorBuilder &b) {
  Tensor x = b.toMath(call.tensor("self"));
  int64_t dim = getDim(call, 1, x);
  Tensor s = shifted(b, x, dim);
  Tensor total = along(b, ReduceKind::Sum, b.math<math::ExpOp>(s), dim);
  return b.sub(s, b.math<math::LogOp>(total));
}

/// Whether the gradient and the result of the forward have one type, as eager requires. Refuses the
/// call if not.
static bool areOfOneType(AtenCall &call) {
  if (call.tensor("grad_output").dtype != call.tensor("output").dtype) {
    call.refuse("eager refuses a gradient of another type than the result's");
  }
  return !call.refused();
}

static Tensor softmaxBackward(AtenCall &call, TensorBuilder &b) {
  if (!areOfOneType(call)) {
    return {};
  }
  Tensor grad = b.toMath(call.tensor("grad_output")), y = b.toMath(call.tensor("output"));
  int64_t dim = getDim(call, 2, grad);
  Tensor product = b.mul(grad, y);
  return b.sub(product, b.mul(y, along(b, ReduceKind::Sum, product, dim)));
}

static Tensor logSoftmaxBackward(AtenCall &call, TensorBuilder &b) {
  if (!areOfOneType(call)) {
    return {};
  }
  Tensor grad = b.toMath(call.tensor("grad_output")), y = b.toMath(call.tensor("output"));
  int64_t dim = getDim(call, 2, grad);
  return b.sub(grad, b.mul(b.math<math::ExpOp>(y), along(b, ReduceKind::Sum, grad, dim)));
}

void mlir::frit::addSoftmaxRules(RuleTable &table) {
  table.addSingle({"aten._softmax.default"}, softmax);
  table.addSingle({"aten._log_softmax.default"}, logSoftmax);
  table.addSingle({"aten._softmax_backward_data.default"}, softmaxBackward);
  table.addSingle({"aten._log_softmax_backward_data.default"}, logSoftmaxBackward);
}
