// Negative log-likelihood over class scores [C], [N, C] or [N, C, ...], forward and backward. Rows
// whose target is `ignore_index` have weight 0 and read class 0.
#include "passes/legalize/AtenCall.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::frit;

namespace {
enum Reduction { None = 0, Mean = 1, Sum = 2 };

/// Shared by forward and backward: which rows count, the target with class 0 for all others, and
/// the weight of each row.
struct Target {
  Tensor valid, safe, weight;
};
} // namespace

/// values[i] of a vector at index tensor `index`.
static Tensor pick(TensorBuilder &b, Tensor values, Tensor index) {
  auto map = MapAttr::get(b.getContext(), index.rank(), 1,
                          {SizeExpr::value(b.getContext(), 0).getAttr()}, {}, {}, {});
  auto type = getTensorType(index.sizes(), values.type().getElementType());
  auto gather = GatherOp::create(b.getBuilder(), b.getLoc(), type, values.value, index.value, map,
                                 IndexCheck::NonNegative);
  gather.setRaises(IndexError::Target);
  return {gather, values.dtype};
}

static Target readTarget(AtenCall &call, Tensor index, Tensor weights, Scalar ignored,
                         DType dtype) {
  TensorBuilder &b = call.build();
  Target target;
  index = b.cast(index, DType::I64);
  target.valid = b.compare(TensorBuilder::Compare::NE, index, b.scalar(ignored, DType::I64));
  target.safe = b.select(target.valid, index, b.constantInt(DType::I64, 0));
  Tensor weight =
      weights.value ? pick(b, b.cast(weights, dtype), target.safe) : b.constant(dtype, 1);
  target.weight = b.select(target.valid, weight, b.constant(dtype, 0));
  return target;
}

static Tensor total(TensorBuilder &b, Tensor x) {
  return x.rank() == 0
             ? x
             : b.reduce(ReduceKind::Sum, x, llvm::to_vector(llvm::seq<int64_t>(x.rank())), false);
}

/// The dim of the classes.
static int64_t classDim(Tensor scores) { return scores.rank() == 1 ? 0 : 1; }

/// The loss and the total weight for scores that are logarithms. The call has the arguments of
/// nll_loss_forward(self, target, weight, reduction, ignore_index).
static std::optional<std::pair<Tensor, Tensor>> nll(AtenCall &call, Tensor scores) {
  TensorBuilder &b = call.build();
  Tensor index = call.tensor("target");
  int64_t reduction = call.integer("reduction");
  if (call.refused() || scores.rank() < 1 || index.rank() != scores.rank() - 1 ||
      !isInteger(index.dtype)) {
    call.refuse("scores are not [C], [N, C] or [N, C, ...] with a target of one index a row");
    return std::nullopt;
  }
  Tensor weights = call.optionalTensor("weight");
  if (weights.value && weights.dtype != call.tensor("self").dtype) {
    call.refuse("eager refuses weights of another type");
    return std::nullopt;
  }
  Target target = readTarget(call, index, weights, call.scalar("ignore_index"), scores.dtype);
  MLIRContext *context = b.getContext();
  SmallVector<SizeAttr> at;
  for (int64_t dim = 0; dim < index.rank(); ++dim) {
    at.push_back(b.dim(dim));
  }
  at.insert(at.begin() + classDim(scores), SizeExpr::value(context, 0));
  auto map = MapAttr::get(context, index.rank(), 1, at, {}, {}, {});
  auto type = getTensorType(index.sizes(), scores.type().getElementType());
  auto gather = GatherOp::create(b.getBuilder(), b.getLoc(), type, scores.value, target.safe.value,
                                 map, IndexCheck::NonNegative);
  gather.setRaises(IndexError::Target);
  Tensor picked{gather, scores.dtype};
  Tensor zero = b.constant(scores.dtype, 0);
  // By select, not by the weight: an ignored row of -inf must not become NaN.
  Tensor loss = b.select(target.valid, b.neg(b.mul(picked, target.weight)), zero);
  Tensor weight = b.broadcast(target.weight, index.sizes());
  if (reduction == Reduction::None && scores.rank() >= 2) {
    return std::pair(loss, zero);
  }
  Tensor sum = total(b, loss), totalWeight = total(b, weight);
  return std::pair(reduction == Reduction::Mean ? b.div(sum, totalWeight) : sum, totalWeight);
}

static Values nllForward(AtenCall &call) {
  auto results = nll(call, call.build().toMath(call.tensor("self")));
  if (!results) {
    return std::nullopt;
  }
  return SmallVector<Tensor>{call.finish(results->first, 0), call.finish(results->second, 1)};
}

// nll_loss_nd(self, target, weight, reduction, ignore_index)
static Values nllAlone(AtenCall &call) {
  auto results = nll(call, call.build().toMath(call.tensor("self")));
  return results ? Values(SmallVector<Tensor>{call.finish(results->first)}) : std::nullopt;
}

// cross_entropy_loss(self, target, weight, reduction, ignore_index, label_smoothing)
static Values crossEntropy(AtenCall &call) {
  TensorBuilder &b = call.build();
  Tensor x = b.toMath(call.tensor("self"));
  if (call.refused() || x.rank() < 1 || call.number("label_smoothing") != 0) {
    return call.refuse("a cross entropy with smoothed labels");
  }
  SmallVector<int64_t> dim = {classDim(x)};
  Tensor shifted = b.sub(x, b.reduce(ReduceKind::Max, x, dim, /*keep=*/true));
  Tensor sum = b.reduce(ReduceKind::Sum, b.math<math::ExpOp>(shifted), dim, /*keep=*/true);
  auto results = nll(call, b.sub(shifted, b.math<math::LogOp>(sum)));
  return results ? Values(SmallVector<Tensor>{call.finish(results->first)}) : std::nullopt;
}

static Values nllBackward(AtenCall &call) {
  TensorBuilder &b = call.build();
  Tensor grad = b.toMath(call.tensor("grad_output")), scores = call.tensor("self"),
         index = call.tensor("target");
  int64_t reduction = call.integer("reduction");
  if (call.refused() || scores.rank() < 1 || scores.rank() > 2 ||
      index.rank() != scores.rank() - 1) {
    return call.refuse("scores are not [N, C] or [C] with a target of one index a row");
  }
  Target target = readTarget(call, index, call.optionalTensor("weight"),
                             call.scalar("ignore_index"), grad.dtype);
  Tensor factor = b.neg(b.mul(target.weight, grad));
  if (reduction == Reduction::Mean) {
    factor = b.div(factor, b.toMath(call.tensor("total_weight")));
  }
  factor = b.select(target.valid, factor, b.constant(grad.dtype, 0));
  int64_t last = scores.rank() - 1;
  target.safe = b.checkedIndex(target.safe, scores.sizes()[last], IndexError::Target);
  Tensor column = b.iota(b.dim(last), scores.sizes());
  Tensor here = b.compare(TensorBuilder::Compare::EQ, column,
                          b.unsqueeze(b.broadcast(target.safe, index.sizes()), last));
  Tensor spread = b.unsqueeze(b.broadcast(factor, index.sizes()), last);
  return SmallVector<Tensor>{call.finish(b.select(here, spread, b.constant(grad.dtype, 0)))};
}

void mlir::frit::addLossRules(RuleTable &table) {
  table.add({"aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default"}, nllForward);
  table.add({"aten.nll_loss_nd.default", "aten.nll_loss.default"}, nllAlone);
  table.add({"aten.cross_entropy_loss.default"}, crossEntropy);
  table.add({"aten.nll_loss_backward.default"}, nllBackward);
}
