// Gathers by computed indices become views; permutations move behind reshapes.
#include "passes/NormalForm.h"

#include "kernel/LoopSpace.h"
#include "passes/Layouts.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::frit;

/// The index as an expression over the dims of the gather, if it is computed from iotas; else
/// nullopt.
static std::optional<SizeExpr> countedIndex(Value index) {
  auto type = cast<RankedTensorType>(index.getType());
  SmallVector<SizeExpr> at;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    at.push_back(SizeExpr::dim(index.getContext(), dim));
  }
  while (auto view = index.getDefiningOp<ReindexOp>()) {
    if (view.getMap().hasBounds()) {
      return std::nullopt;
    }
    SmallVector<SizeExpr> inner;
    for (SizeAttr result : view.getMap().getResults()) {
      inner.push_back(SizeExpr(result).substituteDims(at));
    }
    at = std::move(inner);
    index = view.getOperand();
  }
  auto iota = index.getDefiningOp<IotaOp>();
  if (!iota) {
    return std::nullopt;
  }
  return SizeExpr(iota.getExpr()).substituteDims(at);
}

static bool readCounted(GatherOp gather, SizeFacts facts) {
  MLIRContext *context = gather.getContext();
  SmallVector<SizeExpr> sizes = getSizes(cast<RankedTensorType>(gather.getType())), dims, values;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    dims.push_back(SizeExpr::dim(context, i));
    facts.setExtent(SizeSymbolAttr::dim(context, i), size);
  }
  for (Value index : gather.getIndices()) {
    std::optional<SizeExpr> counted = countedIndex(index);
    if (!counted) {
      return false;
    }
    values.push_back(facts.simplify(*counted));
  }
  SmallVector<SizeAttr> map;
  for (auto [result, extent] :
       llvm::zip_equal(gather.getMap().getResults(),
                       getSizes(cast<RankedTensorType>(gather.getSource().getType())))) {
    SizeExpr at = SizeExpr(result).substituteDims(dims, values);
    if (!facts.provablyNonNegative(at) || !facts.provablyLess(at, extent)) {
      return false;
    }
    map.push_back(at);
  }
  OpBuilder builder(gather);
  auto view = ReindexOp::create(builder, gather.getLoc(), gather.getType(), gather.getSource(),
                                MapAttr::get(context, sizes.size(), map), TypedAttr());
  gather.replaceAllUsesWith(view.getResult());
  gather.erase();
  return true;
}

static MapAttr permutationMap(MLIRContext *context, ArrayRef<unsigned> permutation) {
  SmallVector<SizeAttr> results;
  for (unsigned dim : permutation) {
    results.push_back(SizeExpr::dim(context, dim));
  }
  return MapAttr::get(context, permutation.size(), results);
}

/// Permutes dims: result dim i is operand dim order[i].
static Value permute(OpBuilder &builder, Location loc, Value value, ArrayRef<unsigned> order) {
  SmallVector<SizeExpr> from = getSizes(cast<RankedTensorType>(value.getType())), to;
  SmallVector<unsigned> map(order.size());
  for (auto [i, dim] : llvm::enumerate(order)) {
    to.push_back(from[dim]);
    map[dim] = i;
  }
  Type type = getTensorType(to, cast<RankedTensorType>(value.getType()).getElementType());
  return ReindexOp::create(builder, loc, type, value, permutationMap(value.getContext(), map),
                           TypedAttr());
}

/// reshape(permute(x)) -> permute(reshape(permute(x))), so that x's innermost dim stays innermost
/// in the reshape. Only if that dim is not merged with others.
static bool permuteBehind(ReshapeOp reshape) {
  auto view = reshape.getOperand().getDefiningOp<ReindexOp>();
  auto permutation = view ? getPermutation(view) : std::optional<SmallVector<unsigned>>();
  if (!permutation) {
    return false;
  }
  MLIRContext *context = reshape.getContext();
  SmallVector<SizeExpr> from = getSizes(cast<RankedTensorType>(view.getType())),
                        to = getSizes(cast<RankedTensorType>(reshape.getType())),
                        base = getSizes(cast<RankedTensorType>(view.getOperand().getType()));
  size_t rank = from.size();
  if (rank < 2 || to.size() < 2 || base.back().isConstant(1)) {
    return false;
  }
  // Where x's innermost dim went, and the single result dim that it becomes.
  unsigned at = (*permutation)[base.size() - 1];
  SizeExpr outer = product(context, ArrayRef(from).take_front(at));
  size_t target = 0;
  SizeExpr before = SizeExpr::constant(context, 1);
  while (target < to.size() && (before != outer || to[target] != from[at])) {
    before = before * to[target++];
  }
  if (at + 1 == rank || target + 1 >= to.size()) {
    return false;
  }
  // Nothing to gain where the strides of x express the reshape already.
  SmallVector<Digit> digits(rank);
  ReadPlace place = ReadPlace::rowMajor(base, context);
  for (auto [dim, digit] : llvm::enumerate(place.getDigits())) {
    digits[(*permutation)[dim]] = digit;
  }
  if (succeeded(splitDigits(digits, to, context))) {
    return false;
  }
  auto lastOf = [](size_t rank, size_t dim) {
    SmallVector<unsigned> order;
    for (size_t i = 0; i < rank; ++i) {
      if (i != dim) {
        order.push_back(i);
      }
    }
    order.push_back(dim);
    return order;
  };
  OpBuilder builder(reshape);
  Location loc = reshape.getLoc();
  Value moved = permute(builder, loc, view.getResult(), lastOf(rank, at));
  SmallVector<SizeExpr> sizes;
  SmallVector<unsigned> order = lastOf(to.size(), target), back(to.size());
  for (auto [i, dim] : llvm::enumerate(order)) {
    sizes.push_back(to[dim]);
    back[dim] = i;
  }
  Type element = cast<RankedTensorType>(reshape.getType()).getElementType();
  Value shaped = ReshapeOp::create(builder, loc, getTensorType(sizes, element), moved);
  reshape.replaceAllUsesWith(permute(builder, loc, shaped, back));
  reshape.erase();
  return true;
}

NormalFormCounts mlir::frit::bringToNormalForm(GraphOp graph) {
  NormalFormCounts counts;
  SizeFacts facts = graph.getSizeFacts();
  for (Operation &op : llvm::make_early_inc_range(graph.getBody().front())) {
    if (auto gather = dyn_cast<GatherOp>(op)) {
      counts.gathers += readCounted(gather, facts);
    } else if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      counts.permutations += permuteBehind(reshape);
    }
  }
  return counts;
}
