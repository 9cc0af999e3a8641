// Pads and their inverses become indexing maps, which fuse like any other view: the fill is a
// select in the kernel that produces the value. Under `poison`, lanes that no result may depend on
// hold conspicuous values, different ones for each tensor.
#include "passes/Passes.h"

#include "ir/FritAttributes.h"
#include "ir/SizeExpr.h"

#include "mlir/IR/Builders.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::frit {
#define GEN_PASS_DEF_LOWERPADDINGPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
struct LowerPaddingPass : frit::impl::LowerPaddingPassBase<LowerPaddingPass> {
  using LowerPaddingPassBase::LowerPaddingPassBase;

  void runOnOperation() override {
    unsigned poisoned = 0;
    bool changed = false;
    SmallVector<Attribute> written;
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody().front())) {
      OpBuilder builder(&op);
      Value made;
      if (auto pad = dyn_cast<PadOp>(op)) {
        made = lower(builder, pad, poisoned);
        SizeAttr elements[] = {getNumElements(cast<RankedTensorType>(pad.getType())),
                               getNumElements(cast<RankedTensorType>(pad.getOperand().getType()))};
        written.push_back(DimsAttr::get(&getContext(), elements));
        ++numPads;
      } else if (auto unpad = dyn_cast<UnpadOp>(op)) {
        auto type = cast<RankedTensorType>(unpad.getType());
        made = ReindexOp::create(builder, op.getLoc(), type, unpad.getOperand(),
                                 MapAttr::getIdentity(&getContext(), type.getRank()), TypedAttr());
        ++numUnpads;
      } else {
        continue;
      }
      op.getResult(0).replaceAllUsesWith(made);
      op.erase();
      changed = true;
    }
    if (!written.empty()) {
      kPaddedElementsAttr.set(getOperation(), ArrayAttr::get(&getContext(), written));
    }
    if (changed) {
      // A pad of a view reads through the view.
      RewritePatternSet patterns(&getContext());
      ReindexOp::getCanonicalizationPatterns(patterns, &getContext());
      (void)applyPatternsGreedily(getOperation(), std::move(patterns));
    }
  }

  Value lower(OpBuilder &builder, PadOp pad, unsigned &poisoned) {
    auto type = cast<RankedTensorType>(pad.getType());
    SmallVector<SizeExpr> inner = getSizes(cast<RankedTensorType>(pad.getOperand().getType())),
                          outer = getSizes(type);
    MLIRContext *context = &getContext();
    SmallVector<SizeAttr> results, exprs, lows, highs;
    for (auto [i, size] : llvm::enumerate(inner)) {
      results.push_back(SizeExpr::dim(context, i));
      if (size != outer[i]) {
        exprs.push_back(results.back());
        lows.push_back(SizeExpr::constant(context, 0));
        highs.push_back(size);
      }
    }
    auto fill = dyn_cast_or_null<TypedAttr>(pad.getFillAttr());
    if (!fill) {
      fill = poison ? poisonOf(type.getElementType(), poisoned++)
                    : builder.getZeroAttr(type.getElementType());
    }
    auto map = MapAttr::get(context, type.getRank(), 0, results, exprs, lows, highs);
    return ReindexOp::create(builder, pad.getLoc(), type, pad.getOperand(), map, fill);
  }

  static TypedAttr poisonOf(Type element, unsigned number) {
    if (auto real = dyn_cast<FloatType>(element)) {
      const llvm::fltSemantics &semantics = real.getFloatSemantics();
      if (number % 3 == 0) {
        return FloatAttr::get(real, APFloat::getNaN(semantics));
      }
      APFloat large(1e30);
      bool lossy;
      // In narrow types this becomes an infinity.
      large.convert(semantics, APFloat::rmNearestTiesToEven, &lossy);
      if (number % 3 == 2) {
        large.changeSign();
      }
      return FloatAttr::get(real, large);
    }
    return IntegerAttr::get(element, APInt::getSignedMinValue(element.getIntOrFloatBitWidth()));
  }
};
} // namespace
