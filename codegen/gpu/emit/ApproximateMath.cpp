// Decides how exact the math of a kernel has to be. Where every float that it writes is a half
// type, exponentials, reciprocal roots and the quotients of a row by one number may be approximate:
// their error disappears in the last rounding, and the code is several times shorter, which saves
// most time in ptxas. Other quotients stay IEEE divisions: each would need its own reciprocal, and
// neighbouring lanes would take more registers.

#include "codegen/gpu/emit/GpuFunction.h"
#include "ir/FritAttributes.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::frit;

/// Whether an operation makes a step of a small difference: 1 - 2^-24 and 1 round to the same half
/// number, but not down to the same whole one.
static bool hasSteps(Operation *op) {
  return isa<math::FloorOp, math::CeilOp, math::TruncOp, math::RoundOp, math::RoundEvenOp,
             arith::FPToSIOp, arith::FPToUIOp, arith::RemFOp, arith::CmpFOp>(op);
}

bool mlir::frit::allowsApproximateMath(KernelOp kernel) {
  bool any = false;
  for (Type type : kernel.getResultTypes()) {
    Type element = getElementTypeOrSelf(type);
    if (!element.isF16() && !element.isBF16() && !element.isInteger(1)) {
      return false;
    }
    any |= isa<FloatType>(element);
  }
  // The attribute `frit.ieee` requests eager's numerics.
  auto forbids = [](Operation *op) {
    return kIeeeAttr.isOn(op) || hasSteps(op) ? WalkResult::interrupt() : WalkResult::advance();
  };
  return any && !kernel->walk(forbids).wasInterrupted();
}

/// Whether a tensor broadcasts a computed tensor of fewer dims. Quotients by constants are left to
/// LLVM, which simplifies them.
static bool isRepeated(Value value) {
  auto repeated = value.getDefiningOp<ReindexOp>();
  if (!repeated || repeated.getOperand().getType().getRank() >= repeated.getType().getRank()) {
    return false;
  }
  Operation *source = repeated.getOperand().getDefiningOp();
  return !source || !source->hasTrait<OpTrait::ConstantLike>();
}

Value GpuFunction::apply(OpBuilder &b, Operation *op, ValueRange operands, Type type) {
  bool isQuotient = isa<arith::DivFOp>(op) && isRepeated(op->getOperand(1));
  if (!isApproximate || !(isQuotient || isa<math::ExpOp, math::RsqrtOp>(op))) {
    return Value();
  }
  auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr().getValue() |
               arith::FastMathFlags::afn;
  if (isQuotient) {
    return arith::DivFOp::create(b, op->getLoc(), type, operands[0], operands[1], flags);
  }
  return isa<math::ExpOp>(op)
             ? Value(math::ExpOp::create(b, op->getLoc(), type, operands[0], flags))
             : Value(math::RsqrtOp::create(b, op->getLoc(), type, operands[0], flags));
}
