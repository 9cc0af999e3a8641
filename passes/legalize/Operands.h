#pragma once

#include "passes/legalize/AtenCall.h"

/// Operands of functions of several tensors and scalars, in one math dtype.
namespace mlir::frit {

/// A tensor or a Python scalar in an argument place.
struct Operand {
  Tensor tensor;
  Scalar scalar{int64_t(0)};

  static Operand get(AtenCall &call, unsigned i);
  void addTo(Promotion &promotion) const;
  /// In this dtype; a scalar becomes rank 0. For a half dtype call it with f32:
  /// a literal is then not rounded to the half type first, as in eager's
  /// arithmetic.
  Tensor as(TensorBuilder &b, DType dtype) const;
  /// A literal an integer dtype can hold; eager raises on others where it compares.
  bool fits(DType dtype) const;
};

/// torch.result_type of these operands.
DType promoted(ArrayRef<Operand> operands);

/// The two sides of a binary function, promoted; in f32 for the half types.
struct Sides {
  Tensor lhs, rhs;
  /// torch's dtype of the computation, a half type included.
  DType dtype;

  static Sides get(AtenCall &call, unsigned lhs = 0, unsigned rhs = 1);
  /// As a true division promotes: integers become the default dtype.
  static Sides getFloating(AtenCall &call, unsigned lhs = 0, unsigned rhs = 1);
};

Tensor floorDivide(TensorBuilder &b, Tensor lhs, Tensor rhs);
Tensor remainder(TensorBuilder &b, Tensor lhs, Tensor rhs);
/// Eager's order on ties and NaN: x stays unless it is strictly beyond the bound.
Tensor clampLow(TensorBuilder &b, Tensor x, Tensor low);
Tensor clampHigh(TensorBuilder &b, Tensor x, Tensor high);
/// x ** exponent for a literal exponent, special-cased as ATen does.
Tensor power(AtenCall &call, TensorBuilder &b, Tensor x, double exponent);

} // namespace mlir::frit
