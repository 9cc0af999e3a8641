// What kernels need to know about the operations of the dialect that they compute.
#include "ir/FritOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/CommonFolders.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::frit;

#include "ir/FritInterfaces.cpp.inc"

bool mlir::frit::isMathFunction(Operation *op) {
  return isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
         isa<ElementFunctionOpInterface>(op);
}

bool mlir::frit::isElementwise(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect>(op->getDialect()) || isMathFunction(op);
}

bool mlir::frit::isIntegerDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp, arith::CeilDivUIOp>(op);
}

OpFoldResult mlir::frit::foldFunction(ElementFunctionOpInterface op, Attribute operand) {
  return constFoldUnaryOpConditional<FloatAttr, APFloat, void>(
      operand, op->getResult(0).getType(), [&](const APFloat &x) -> std::optional<APFloat> {
        bool loses;
        APFloat value(x);
        value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
        value = APFloat(op.evaluate(value.convertToDouble()));
        value.convert(x.getSemantics(), APFloat::rmNearestTiesToEven, &loses);
        return value;
      });
}

double LgammaOp::evaluate(double x) {
  int sign; // lgamma would write a global
  return lgamma_r(x, &sign);
}

ElementRead ReindexOp::getElementRead(unsigned) { return ElementRead::Mapped; }
bool ReindexOp::movesElements() { return true; }

ElementRead ReshapeOp::getElementRead(unsigned) { return ElementRead::Mapped; }
bool ReshapeOp::movesElements() { return true; }

bool ConcatOp::isStacked() {
  return getNumOperands() > 1 && llvm::all_equal(getOperands().getTypes());
}
SmallVector<SizeExpr> ConcatOp::getLoopSizes() {
  return getSizes(cast<RankedTensorType>(isStacked() ? getOperand(0).getType() : getType()));
}
ElementRead ConcatOp::getElementRead(unsigned) { return ElementRead::Piece; }
unsigned ConcatOp::getElementWeight() { return getNumOperands(); }
bool ConcatOp::movesElements() { return true; }

/// Ten Philox rounds for every fourth element.
unsigned RandomOp::getElementWeight() { return 16; }
ElementRead RandomOp::getElementRead(unsigned) { return ElementRead::Once; }

SmallVector<SizeExpr> ReduceOp::getLoopSizes() {
  return getSizes(cast<RankedTensorType>(getOperand().getType()));
}

ElementRead GatherOp::getElementRead(unsigned operand) {
  return operand == 0 ? ElementRead::Chosen : ElementRead::Here;
}
unsigned GatherOp::getElementWeight() { return 4; }
bool GatherOp::movesElements() { return true; }

/// The bounds, which are the last operands, are read where the result is written.
ElementRead SegmentSumOp::getElementRead(unsigned operand) {
  return operand + 2 < getOperation()->getNumOperands() ? ElementRead::Piece : ElementRead::Here;
}
/// A loop with two loads; how often it runs is not known.
unsigned SegmentSumOp::getElementWeight() { return 16; }

ReduceOp mlir::frit::getFirstReduce(Block &body) {
  for (ReduceOp reduce : body.getOps<ReduceOp>()) {
    if (!reduce.getAcross()) {
      return reduce;
    }
  }
  return {};
}
