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

/// Mean, x - mean and the biased variance over `dims` of `x` (in a math dtype); mean and variance
/// keep the dims with size 1. On CPUs f32 statistics are corrected by the mean of x - mean, which
/// is not 0 where the mean was rounded: equal values then have variance 0, as in ATen (Chan, Golub,
/// LeVeque, 1983, formula 1.7).
struct Moments {
  Tensor mean, centered, variance;

  static Moments get(AtenCall &call, Tensor x, ArrayRef<int64_t> dims);
};

} // namespace mlir::frit
