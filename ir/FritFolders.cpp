// Every fold and canonicalisation of the dialect. A chain of unsqueeze, expand, permute and slice
// becomes one map, so that later passes see only which elements are read.
#include "ir/FritOps.h"
#include "ir/Planted.h"
#include "ir/ReduceKinds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::frit;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// What is known about sizes in the graph or kernel of `op`.
static SizeFacts factsAt(Operation *op) {
  if (auto graph = op->getParentOfType<GraphOp>()) {
    return graph.getSizeFacts();
  }
  if (auto kernel = op->getParentOfType<KernelOp>()) {
    return kernel.getSizeFacts();
  }
  return SizeFacts(op->getContext());
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

/// The map of `outer` applied to the result of `inner`. Bounds of both must hold.
static MapAttr compose(MapAttr outer, MapAttr inner) {
  SmallVector<SizeExpr> through(outer.getResults().begin(), outer.getResults().end());
  auto rewrite = [&](ArrayRef<SizeAttr> exprs, SmallVectorImpl<SizeAttr> &out) {
    for (SizeAttr expr : exprs) {
      out.push_back(SizeExpr(expr).substituteDims(through));
    }
  };
  SmallVector<SizeAttr> results, exprs(outer.getBoundExprs()), lows(outer.getBoundLows()),
      highs(outer.getBoundHighs());
  rewrite(inner.getResults(), results);
  rewrite(inner.getBoundExprs(), exprs);
  rewrite(inner.getBoundLows(), lows);
  rewrite(inner.getBoundHighs(), highs);
  return MapAttr::get(outer.getContext(), outer.getNumDims(), 0, results, exprs, lows, highs);
}

/// The map of a reshape that only adds and removes dimensions of size 1.
static std::optional<MapAttr> getUnitDimMap(ReshapeOp op) {
  SmallVector<SizeExpr> from = getSizes(typeOf(op.getOperand())),
                        to = getSizes(typeOf(op.getResult()));
  MLIRContext *context = op.getContext();
  SmallVector<SizeAttr> results;
  size_t next = 0;
  for (SizeExpr size : from) {
    if (size.isConstant(1)) {
      results.push_back(SizeExpr::constant(context, 0));
      continue;
    }
    while (next < to.size() && to[next].isConstant(1)) {
      ++next;
    }
    if (next == to.size() || to[next] != size) {
      return std::nullopt;
    }
    results.push_back(SizeExpr::dim(context, next++));
  }
  while (next < to.size() && to[next].isConstant(1)) {
    ++next;
  }
  if (next != to.size()) {
    return std::nullopt;
  }
  return MapAttr::get(context, to.size(), results);
}

/// The one element of a constant, if all are equal.
static TypedAttr getSplat(Value value) {
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat()) {
    return {};
  }
  return elements.getSplatValue<TypedAttr>();
}

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

OpFoldResult SizeOp::fold(FoldAdaptor) {
  if (auto constant = SizeExpr(getSize()).getConstant()) {
    return IntegerAttr::get(getType(), *constant);
  }
  return {};
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType()) {
    return getOperand();
  }
  // reshape(reshape(x)) needs only the last sizes.
  if (auto inner = getOperand().getDefiningOp<ReshapeOp>()) {
    getOperandMutable().assign(inner.getOperand());
    return getResult();
  }
  return {};
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? getOperand() : OpFoldResult();
}

OpFoldResult UnpadOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType()) {
    return getOperand();
  }
  auto pad = getOperand().getDefiningOp<PadOp>();
  return pad && pad.getOperand().getType() == getType() ? pad.getOperand() : OpFoldResult();
}

OpFoldResult ReindexOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType() && getMap().isIdentity()) {
    return getOperand();
  }
  return {};
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getOperands().size() == 1 && getOperands()[0].getType() == getType()) {
    return getOperands()[0];
  }
  return {};
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  if (getDims().empty() && getOperand().getType() == getType() && !isArgReduction(getKind()) &&
      getKind() != ReduceKind::Deviations) {
    return getOperand();
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// reindex(reindex(x)): one map, unless two fills differ.
struct ComposeReindex : OpRewritePattern<ReindexOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReindexOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<ReindexOp>();
    if (!inner) {
      return rewriter.notifyMatchFailure(op, "operand is not a reindex");
    }
    if (op.getFillAttr() && inner.getFillAttr() && op.getFillAttr() != inner.getFillAttr()) {
      return rewriter.notifyMatchFailure(op, "fills differ");
    }
    TypedAttr fill = op.getFillAttr() ? op.getFillAttr() : inner.getFillAttr();
    if (fill && isPlanted(Mistake::LostFill)) {
      fill = rewriter.getZeroAttr(fill.getType());
    }
    rewriter.replaceOpWithNewOp<ReindexOp>(op, op.getType(), inner.getOperand(),
                                           compose(op.getMap(), inner.getMap()), fill);
    return success();
  }
};

/// reindex(concat(x, y)) that reads one piece only.
struct ReindexOfPiece : OpRewritePattern<ReindexOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReindexOp op, PatternRewriter &rewriter) const override {
    auto concat = op.getOperand().getDefiningOp<ConcatOp>();
    if (!concat || op.getMap().hasBounds()) {
      return rewriter.notifyMatchFailure(op, "operand is not a concat that is read everywhere");
    }
    MapAttr map = op.getMap();
    SizeFacts facts = factsAt(op);
    facts.setExtents(getSizes(typeOf(op.getResult())));
    SizeExpr place = map.getResults()[concat.getDim()];
    for (Value piece : concat.getOperands()) {
      SizeExpr length = getSizes(typeOf(piece))[concat.getDim()];
      if (facts.provablyNonNegative(place) && facts.provablyLess(place, length)) {
        SmallVector<SizeAttr> results(map.getResults());
        results[concat.getDim()] = place;
        auto own = MapAttr::get(op.getContext(), map.getNumDims(), results);
        rewriter.replaceOpWithNewOp<ReindexOp>(op, op.getType(), piece, own, TypedAttr());
        return success();
      }
      place = place - length;
    }
    return rewriter.notifyMatchFailure(op, "it may read several pieces");
  }
};

/// reindex(reshape(x)) where the reshape only adds or removes dimensions of size 1.
struct ReindexOfUnitDims : OpRewritePattern<ReindexOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReindexOp op, PatternRewriter &rewriter) const override {
    auto reshape = op.getOperand().getDefiningOp<ReshapeOp>();
    auto map = reshape ? getUnitDimMap(reshape) : std::nullopt;
    if (!map) {
      return rewriter.notifyMatchFailure(op, "operand is not a reshape of unit dims");
    }
    rewriter.replaceOpWithNewOp<ReindexOp>(op, op.getType(), reshape.getOperand(),
                                           compose(op.getMap(), *map), op.getFillAttr());
    return success();
  }
};

/// reshape(reindex(x)) where the reshape only adds or removes dimensions of size 1.
struct UnitDimsOfReindex : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<ReindexOp>();
    auto map = inner ? getUnitDimMap(op) : std::nullopt;
    if (!map) {
      return rewriter.notifyMatchFailure(op, "not a reshape of unit dims of a reindex");
    }
    rewriter.replaceOpWithNewOp<ReindexOp>(op, op.getType(), inner.getOperand(),
                                           compose(*map, inner.getMap()), inner.getFillAttr());
    return success();
  }
};

/// Removes bounds that always hold, and the fill with the last of them; simplifies indices by
/// ranges.
struct SimplifyReindex : OpRewritePattern<ReindexOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReindexOp op, PatternRewriter &rewriter) const override {
    MapAttr map = op.getMap();
    auto opaque = [](SizeAttr size) {
      return llvm::any_of(size.getMonomials(), [](ArrayAttr monomial) {
        return llvm::any_of(monomial, [](Attribute atom) { return isa<SizeCallAttr>(atom); });
      });
    };
    if (!map.hasBounds() && llvm::none_of(map.getResults(), opaque)) {
      return rewriter.notifyMatchFailure(op, "has neither bounds nor divisions");
    }
    SizeFacts facts = factsAt(op);
    facts.setExtents(getSizes(typeOf(op.getResult())));
    SmallVector<SizeAttr> results, exprs, lows, highs;
    for (SizeAttr result : map.getResults()) {
      results.push_back(facts.simplify(result));
    }
    llvm::SmallDenseSet<std::tuple<Attribute, Attribute, Attribute>> seen;
    for (auto [expr, low, high] :
         llvm::zip(map.getBoundExprs(), map.getBoundLows(), map.getBoundHighs())) {
      SizeExpr simple = facts.simplify(expr);
      bool holds =
          facts.provablyNonNegative(simple - SizeExpr(low)) && facts.provablyLess(simple, high);
      if (!holds && seen.insert({simple.getAttr(), low, high}).second) {
        exprs.push_back(simple);
        lows.push_back(low);
        highs.push_back(high);
      }
    }
    auto simpler = MapAttr::get(op.getContext(), map.getNumDims(), 0, results, exprs, lows, highs);
    if (simpler == map) {
      return rewriter.notifyMatchFailure(op, "ranges decide nothing");
    }
    rewriter.modifyOpInPlace(op, [&] {
      op.setMapAttr(simpler);
      if (!simpler.hasBounds()) {
        op.removeFillAttr();
      }
    });
    return success();
  }
};

/// A view of a splat constant becomes a broadcast of its element, as constants are rank 0.
template <typename OpTy> struct ViewOfSplat : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    if (typeOf(op.getOperand()).getRank() == 0 && isa<ReindexOp>(op)) {
      if (!cast<ReindexOp>(*op).getMap().hasBounds()) {
        return rewriter.notifyMatchFailure(op, "broadcasts a scalar already");
      }
    }
    TypedAttr splat = getSplat(op.getOperand());
    if (!splat) {
      return rewriter.notifyMatchFailure(op, "operand is not a splat constant");
    }
    if (auto reindex = dyn_cast<ReindexOp>(*op);
        reindex && reindex.getFillAttr() && reindex.getFillAttr() != splat) {
      return rewriter.notifyMatchFailure(op, "the fill is another value");
    }
    auto scalarType = RankedTensorType::get({}, splat.getType());
    Value scalar =
        arith::ConstantOp::create(rewriter, op.getLoc(), DenseElementsAttr::get(scalarType, splat));
    auto broadcast = MapAttr::get(op.getContext(), typeOf(op.getResult()).getRank(), {});
    rewriter.replaceOpWithNewOp<ReindexOp>(op, op.getType(), scalar, broadcast, TypedAttr());
    return success();
  }
};

/// Removes pieces without elements, and flattens nested concatenations along the same dimension.
struct FlattenConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> pieces;
    for (Value piece : op.getOperands()) {
      auto nested = piece.getDefiningOp<ConcatOp>();
      if (nested && nested.getDim() == op.getDim()) {
        llvm::append_range(pieces, nested.getOperands());
      } else if (!getSizes(typeOf(piece))[op.getDim()].isConstant(0)) {
        pieces.push_back(piece);
      }
    }
    if (pieces.empty() || pieces == SmallVector<Value>(op.getOperands())) {
      return rewriter.notifyMatchFailure(op, "every piece has elements and is not a join");
    }
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), pieces, op.getDim());
    return success();
  }
};
} // namespace

void ReindexOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ComposeReindex, ReindexOfPiece, ReindexOfUnitDims, SimplifyReindex,
               ViewOfSplat<ReindexOp>>(context);
}

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<UnitDimsOfReindex, ViewOfSplat<ReshapeOp>>(context);
}

void ConcatOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<FlattenConcat>(context);
}
