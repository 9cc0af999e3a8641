// Half types compute in f32 inside of a region: roundings that legalisation
// wrote between two operations go, those that a program or a result asks for
// stay.
#include "ir/Planted.h"
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
      bool isImplicit = round->hasAttr("frit.implicit") || isPlanted(Mistake::ElidedCasts);
      if (!isImplicit || !round->getParentOfType<RegionOp>() || escapes(round.getResult())) {
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

  static bool isConstant(Value value) {
    Operation *def = value.getDefiningOp();
    while (isa_and_nonnull<ReindexOp, ReshapeOp>(def)) {
      def = def->getOperand(0).getDefiningOp();
    }
    return isa_and_nonnull<arith::ConstantOp>(def);
  }

  /// Whether a comparison with another value reads this, also through views. What is equal when both are rounded has to stay equal, although one of
  /// them may be rounded as a result or in another region.
  static bool isCompared(OpOperand &use) {
    SmallVector<OpOperand *> stack{&use};
    while (!stack.empty()) {
      OpOperand *next = stack.pop_back_val();
      Operation *user = next->getOwner();
      if (isa<ReindexOp, ReshapeOp>(user)) {
        for (OpOperand &further : user->getUses()) {
          stack.push_back(&further);
        }
      } else if (isa<arith::CmpFOp>(user)) {
        Value other = user->getOperand(1 - next->getOperandNumber());
        if (other != next->get() && !isConstant(other)) {
          return !isPlanted(Mistake::UnroundedComparison);
        }
      }
    }
    return false;
  }

  /// Readers that widen `rounded` take `exact` instead, but for comparisons; views are repeated on it.
  void elide(Value rounded, Value exact) {
    for (OpOperand &use : llvm::make_early_inc_range(rounded.getUses())) {
      Operation *user = use.getOwner();
      if (auto widen = dyn_cast<arith::ExtFOp>(user); widen && widen.getType() == exact.getType()) {
        widen.getResult().replaceUsesWithIf(exact, [](OpOperand &reader) { return !isCompared(reader); });
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
