#pragma once

#include "ir/FritOps.h"

#include "mlir/IR/Builders.h"

/// Copies of tensors outside of regions into storage of their own, and the dtypes that copies need.
namespace mlir::frit {

/// Whether kernels can compute with elements of this type. The dispatcher copies tensors of other
/// types.
bool isKernelElement(Type element);

/// The dtype of an element type; integers count as signed.
DType dtypeOfElement(Type element);

/// Whether several dtypes have the element type of `value`: signed and unsigned integers of one
/// width share it.
bool isDtypeAmbiguous(Value value);

/// The dtype that an operator, a store or the caller assumes for an operand; null for views,
/// kernels and other operations.
DTypeAttr getDtypeOfUse(OpOperand &use);

/// The torch dtype of a tensor: from its producer, else from its readers, which all agree after
/// `frit-separate-dtypes`.
DTypeAttr getTorchDtype(Value value);

/// Copies `value` to storage of its own, with the strides of `layout` and offset 0. The copy is a
/// region, or a call of `aten.clone` where no kernel can write the result. Records its layout as
/// assign-layouts does.
Value createCopy(OpBuilder &builder, Value value, LayoutAttr layout);

} // namespace mlir::frit
