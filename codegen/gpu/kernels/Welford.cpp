#include "codegen/gpu/kernels/Welford.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::frit;

Value Welford::constant(double value) {
  return arith::ConstantOp::create(builder, loc, FloatAttr::get(element, value));
}

static unsigned lanesOf(Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? vector.getNumElements() : 1;
}

/// Applies an operation to two values, either of which may be a scalar that stands for all lanes.
template <typename Op> Value Welford::make(Value a, Value b) {
  unsigned lanes = std::max(lanesOf(a), lanesOf(b));
  return Op::create(builder, loc, emitter.splat(loc, a, lanes), emitter.splat(loc, b, lanes));
}

/// a b + c, rounded once.
Value Welford::addProduct(Value a, Value b, Value c) {
  unsigned lanes = std::max({lanesOf(a), lanesOf(b), lanesOf(c)});
  return math::FmaOp::create(builder, loc, emitter.splat(loc, a, lanes),
                             emitter.splat(loc, b, lanes), emitter.splat(loc, c, lanes));
}

/// 1 / count, or 1 for a count of 0, so that nothing becomes NaN. An approximate quotient in each
/// step would be visible in f32 results, and an IEEE division has a branch for subnormals, which
/// counts never are. So this is an approximate quotient with one Newton step.
Value Welford::reciprocal(Value count) {
  Value one = constant(1);
  Value some = make<arith::MaximumFOp>(count, one);
  bool isSingle = getElementTypeOrSelf(some).isF32();
  Value inverse =
      arith::DivFOp::create(builder, loc, emitter.splat(loc, one, lanesOf(some)), some,
                            isSingle ? arith::FastMathFlags::contract : arith::FastMathFlags::none);
  if (!isSingle) {
    return inverse;
  }
  Value error = addProduct(arith::NegFOp::create(builder, loc, some), inverse, one);
  return addProduct(inverse, error, inverse);
}

Value Welford::select(Value mask, Value value, Value otherwise) {
  if (!mask) {
    return value;
  }
  unsigned lanes = std::max({lanesOf(mask), lanesOf(value), lanesOf(otherwise)});
  return arith::SelectOp::create(builder, loc, mask, emitter.splat(loc, value, lanes),
                                 emitter.splat(loc, otherwise, lanes));
}

Value Welford::isFinite(Value value) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT,
                               math::AbsFOp::create(builder, loc, value),
                               emitter.splat(loc, constant(INFINITY), lanesOf(value)));
}

Value Welford::isEmpty(Value count) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, count,
                               emitter.splat(loc, constant(0), lanesOf(count)));
}

/// Adds the contribution of the distance between two means to their squared deviations: distance^2
/// nA nB / n. The weight, which is 0 where one side is empty, is multiplied with one factor first:
/// distance^2 alone may overflow.
Value Welford::addSquares(Value squares, Value distance, Value countA, Value countB, Value count) {
  Value weight = make<arith::MulFOp>(make<arith::MulFOp>(countA, countB), reciprocal(count));
  return addProduct(make<arith::MulFOp>(distance, weight), distance, squares);
}

SmallVector<Value> Welford::combine(ValueRange a, ValueRange b) {
  Value count = make<arith::AddFOp>(a[Count], b[Count]);
  Value apart = make<arith::AddFOp>(make<arith::SubFOp>(b[First], a[First]),
                                    make<arith::SubFOp>(b[Distance], a[Distance]));
  SmallVector<Value> joined(NumValues);
  joined[Squares] =
      addSquares(make<arith::AddFOp>(a[Squares], b[Squares]), apart, a[Count], b[Count], count);
  joined[Count] = count;
  Value distance = addProduct(apart, make<arith::MulFOp>(b[Count], reciprocal(count)), a[Distance]);
  // There is no distance between infinite means. If one side is empty the other stays as it is.
  distance = select(isFinite(apart), distance, make<arith::AddFOp>(a[Distance], b[Distance]));
  joined[Distance] = select(isEmpty(a[Count]), b[Distance], distance);
  joined[First] = select(isEmpty(a[Count]), b[First], a[First]);
  return joined;
}

Value Welford::squares(ValueRange values) {
  Value zeroOrNan = make<arith::SubFOp>(values[Distance], values[Distance]);
  return make<arith::AddFOp>(values[Squares], zeroOrNan);
}

SmallVector<Value> Welford::leave(ValueRange running) {
  SmallVector<Value> values(running);
  values[Distance] = make<arith::MulFOp>(running[Distance], reciprocal(running[Count]));
  return values;
}

SmallVector<Value> Welford::addTile(ValueRange running, ArrayRef<Value> rows,
                                    ArrayRef<Value> masks) {
  bool isMasked = llvm::any_of(masks, [](Value mask) { return static_cast<bool>(mask); });
  Value zero = constant(0), one = constant(1), first = select(masks[0], rows[0], zero);
  SmallVector<Value> next(NumValues), distances;
  next[First] =
      select(isEmpty(running[Count]), select(isFinite(first), first, zero), running[First]);
  Value sum, count = constant(static_cast<double>(rows.size()));
  for (auto [i, row] : llvm::enumerate(rows)) {
    distances.push_back(select(masks[i], make<arith::SubFOp>(row, next[First]), zero));
    sum = i == 0 ? distances[0] : make<arith::AddFOp>(sum, distances[i]);
    if (isMasked) {
      Value own = select(masks[i], one, zero);
      count = i == 0 ? own : make<arith::AddFOp>(count, own);
    }
  }
  Value mean = sum;
  next[Squares] = running[Squares];
  if (rows.size() > 1) {
    mean = make<arith::MulFOp>(sum, isMasked ? reciprocal(count)
                                             : constant(1.0 / static_cast<double>(rows.size())));
    Value squares = zero;
    for (auto [i, distance] : llvm::enumerate(distances)) {
      Value difference = select(masks[i], make<arith::SubFOp>(distance, mean), zero);
      squares = i == 0 ? make<arith::MulFOp>(difference, difference)
                       : addProduct(difference, difference, squares);
    }
    next[Squares] = make<arith::AddFOp>(next[Squares], squares);
  }
  next[Count] = make<arith::AddFOp>(running[Count], count);
  Value negative = arith::NegFOp::create(builder, loc, running[Distance]);
  Value apart = addProduct(negative, reciprocal(running[Count]), mean);
  next[Squares] = addSquares(next[Squares], apart, running[Count], count, next[Count]);
  next[Distance] = make<arith::AddFOp>(running[Distance], sum);
  return next;
}
