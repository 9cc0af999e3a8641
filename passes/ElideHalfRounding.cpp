// Half types compute in f32 inside of a region: roundings that legalisation
// wrote between two operations go, those that a program or a result asks for
// stay.
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::frit {
#define GEN_PASS_DEF_ELIDEHALFROUNDINGPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
struct ElideHalfRoundingPass : frit::impl::ElideHalfRoundingPassBase<ElideHalfRoundingPass> {
  /// Whether the rounded value leaves the region, itself or through views: then
  /// everybody sees the rounded one.
  static bool escapes(Value rounded) {
    SmallVector<Value> stack{rounded};
    while (!stack.empty()) {
      for (Operation *user : stack.pop_back_val().getUsers()) {
        if (isa<YieldOp>(user)) {
          return true;
        }
        if (isa<ReindexOp, ReshapeOp, ConcatOp, GatherOp>(user)) {
          stack.push_back(user->getResult(0));
        }
      }
    }
    return false;
  }

  void runOnOperation() override {
    getOperation()->walk([&](arith::TruncFOp round) {
      if (!round->hasAttr("frit.implicit") || !round->getParentOfType<RegionOp>() ||
          escapes(round.getResult())) {
        return;
      }
      elide(round.getResult(), round.getIn());
    });
    getOperation()->walk([&](RegionOp region) {
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(region.getBody().front()))) {
        if (op.use_empty() && !isa<YieldOp>(op)) {
          op.erase();
        }
      }
    });
  }

  /// Readers that widen `rounded` take `exact` instead; views are repeated on it.
  void elide(Value rounded, Value exact) {
    for (OpOperand &use : llvm::make_early_inc_range(rounded.getUses())) {
      Operation *user = use.getOwner();
      if (auto widen = dyn_cast<arith::ExtFOp>(user); widen && widen.getType() == exact.getType()) {
        widen.getResult().replaceAllUsesWith(exact);
        ++elided;
      } else if (auto view = dyn_cast<ReshapeOp>(user)) {
        OpBuilder builder(view);
        elide(view, ReshapeOp::create(builder, view.getLoc(), widened(view.getType(), exact), exact));
      } else if (auto view = dyn_cast<ReindexOp>(user)) {
        OpBuilder builder(view);
        TypedAttr fill = view.getFillAttr();
        Type element = cast<RankedTensorType>(exact.getType()).getElementType();
        if (auto old = dyn_cast_or_null<FloatAttr>(fill)) {
          llvm::APFloat value = old.getValue();
          bool loses;
          value.convert(cast<FloatType>(element).getFloatSemantics(),
                        llvm::APFloat::rmNearestTiesToEven, &loses);
          fill = FloatAttr::get(element, value);
        }
        elide(view, ReindexOp::create(builder, view.getLoc(), widened(view.getType(), exact), exact,
                                      view.getMap(), fill));
      }
    }
  }

  static Type widened(RankedTensorType type, Value exact) {
    return type.clone(cast<RankedTensorType>(exact.getType()).getElementType());
  }
};
} // namespace
