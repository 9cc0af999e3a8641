// A product that is contracted with the sum that reads it (a fused multiply-add) is not rounded.
// This pass decides where that is allowed, so that values that are equal in the program stay equal.
#include "ir/FritAttributes.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::frit {
#define GEN_PASS_DEF_LIMITCONTRACTIONPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

/// Whether code generators look through this operation to its operand: views, changes of sign, and
/// roundings that `frit-elide-half-rounding` may remove.
static bool isSeenThrough(Operation *op) {
  if (isa_and_nonnull<arith::TruncFOp>(op)) {
    return kImplicitAttr.isOn(op);
  }
  return isView(op) || isa_and_nonnull<arith::NegFOp, arith::ExtFOp>(op);
}

/// Whether more than one operation reads the value, or one of them twice.
static bool isShared(Value value) {
  SmallVector<Value> stack{value};
  unsigned readers = 0;
  while (!stack.empty() && readers < 2) {
    for (Operation *user : stack.pop_back_val().getUsers()) {
      if (isSeenThrough(user)) {
        stack.push_back(user->getResult(0));
      } else {
        ++readers;
      }
    }
  }
  return readers > 1;
}

static bool isProduct(Value value) {
  Operation *def = value.getDefiningOp();
  while (isSeenThrough(def)) {
    def = def->getOperand(0).getDefiningOp();
  }
  return isa_and_nonnull<arith::MulFOp>(def);
}

namespace {
struct LimitContractionPass : frit::impl::LimitContractionPassBase<LimitContractionPass> {
  void runOnOperation() override {
    getOperation()->walk([&](arith::ArithFastMathInterface op) {
      auto flags = op.getFastMathFlagsAttr();
      if (!flags || !bitEnumContainsAny(flags.getValue(), arith::FastMathFlags::contract)) {
        return;
      }
      bool isProductRead = isa<arith::MulFOp>(op) && isShared(op->getResult(0));
      bool isSumOfProducts = isa<arith::AddFOp, arith::SubFOp>(op) &&
                             isProduct(op->getOperand(0)) && isProduct(op->getOperand(1));
      if (isProductRead || isSumOfProducts) {
        auto without = flags.getValue() & ~arith::FastMathFlags::contract;
        op->setAttr(op.getFastMathAttrName(),
                    arith::FastMathFlagsAttr::get(&getContext(), without));
        ++(isProductRead ? products : sums);
      }
    });
  }
};
} // namespace
