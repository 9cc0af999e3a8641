#pragma once

#include "ir/SizeExpr.h"

#include "mlir/IR/Operation.h"

/// Operations that kernels compute element by element: what each needs from its operands.
namespace mlir::frit {

/// Where an operation reads an operand for a place of its loop nest.
enum class ElementRead {
  Here,   ///< at the same place
  Mapped, ///< where a view maps the place
  Once,   ///< one element for all places
  Piece,  ///< in one of several operands, which the place selects
  Chosen, ///< where other operands say
};

} // namespace mlir::frit

#include "ir/FritInterfaces.h.inc"

namespace mlir::frit {

inline ElementRead getElementRead(OpOperand &operand) {
  auto op = llvm::dyn_cast<ElementOpInterface>(operand.getOwner());
  return op ? op.getElementRead(operand.getOperandNumber()) : ElementRead::Here;
}

/// Whether an operand is read at a place that is no function of the sizes alone.
inline bool readsElsewhere(Operation *op) {
  return llvm::any_of(op->getOpOperands(), [](OpOperand &operand) {
    ElementRead read = getElementRead(operand);
    return read == ElementRead::Piece || read == ElementRead::Chosen;
  });
}

/// Whether the operation is of `math`, or computes a function that `math` lacks.
bool isMathFunction(Operation *op);

/// Whether each element of the result depends on the elements at its place alone: an operation of
/// `arith`, or a function.
bool isElementwise(Operation *op);

/// The constant that a function has of a constant.
OpFoldResult foldFunction(ElementFunctionOpInterface op, Attribute operand);

inline bool movesElements(Operation *op) {
  auto element = llvm::dyn_cast<ElementOpInterface>(op);
  return element && element.movesElements();
}

} // namespace mlir::frit
