#pragma once

#include "ir/FritOps.h"

#include "mlir/IR/Builders.h"

/// Copies of tensors outside of regions, for who needs one in storage of its own.
namespace mlir::frit {

/// Whether kernels compute with elements of this type. What they do not is copied by the dispatcher.
bool isKernelElement(Type element);

/// What an element says of its dtype; integers are taken for signed ones.
DType dtypeOfElement(Type element);

/// torch's dtype of a tensor, which its elements do not tell where they are integers: from what made it, else from who reads it.
DTypeAttr getTorchDtype(Value value);

/// A copy of `value` that lies as `layout` says, from the start of storage of its own: a region, or a call of `aten.clone` where no
/// kernel can write it. Its layout is recorded as assign-layouts does.
Value createCopy(OpBuilder &builder, Value value, LayoutAttr layout);

} // namespace mlir::frit
