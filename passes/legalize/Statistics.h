#pragma once

#include "passes/legalize/AtenCall.h"

/// Sums and moments over dims, in an accumulator dtype.
namespace mlir::frit {

/// The number of elements along `dims` as a rank-0 tensor.
Tensor countOf(TensorBuilder &b, Tensor x, ArrayRef<int64_t> dims, DType dtype);
/// The sum over dims, which stay with size 1 if `keep`.
Tensor sumOver(TensorBuilder &b, Tensor x, ArrayRef<int64_t> dims, bool keep);
/// The mean over dims, which stay with size 1 if `keep`. `x` must be in a floating math dtype.
Tensor meanOver(TensorBuilder &b, Tensor x, ArrayRef<int64_t> dims, bool keep);

/// The mean and the sum of squares about it, both with the dims kept with size 1. Two passes, for
/// accuracy.
struct Moments {
  Tensor mean, squares, centered;

  /// `scale`, if it has a value, multiplies the differences from the mean before they are squared.
  /// `corrects`: the squares are corrected for the rounding of the mean (Chan, Golub, LeVeque,
  /// 1983, formula 1.7).
  static Moments get(TensorBuilder &b, Tensor x, ArrayRef<int64_t> dims, Tensor scale = {},
                     bool corrects = false);
};
/// squares / max(count - correction, 0).
Tensor varianceOf(TensorBuilder &b, const Moments &moments, Tensor x, ArrayRef<int64_t> dims,
                  double correction);

} // namespace mlir::frit
