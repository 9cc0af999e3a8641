// Half types compute in f32 inside of a region. Roundings that legalisation inserted between two
// operations are removed; those that the program or a result asks for stay.
#include "ir/FritAttributes.h"
#include "ir/Planted.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::frit {
#define GEN_PASS_DEF_ELIDEHALFROUNDINGPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
struct ElideHalfRoundingPass : frit::impl::ElideHalfRoundingPassBase<ElideHalfRoundingPass> {
  /// Whether the rounded value leaves the region, directly or through views: then all readers take
  /// the rounded value.
  static bool escapes(Value rounded) {
    SmallVector<Value> stack{rounded};
    while (!stack.empty()) {
      for (Operation *user : stack.pop_back_val().getUsers()) {
        if (isa<YieldOp>(user)) {
          return true;
        }
        if (movesElements(user)) {
          stack.push_back(user->getResult(0));
        }
      }
    }
    return false;
  }

  void runOnOperation() override {
    getOperation()->walk([&](arith::TruncFOp round) {
      bool isImplicit = kImplicitAttr.isOn(round) || isPlanted(Mistake::ElidedCasts);
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

  /// Whether `value` is a finite constant, that is a threshold: on which side of it a close operand
  /// falls may depend on rounding. Infinity is not a threshold, as numbers round to it.
  static bool isThreshold(Value value) {
    Operation *def = value.getDefiningOp();
    while (isView(def)) {
      def = def->getOperand(0).getDefiningOp();
    }
    auto constant = dyn_cast_or_null<arith::ConstantOp>(def);
    auto elements =
        constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
    return elements && elements.isSplat() && elements.getSplatValue<APFloat>().isFinite();
  }

  /// Whether a discontinuous operation reads this, also through views and changes of sign: it needs
  /// the rounded value. Values that are equal when both are rounded have to stay equal, although
  /// one of them may be rounded as a result or in another region, and 3.9999 that rounds to 4 is a
  /// 4 for floor and for a cast. Exempt are order comparisons with a threshold, and of a value with
  /// itself.
  static bool isReadByJump(OpOperand &use) {
    SmallVector<OpOperand *> stack{&use};
    while (!stack.empty()) {
      OpOperand *next = stack.pop_back_val();
      Operation *user = next->getOwner();
      if (isView(user) || isa<math::AbsFOp, arith::NegFOp>(user)) {
        for (OpOperand &further : user->getUses()) {
          stack.push_back(&further);
        }
      } else if (isa<arith::FPToSIOp, arith::FPToUIOp, arith::RemFOp, math::FloorOp, math::CeilOp,
                     math::TruncOp, math::RoundOp, math::RoundEvenOp>(user)) {
        return true;
      } else if (auto compare = dyn_cast<arith::CmpFOp>(user)) {
        Value other = user->getOperand(1 - next->getOperandNumber());
        if (other != next->get() && !(isOrder(compare.getPredicate()) && isThreshold(other))) {
          return !isPlanted(Mistake::UnroundedComparison);
        }
      }
    }
    return false;
  }

  static bool isOrder(arith::CmpFPredicate predicate) {
    using P = arith::CmpFPredicate;
    return llvm::is_contained({P::OGT, P::OGE, P::OLT, P::OLE, P::UGT, P::UGE, P::ULT, P::ULE},
                              predicate);
  }

  /// Lets readers that widen `rounded` take `exact` instead, except discontinuous operations. Views
  /// are rebuilt on `exact`.
  void elide(Value rounded, Value exact) {
    for (OpOperand &use : llvm::make_early_inc_range(rounded.getUses())) {
      Operation *user = use.getOwner();
      if (auto widen = dyn_cast<arith::ExtFOp>(user); widen && widen.getType() == exact.getType()) {
        // Collected before any is replaced: both operands of a comparison of the value with itself
        // are to be the same.
        SmallVector<OpOperand *> readers;
        for (OpOperand &reader : widen->getUses()) {
          if (!isReadByJump(reader)) {
            readers.push_back(&reader);
          }
        }
        llvm::for_each(readers, [&](OpOperand *reader) { reader->set(exact); });
        ++elided;
      } else if (auto view = dyn_cast<ReshapeOp>(user)) {
        OpBuilder builder(view);
        elide(view,
              ReshapeOp::create(builder, view.getLoc(), widened(view.getType(), exact), exact));
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
