#pragma once

#include "passes/legalize/Dtypes.h"

#include "ir/FritOps.h"
#include "ir/SizeExpr.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

#include <variant>

/// Builds operations of the vocabulary with torch's semantics. A legalisation rule says what an
/// operator computes; this class expresses it: constants are rank 0 and broadcast by a reindex,
/// operands of a binary operation are brought to one shape, signedness comes from the dtype, and a
/// cast is the sequence of arith operations that rounds, truncates and wraps as torch does on the
/// CPU.
///
/// The arithmetic itself never promotes: both operands have one dtype, and it is
/// not a half type (rules cast to `getMathDtype` first and `cast` back).
namespace mlir::frit {

/// A tensor value with its torch dtype.
struct Tensor {
  Value value;
  DType dtype = DType::F32;

  RankedTensorType type() const { return cast<RankedTensorType>(value.getType()); }
  int64_t rank() const { return type().getRank(); }
  SmallVector<SizeExpr> sizes() const { return getSizes(type()); }
};

/// A Python scalar: a literal, or a value known at run time only (i64, f64, i1).
struct Scalar {
  std::variant<int64_t, double, bool, Value> value;

  DType dtype() const;
  /// The literal's value; nullopt for a run-time value.
  std::optional<double> literal() const;
  bool isLiteral(double number) const { return literal() == number; }
};

class TensorBuilder {
public:
  using Sizes = ArrayRef<SizeExpr>;

  TensorBuilder(OpBuilder &builder, Location loc, const SizeFacts &facts, bool contract)
      : builder(builder), loc(loc), facts(facts), contract(contract) {}

  MLIRContext *getContext() const { return builder.getContext(); }
  OpBuilder &getBuilder() { return builder; }
  Location getLoc() const { return loc; }
  const SizeFacts &getFacts() const { return facts; }
  /// Whether results must have eager's bits, so sums are rounded as eager rounds them.
  bool isExact() const { return !contract; }
  SizeExpr size(int64_t value) const { return SizeExpr::constant(getContext(), value); }
  SizeExpr dim(unsigned position) const { return SizeExpr::dim(getContext(), position); }

  //===--- making ---------------------------------------------------------===//
  /// A rank-0 constant, rounded to `dtype`.
  Tensor constant(DType dtype, double value);
  Tensor constantInt(DType dtype, int64_t value);
  /// A rank-0 tensor of a scalar, converted to `dtype`.
  Tensor scalar(const Scalar &scalar, DType dtype);
  /// A rank-0 tensor of the run-time value of a size.
  Tensor sizeValue(SizeExpr size, DType dtype);
  /// `expr` over the indices d0.., as i64.
  Tensor iota(SizeExpr expr, Sizes sizes);
  /// An i64 index, checked by a gather from 0, 1, 2, ..: an index outside of [0, extent) raises the
  /// error of operator `raises`, for dimension `dim` if it is given. Without `raises` it is that of
  /// indexing by tensors: negative indices count from the end.
  Tensor checkedIndex(Tensor index, SizeExpr extent,
                      std::optional<IndexError> raises = std::nullopt,
                      std::optional<int64_t> dim = std::nullopt);
  TypedAttr elementAttr(DType dtype, const Scalar &literal);

  //===--- moving ---------------------------------------------------------===//
  Tensor reindex(Tensor x, ArrayRef<SizeExpr> results, Sizes sizes);
  Tensor reindex(Tensor x, MapAttr map, Sizes sizes, TypedAttr fill = {});
  /// Adds a guard for two sizes that torch proved equal and the size algebra cannot.
  void assumeEqual(SizeExpr a, SizeExpr b);
  void assumeBetween(SizeExpr a, int64_t low, int64_t high);
  /// Numpy broadcasting to `sizes`.
  Tensor broadcast(Tensor x, Sizes sizes);
  /// Row-major reshape; a change of size-1 dims only is a reindex.
  Tensor reshape(Tensor x, Sizes sizes);
  Tensor permute(Tensor x, ArrayRef<int64_t> order);
  Tensor unsqueeze(Tensor x, int64_t dim);
  /// `length` elements of `dim` from `start` in steps of `step`.
  Tensor slice(Tensor x, int64_t dim, SizeExpr start, SizeExpr length, int64_t step = 1);
  Tensor concat(ArrayRef<Tensor> pieces, int64_t dim, Sizes sizes);
  /// The sizes two tensors broadcast to.
  SmallVector<SizeExpr> broadcastSizes(Sizes lhs, Sizes rhs);

  //===--- reducing -------------------------------------------------------===//
  /// Reduces `dims` (sorted); with `keep` they stay with size 1.
  Tensor reduce(ReduceKind kind, Tensor x, ArrayRef<int64_t> dims, bool keep);
  Tensor scan(ReduceKind kind, Tensor x, int64_t dim);
  /// The product of the sizes of `dims`.
  SizeExpr extent(Tensor x, ArrayRef<int64_t> dims);

  //===--- casts ----------------------------------------------------------===//
  /// `implicit` marks a rounding that a chain of fused operations may skip.
  Tensor cast(Tensor x, DType to, bool implicit = false);
  Tensor toMath(Tensor x) { return cast(x, getMathDtype(x.dtype)); }

  //===--- arithmetic -----------------------------------------------------===//
  Tensor add(Tensor a, Tensor b);
  Tensor sub(Tensor a, Tensor b);
  Tensor mul(Tensor a, Tensor b);
  /// Floating: IEEE. Integers: towards zero; a zero divisor raises at run time.
  Tensor div(Tensor a, Tensor b);
  /// c + a * b and c - a * b, which eager computes in one kernel. They round once even where
  /// nothing else may be contracted, as torch's kernels are compiled with contraction.
  Tensor addProduct(Tensor c, Tensor a, Tensor b);
  Tensor subProduct(Tensor c, Tensor a, Tensor b);
  Tensor rem(Tensor a, Tensor b);
  Tensor neg(Tensor a);
  Tensor abs(Tensor a);
  /// NaN if either operand is NaN.
  Tensor maximum(Tensor a, Tensor b);
  Tensor minimum(Tensor a, Tensor b);
  Tensor square(Tensor a) { return mul(a, a); }
  /// The same with a literal in `a`'s dtype.
  Tensor add(Tensor a, double b) { return add(a, constant(a.dtype, b)); }
  Tensor sub(Tensor a, double b) { return sub(a, constant(a.dtype, b)); }
  Tensor mul(Tensor a, double b) { return mul(a, constant(a.dtype, b)); }
  Tensor div(Tensor a, double b) { return div(a, constant(a.dtype, b)); }

  //===--- bits and conditions ---------------------------------------------===//
  Tensor bitAnd(Tensor a, Tensor b);
  Tensor bitOr(Tensor a, Tensor b);
  Tensor bitXor(Tensor a, Tensor b);
  Tensor logicalNot(Tensor a);
  /// Ordered comparisons; NE is true on NaN.
  enum class Compare { EQ, NE, LT, LE, GT, GE };
  Tensor compare(Compare predicate, Tensor a, Tensor b);
  Tensor compare(Compare predicate, Tensor a, double b) {
    return compare(predicate, a, constant(a.dtype, b));
  }
  Tensor isNan(Tensor a);
  Tensor select(Tensor condition, Tensor a, Tensor b);

  /// A math dialect operation on one floating tensor.
  template <typename OpTy> Tensor math(Tensor x) {
    return {OpTy::create(builder, loc, x.value)->getResult(0), x.dtype};
  }
  template <typename OpTy> Tensor math(Tensor x, Tensor y) {
    unify(x, y);
    return {OpTy::create(builder, loc, x.value, y.value)->getResult(0), x.dtype};
  }
  template <typename OpTy> Tensor math(Tensor x, Tensor y, Tensor z) {
    unify(x, y);
    unify(x, z);
    unify(x, y);
    return {OpTy::create(builder, loc, x.value, y.value, z.value)->getResult(0), x.dtype};
  }
  /// Brings both to their common shape.
  void unify(Tensor &a, Tensor &b);

private:
  template <typename OpTy> Tensor binary(Tensor a, Tensor b, DType dtype);
  template <typename OpTy> Tensor floating(Tensor a, Tensor b);
  Tensor convert(Tensor x, DType to);
  RankedTensorType typeOf(Sizes sizes, DType dtype) const;
  bool isOne(SizeExpr size) const { return size.isConstant(1); }

  OpBuilder &builder;
  Location loc;
  const SizeFacts &facts;
  bool contract;
};

} // namespace mlir::frit
