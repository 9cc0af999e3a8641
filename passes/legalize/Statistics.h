#pragma once

#include "passes/legalize/AtenCall.h"

/// Sums and moments over dims, in an accumulator dtype.
namespace mlir::frit {

/// The number of elements of `dims` as a rank-0 tensor.
Tensor countOf(TensorBuilder &b, Tensor x, ArrayRef<int64_t> dims, DType dtype);
Tensor sumOver(TensorBuilder &b, Tensor x, ArrayRef<int64_t> dims, bool keep);
/// `x` is in a floating math dtype.
Tensor meanOver(TensorBuilder &b, Tensor x, ArrayRef<int64_t> dims, bool keep);

/// Mean and sum of squares about it, both with the dims kept as ones: two sweeps, as
/// exact as the data allows.
struct Moments {
  Tensor mean, squares, centered;

  /// Differences from the mean are multiplied by `scale`, if it has a value, before they are
  /// squared. `corrects`: the squares are corrected by what a mean that was rounded leaves of the
  /// differences (Chan, Golub, LeVeque, 1983, formula 1.7).
  static Moments get(TensorBuilder &b, Tensor x, ArrayRef<int64_t> dims, Tensor scale = {},
                     bool corrects = false);
};
/// squares / max(count - correction, 0).
Tensor varianceOf(TensorBuilder &b, const Moments &moments, Tensor x, ArrayRef<int64_t> dims,
                  double correction);

} // namespace mlir::frit
