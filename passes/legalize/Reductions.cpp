// Reductions, with the dtypes in which they accumulate and to which they round.
#include "ir/Planted.h"
#include "passes/legalize/Operands.h"
#include "passes/legalize/Statistics.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::frit;
using Compare = TensorBuilder::Compare;
using Dims = SmallVector<int64_t>;

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// sum and prod: the input is cast to the result's dtype first, as torch does, then
/// widened to the accumulator.
static SingleRule accumulate(ReduceKind kind, bool hasDims) {
  return [=](AtenCall &call, TensorBuilder &b) {
    Tensor x = call.tensor("self");
    Dims dims;
    if (kind == ReduceKind::Prod && hasDims) {
      dims = x.rank() == 0 ? Dims() : Dims{call.dim("dim", x.rank())};
    } else {
      dims = call.dims(hasDims ? 1 : ~0u, x.rank());
    }
    bool keep = hasDims && call.boolean("keepdim");
    if (!isPlanted(Mistake::NarrowSums) || isFloating(call.resultDtype())) {
      x = b.cast(x, call.resultDtype());
      x = b.cast(x, getAccumulatorDtype(x.dtype));
    }
    return b.reduce(kind, x, dims, keep);
  };
}

/// cumsum and cumprod, with the dtypes of sum and prod. On GPUs alone; and where rows are few and
/// long, ATen's kernel is left, which shares a row among blocks.
static SingleRule scan(ReduceKind kind) {
  return [=](AtenCall &call, TensorBuilder &b) {
    constexpr int64_t fewRows = 32, longRow = 16384;
    Tensor x = call.tensor("self");
    if (!call.isForGpu() || call.resultDtype() == DType::Bool) {
      call.refuse("a scan: not in the vocabulary");
      return x;
    }
    x = b.cast(x, call.resultDtype());
    x = b.cast(x, getAccumulatorDtype(x.dtype));
    if (x.rank() == 0) {
      return x;
    }
    int64_t dim = call.dim("dim", x.rank());
    SmallVector<SizeExpr> sizes = x.sizes();
    SizeExpr length = sizes[dim];
    sizes.erase(sizes.begin() + dim);
    auto rows = product(length.getContext(), sizes).getConstant();
    auto most = b.getFacts().upperBound(length);
    if (rows && *rows < fewRows && (!most || *most > longRow)) {
      call.refuse("a scan of few long rows: ATen shares a row among blocks");
      return x;
    }
    return b.scan(kind, x, dim);
  };
}

static Tensor mean(AtenCall &call, TensorBuilder &b, bool hasDims) {
  Tensor x = call.tensor("self");
  Dims dims = call.dims(hasDims ? 1 : ~0u, x.rank());
  x = b.toMath(b.cast(x, call.resultDtype()));
  if (!isFloating(x.dtype)) {
    call.refuse("a mean of integers");
    return x;
  }
  return meanOver(b, x, dims, hasDims && call.boolean("keepdim"));
}

/// Whether the reduced extent may be empty: eager raises an error for extremes of nothing.
static bool mayBeEmpty(AtenCall &call, TensorBuilder &b, Tensor x, ArrayRef<int64_t> dims) {
  SizeExpr extent = b.extent(x, dims);
  return !b.getFacts().provablyLess(b.size(0), extent);
}

/// The operand in a dtype that orders in the same way: f32 for half types, bytes for bool.
static Tensor ordered(TensorBuilder &b, Tensor x) {
  return x.dtype == DType::Bool ? b.cast(x, DType::U8) : b.toMath(x);
}

static Tensor extreme(AtenCall &call, TensorBuilder &b, ReduceKind kind, ArrayRef<int64_t> dims,
                      bool keep) {
  Tensor x = call.tensor("self");
  if (mayBeEmpty(call, b, x, dims)) {
    call.refuse("the reduced extent may be empty");
    return x;
  }
  return b.reduce(kind, ordered(b, x), dims, keep);
}

static SingleRule extremeOver(ReduceKind kind) {
  return [=](AtenCall &call, TensorBuilder &b) {
    return extreme(call, b, kind, call.dims("dim", call.tensor("self").rank()),
                   call.boolean("keepdim"));
  };
}

static SingleRule extremeOfAll(ReduceKind kind) {
  return [=](AtenCall &call, TensorBuilder &b) {
    return extreme(call, b, kind, call.dims(~0u, call.tensor("self").rank()), false);
  };
}

// max.dim(self, dim, keepdim) -> values, indices
static Rule extremeWithIndex(ReduceKind value, ReduceKind position) {
  return [=](AtenCall &call) -> Values {
    TensorBuilder &b = call.build();
    Tensor x = call.tensor("self");
    Dims dims = x.rank() == 0 ? Dims() : Dims{call.dim("dim", x.rank())};
    bool keep = call.boolean("keepdim");
    if (mayBeEmpty(call, b, x, dims)) {
      return call.refuse("the reduced extent may be empty");
    }
    Tensor in = ordered(b, x);
    return SmallVector<Tensor>{call.finish(b.reduce(value, in, dims, keep), 0),
                               call.finish(b.reduce(position, in, dims, keep), 1)};
  };
}

// argmax(self, dim, keepdim)
static SingleRule position(ReduceKind kind) {
  return [=](AtenCall &call, TensorBuilder &b) {
    Tensor x = call.tensor("self");
    Dims dims = call.dims("dim", x.rank());
    if (mayBeEmpty(call, b, x, dims)) {
      call.refuse("the reduced extent may be empty");
      return x;
    }
    return b.reduce(kind, ordered(b, x), dims, call.boolean("keepdim"));
  };
}

static SingleRule truth(ReduceKind kind, bool hasDims) {
  return [=](AtenCall &call, TensorBuilder &b) {
    Tensor x = call.tensor("self");
    Dims dims = call.dims(hasDims ? 1 : ~0u, x.rank());
    return b.reduce(kind, b.cast(x, DType::Bool), dims, hasDims && call.boolean("keepdim"));
  };
}

namespace {
/// A power of two that scales rows before they are squared (`to`), and its inverse (`back`). ATen's
/// CPU kernel accumulates in f64; in f32 squares overflow from 1.8e19 on and vanish below 1e-23,
/// where the standard deviation does neither. Rows whose squares add up to 1e-24 to 1e32 are not
/// scaled.
struct Scale {
  Tensor to, back;

  static Scale get(TensorBuilder &b, Tensor x, ArrayRef<int64_t> dims) {
    // The variance is no larger than the mean of the squares.
    Tensor squares = sumOver(b, b.square(x), dims, /*keep=*/true);
    Tensor isLarge = b.compare(Compare::GT, squares, 1e32),
           isSmall = b.compare(Compare::LT, squares, 1e-24);
    Tensor one = b.constant(x.dtype, 1);
    Tensor up = b.select(isSmall, b.constant(x.dtype, std::ldexp(1.0, 90)), one);
    Tensor to = b.select(isLarge, b.constant(x.dtype, std::ldexp(1.0, -80)), up);
    return {to, b.div(one, to)};
  }
};
} // namespace

/// The sum of ((x - mean) * scale)^2 over `dims`, which stay with size 1; no scale is 1.
/// `corrects`: less what the rounding of the mean adds (Chan, Golub, LeVeque, 1983, formula 1.7).
static Tensor squaresAbout(TensorBuilder &b, Tensor x, Tensor mean, ArrayRef<int64_t> dims,
                           Tensor scale, bool corrects) {
  Tensor centered = b.sub(x, mean);
  centered = scale.value ? b.mul(centered, scale) : centered;
  Tensor squares = sumOver(b, b.square(centered), dims, /*keep=*/true);
  if (!corrects) {
    return squares;
  }
  Tensor rest = b.square(sumOver(b, centered, dims, /*keep=*/true));
  rest = b.div(rest, countOf(b, x, dims, x.dtype));
  return b.maximum(b.sub(squares, rest), b.constant(x.dtype, 0));
}

/// max(count - correction, 0)
static Tensor degreesOfFreedom(TensorBuilder &b, Tensor x, ArrayRef<int64_t> dims,
                               double correction) {
  if (auto count = b.extent(x, dims).getConstant()) {
    return b.constant(x.dtype, std::max(static_cast<double>(*count) - correction, 0.0));
  }
  return b.maximum(b.sub(countOf(b, x, dims, x.dtype), correction), b.constant(x.dtype, 0));
}

/// var(self, dim, correction, keepdim); the older overloads give `unbiased`.
static Rule variance(bool root, bool withMean, bool isUnbiasedForm) {
  return [=](AtenCall &call) -> Values {
    TensorBuilder &b = call.build();
    Tensor x = b.toMath(call.tensor("self"));
    Dims dims = call.dims("dim", x.rank());
    double correction = 1;
    if (isUnbiasedForm) {
      correction = call.boolean("unbiased") ? 1 : 0;
    } else if (!call.isNone("correction")) {
      correction = call.number("correction");
    }
    bool keep = call.boolean("keepdim");
    bool scales =
        x.dtype == DType::F32 && call.tensor("self").dtype != DType::F16 && !call.isForGpu();
    Scale scale = scales ? Scale::get(b, x, dims) : Scale();
    Tensor mean = meanOver(b, x, dims, /*keep=*/true);
    Tensor squares = squaresAbout(b, x, mean, dims, scale.to, /*corrects=*/scales);
    Tensor value = b.div(squares, degreesOfFreedom(b, x, dims, correction));
    value = root ? b.math<math::SqrtOp>(value) : value;
    for (int powers = scales ? (root ? 1 : 2) : 0; powers > 0; --powers) {
      value = b.mul(value, scale.back);
    }
    auto shaped = [&](Tensor kept, unsigned i) {
      return call.finish(keep ? kept : b.reshape(kept, call.resultSizes(i)), i);
    };
    SmallVector<Tensor> results = {shaped(value, 0)};
    if (withMean) {
      results.push_back(shaped(mean, 1));
    }
    return results;
  };
}

static Tensor logSumExp(AtenCall &call, TensorBuilder &b) {
  Tensor x = b.cast(call.tensor("self"), getMathDtype(call.resultDtype()));
  Dims dims = call.dims("dim", x.rank());
  if (call.integers("dim").empty() && x.rank() > 0 && !call.boolean("keepdim")) {
    // Eager reduces all dims, and then refuses the result's shape.
    call.refuse("no dim is given");
    return x;
  }
  Tensor top = b.reduce(ReduceKind::Max, x, dims, /*keep=*/true);
  // An infinite maximum would give inf - inf.
  top = b.select(b.compare(Compare::EQ, b.abs(top), INFINITY), b.constant(x.dtype, 0), top);
  Tensor sum = sumOver(b, b.math<math::ExpOp>(b.sub(x, top)), dims, /*keep=*/true);
  Tensor result = b.add(b.math<math::LogOp>(sum), top);
  return b.reshape(result, call.resultSizes());
}

// linalg_vector_norm(self, ord, dim, keepdim, dtype)
static Tensor vectorNorm(AtenCall &call, TensorBuilder &b) {
  Tensor x = b.toMath(b.cast(call.tensor("self"), call.resultDtype()));
  double order = call.number("ord");
  Dims dims = call.dims("dim", x.rank());
  bool keep = call.boolean("keepdim");
  if (std::isinf(order)) {
    if (mayBeEmpty(call, b, x, dims)) {
      call.refuse("the reduced extent may be empty");
      return x;
    }
    return b.reduce(order > 0 ? ReduceKind::Max : ReduceKind::Min, b.abs(x), dims, keep);
  }
  if (order == 0) {
    return sumOver(b, b.cast(b.compare(Compare::NE, x, 0), x.dtype), dims, keep);
  }
  if (order == 1) {
    return sumOver(b, b.abs(x), dims, keep);
  }
  if (order == 2) {
    return b.math<math::SqrtOp>(sumOver(b, b.square(x), dims, keep));
  }
  Tensor powers = b.math<math::PowFOp>(b.abs(x), b.constant(x.dtype, order));
  return b.math<math::PowFOp>(sumOver(b, powers, dims, keep), b.constant(x.dtype, 1 / order));
}

void mlir::frit::addReductionRules(RuleTable &table) {
  table.addSingle({"aten.sum.dim_IntList"}, accumulate(ReduceKind::Sum, true));
  table.addSingle({"aten.sum.default"}, accumulate(ReduceKind::Sum, false));
  table.addSingle({"aten.prod.dim_int"}, accumulate(ReduceKind::Prod, true));
  table.addSingle({"aten.prod.default"}, accumulate(ReduceKind::Prod, false));
  table.addSingle({"aten.cumsum.default"}, scan(ReduceKind::Sum));
  table.addSingle({"aten.cumprod.default"}, scan(ReduceKind::Prod));
  table.addSingle({"aten.mean.dim"},
                  [](AtenCall &call, TensorBuilder &b) { return mean(call, b, true); });
  table.addSingle({"aten.mean.default"},
                  [](AtenCall &call, TensorBuilder &b) { return mean(call, b, false); });
  table.addSingle({"aten.amax.default"}, extremeOver(ReduceKind::Max));
  table.addSingle({"aten.amin.default"}, extremeOver(ReduceKind::Min));
  table.addSingle({"aten.max.default"}, extremeOfAll(ReduceKind::Max));
  table.addSingle({"aten.min.default"}, extremeOfAll(ReduceKind::Min));
  table.add({"aten.max.dim"}, extremeWithIndex(ReduceKind::Max, ReduceKind::ArgMax));
  table.add({"aten.min.dim"}, extremeWithIndex(ReduceKind::Min, ReduceKind::ArgMin));
  table.addSingle({"aten.argmax.default"}, position(ReduceKind::ArgMax));
  table.addSingle({"aten.argmin.default"}, position(ReduceKind::ArgMin));
  table.addSingle({"aten.any.dim", "aten.any.dims"}, truth(ReduceKind::Any, true));
  table.addSingle({"aten.any.default"}, truth(ReduceKind::Any, false));
  table.addSingle({"aten.all.dim", "aten.all.dims"}, truth(ReduceKind::All, true));
  table.addSingle({"aten.all.default"}, truth(ReduceKind::All, false));
  table.add({"aten.var.correction"}, variance(false, false, false));
  table.add({"aten.var.dim"}, variance(false, false, true));
  table.add({"aten.std.correction"}, variance(true, false, false));
  table.add({"aten.std.dim"}, variance(true, false, true));
  table.add({"aten.var_mean.correction"}, variance(false, true, false));
  table.add({"aten.var_mean.dim"}, variance(false, true, true));
  table.add({"aten.std_mean.correction"}, variance(true, true, false));
  table.add({"aten.std_mean.dim"}, variance(true, true, true));
  table.addSingle({"aten.logsumexp.default"}, logSumExp);
  table.addSingle({"aten.linalg_vector_norm.default"}, vectorNorm);
}
