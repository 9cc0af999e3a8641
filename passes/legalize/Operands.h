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
  bool isRankZero() const { return !tensor.value || tensor.rank() == 0; }
  /// The operand in this dtype; a scalar becomes rank 0.
  Tensor as(TensorBuilder &b, DType dtype) const;
  /// The operand in the math dtype of `dtype`, rounded to `dtype` on the way.
  Tensor rounded(TensorBuilder &b, DType dtype) const;
  /// False for a literal that an integer dtype cannot hold: eager raises an error where it
  /// compares.
  bool fits(DType dtype) const;
  /// False for a number that `Scalar::to` of c10 does not convert, or perhaps not: eager raises an
  /// error where it fills and clamps. Negative numbers wrap in unsigned types. For a size it adds
  /// the guard that it converts.
  bool converts(AtenCall &call, DType dtype) const;
};

/// torch.result_type of these operands.
DType promoted(ArrayRef<Operand> operands);

/// The two sides of a binary function, promoted; in f32 for the half types.
///
/// Eager brings both operands to the common dtype first, so an int64 or a Python
/// scalar in half arithmetic is rounded (and may overflow) before it takes part.
/// Only products and quotients read a scalar on the right as it is.
struct Sides {
  Tensor lhs, rhs;
  /// torch's dtype of the computation, a half type included.
  DType dtype;
  /// The right side is a single element: eager's kernels of half types then round no step in
  /// between.
  bool hasScalarRhs = false;

  static Sides get(AtenCall &call, unsigned lhs = 0, unsigned rhs = 1);
  /// A scalar on the right is not rounded to the common dtype.
  static Sides getWithExactScalar(AtenCall &call);
  /// Like getWithExactScalar, promoted as by true division: integers become the default dtype.
  static Sides getForDivision(AtenCall &call);
  /// Like get, with the promotion of true division.
  static Sides getFloating(AtenCall &call);
};

Tensor floorDivide(TensorBuilder &b, Sides sides);
Tensor remainder(TensorBuilder &b, Tensor lhs, Tensor rhs);
/// Eager's order on ties and NaN: x stays unless it is strictly beyond the bound.
Tensor clampLow(TensorBuilder &b, Tensor x, Tensor low);
Tensor clampHigh(TensorBuilder &b, Tensor x, Tensor high);
/// x ** exponent for a literal exponent, special-cased as ATen does.
Tensor power(AtenCall &call, TensorBuilder &b, Tensor x, double exponent);

} // namespace mlir::frit
