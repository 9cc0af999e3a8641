#pragma once

#include "ir/FritOps.h"

#include "mlir/IR/Builders.h"

/// Copies of tensors outside of regions, for who needs one in storage of its own.
namespace mlir::frit {

/// Whether kernels compute with elements of this type. What they do not is copied by the
/// dispatcher.
bool isKernelElement(Type element);

/// What an element says of its dtype; integers are taken for signed ones.
DType dtypeOfElement(Type element);

/// Whether elements of several dtypes have the type of these: signed and unsigned integers of one
/// width.
bool isDtypeAmbiguous(Value value);

/// The dtype that an operator, a store or the caller takes an operand for; null for views, kernels
/// and other operations.
DTypeAttr getDtypeOfUse(OpOperand &use);

/// torch's dtype of a tensor: from what made it, else from who reads it. `frit-separate-dtypes`
/// lets all who read it agree.
DTypeAttr getTorchDtype(Value value);

/// A copy of `value` that lies as `layout` says, from the start of storage of its own: a region, or
/// a call of `aten.clone` where no kernel can write it. Its layout is recorded as assign-layouts
/// does.
Value createCopy(OpBuilder &builder, Value value, LayoutAttr layout);

} // namespace mlir::frit
