#pragma once

#include "ir/SizeExpr.h"

#include "mlir/IR/Operation.h"

/// Operations that kernels compute element by element: what each needs from its operands.
namespace mlir::frit {

/// Where an operation reads an operand at a point of its loop nest.
enum class ElementRead {
  Here,   ///< at the same point
  Mapped, ///< where a view maps the point
  Once,   ///< one element for all points
  Piece,  ///< in one of several operands, which the point selects
  Chosen, ///< where the values of other operands say
};

} // namespace mlir::frit

#include "ir/FritInterfaces.h.inc"

namespace mlir::frit {

inline ElementRead getElementRead(OpOperand &operand) {
  auto op = llvm::dyn_cast<ElementOpInterface>(operand.getOwner());
  return op ? op.getElementRead(operand.getOperandNumber()) : ElementRead::Here;
}

/// Whether no map gives the element that is read of some operand: the index selects one of several
/// operands, or data select the element.
inline bool readsElsewhere(Operation *op) {
  return llvm::any_of(op->getOpOperands(), [](OpOperand &operand) {
    ElementRead read = getElementRead(operand);
    return read == ElementRead::Piece || read == ElementRead::Chosen;
  });
}

/// Whether the operation belongs to `math`, or computes a function that `math` lacks.
bool isMathFunction(Operation *op);

/// Whether each element of the result depends only on the elements at the same index: an operation
/// of `arith`, or a function.
bool isElementwise(Operation *op);

/// Whether it divides integers, which a divisor of zero makes an error.
bool isIntegerDivision(Operation *op);

/// The value of a function of a constant operand, as a constant; null if the operand is not one.
OpFoldResult foldFunction(ElementFunctionOpInterface op, Attribute operand);

inline bool movesElements(Operation *op) {
  auto element = llvm::dyn_cast<ElementOpInterface>(op);
  return element && element.movesElements();
}

} // namespace mlir::frit
