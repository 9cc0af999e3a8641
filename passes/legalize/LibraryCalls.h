#pragma once

#include "passes/legalize/AtenCall.h"

/// Calls of operators of torch that a rule makes itself.
namespace mlir::frit {

/// Leaves the operator of a call as it is, for the reason that it would have without a rule.
void leave(AtenCall &call);

/// One result of a library's operator.
struct Made {
  SmallVector<SizeExpr> sizes;
  DType dtype;
  /// Null: contiguous.
  LayoutAttr layout;
};

struct Passed {
  Tensor tensor;
  /// The layout that the operator gets it with; null: contiguous.
  LayoutAttr layout;
};

/// Calls an operator whose tensors are `operands`; `arguments` has null for each of them, in order.
SmallVector<Tensor> callLibrary(TensorBuilder &b, StringRef name, ArrayRef<Passed> operands,
                                ArrayRef<Attribute> arguments, ArrayRef<Made> results);

/// On GPUs: the sum of a matrix product and a tensor that nothing reads afterwards, as a product
/// that adds to it in place (addmm_). Rounded once, where eager rounds the product too. Null if the
/// call is no such sum.
Tensor addProductInPlace(AtenCall &call, TensorBuilder &b);

} // namespace mlir::frit
