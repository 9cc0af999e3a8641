// Sums, means and moments that several rules of reductions and norms share.
#include "passes/legalize/Statistics.h"
#include "ir/Planted.h"

using namespace mlir;
using namespace mlir::frit;

Tensor mlir::frit::countOf(TensorBuilder &b, Tensor x, ArrayRef<int64_t> dims, DType dtype) {
  return b.sizeValue(b.extent(x, dims), dtype);
}

Tensor mlir::frit::sumOver(TensorBuilder &b, Tensor x, ArrayRef<int64_t> dims, bool keep) {
  return b.reduce(ReduceKind::Sum, x, dims, keep);
}

Tensor mlir::frit::meanOver(TensorBuilder &b, Tensor x, ArrayRef<int64_t> dims, bool keep) {
  Tensor count = countOf(b, x, dims, x.dtype);
  if (isPlanted(Mistake::EmptyMean)) {
    count = b.maximum(count, b.constant(x.dtype, 1));
  }
  return b.div(sumOver(b, x, dims, keep), count);
}

Moments Moments::get(AtenCall &call, Tensor x, ArrayRef<int64_t> dims) {
  TensorBuilder &b = call.build();
  auto mean = [&](Tensor value) { return meanOver(b, value, dims, /*keep=*/true); };
  Moments m;
  m.mean = mean(x);
  m.centered = b.sub(x, m.mean);
  m.variance = mean(b.square(m.centered));
  if (x.dtype == DType::F32 && !call.isForGpu()) {
    Tensor rest = mean(m.centered);
    m.mean = b.add(m.mean, rest);
    m.centered = b.sub(x, m.mean);
    m.variance = b.maximum(b.sub(m.variance, b.square(rest)), b.constant(x.dtype, 0));
  }
  return m;
}
