// Every fold and canonicalisation of the dialect.
#include "ir/FritOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::frit;

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

OpFoldResult ReindexOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType() && getMap().isIdentity()) {
    return getOperand();
  }
  return {};
}

namespace {
/// reindex(reindex(x)): one map; bounds of both hold. Only if at most one has a
/// fill, or both have the same.
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
    MapAttr outerMap = op.getMap(), innerMap = inner.getMap();
    SmallVector<SizeExpr> through;
    for (SizeAttr result : outerMap.getResults()) {
      through.push_back(result);
    }
    auto compose = [&](ArrayRef<SizeAttr> exprs, SmallVectorImpl<SizeAttr> &out) {
      for (SizeAttr expr : exprs) {
        out.push_back(SizeExpr(expr).substituteDims(through));
      }
    };
    SmallVector<SizeAttr> results, exprs(outerMap.getBoundExprs()), lows(outerMap.getBoundLows()),
        highs(outerMap.getBoundHighs());
    compose(innerMap.getResults(), results);
    compose(innerMap.getBoundExprs(), exprs);
    compose(innerMap.getBoundLows(), lows);
    compose(innerMap.getBoundHighs(), highs);
    auto map = MapAttr::get(op.getContext(), outerMap.getNumDims(), 0, results, exprs, lows, highs);
    TypedAttr fill = op.getFillAttr() ? op.getFillAttr() : inner.getFillAttr();
    rewriter.replaceOpWithNewOp<ReindexOp>(op, op.getType(), inner.getOperand(), map, fill);
    return success();
  }
};
} // namespace

void ReindexOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ComposeReindex>(context);
}
