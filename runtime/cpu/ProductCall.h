// A call of aten::mm or aten::addmm that the compiler left to the runtime's own kernel (Product.h).

#pragma once

#include "runtime/cpu/Product.h"
#include "runtime/plan/Host.h"

#include <optional>

namespace frit {

/// The tensor registers of a product.
struct ProductCall {
  uint32_t left, right;
  /// kNoRegister: nothing is added.
  uint32_t added;
};

/// Decodes a product; nullopt if the call is not marked as one, an error if it is marked although
/// it has other arguments.
Result<std::optional<ProductCall>> productOf(const format::Aten &call);

/// The product of these operands, without a result; nullopt if the kernel cannot take their types
/// or strides, or if ATen would report an error. `added` may be null.
std::optional<Product> productFrom(const TensorView &left, const TensorView &right,
                                   const TensorView *added);

} // namespace frit
