#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

/// Elementary functions as arithmetic, for targets without a math library. Every operation below is
/// emitted on the type of its operand, a scalar or a vector of any length.
///
/// The error is at most 2 ulp (4 for pow, tan, sinh, cosh) in f32. There are two implementations:
///
///   FloatMath: the hot functions exp, exp2, log, tanh and erf stay in f32. Each reduces its
///     argument exactly, evaluates one minimax polynomial by Horner's rule with fused
///     multiply-adds, and scales back in steps that cannot overflow early.
///   WideMath: the others go through f64, where a reduction by one fused multiply-add and a
///     short series have an error around 1e-12, so only the last rounding to f32 counts.
///     Denormals and arguments near zeros of the function need no special cases. It takes
///     twice as many vectors.
///
/// Coefficients come from scripts/fit-polynomials.py (weighted least squares on Chebyshev nodes,
/// reweighted towards equal ripple), and the error that it reports is noted at each table. Errors
/// over all exponents are measured by tests/unit/codegen.
namespace mlir::frit {

/// Arithmetic on one float type (scalar or vector), short enough to read as formulas. Results carry
/// no fast-math flags: reductions rely on the order.
class FloatBuilder {
public:
  FloatBuilder(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), type(type) {}

  Type getType() const { return type; }
  unsigned width() const { return getElementTypeOrSelf(type).getIntOrFloatBitWidth(); }
  /// The type with the same shape and this element.
  Type withElement(Type element) const;
  Type getIntType() const { return withElement(builder.getIntegerType(width())); }

  Value constant(double value) const;
  Value intConstant(int64_t value) const;

  Value add(Value a, Value b) const { return arith::AddFOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) const { return arith::SubFOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) const { return arith::MulFOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) const { return arith::DivFOp::create(builder, loc, a, b); }
  Value fma(Value a, Value b, Value c) const { return math::FmaOp::create(builder, loc, a, b, c); }
  Value neg(Value a) const { return arith::NegFOp::create(builder, loc, a); }
  Value abs(Value a) const { return math::AbsFOp::create(builder, loc, a); }
  Value sqrt(Value a) const { return math::SqrtOp::create(builder, loc, a); }
  Value floor(Value a) const { return math::FloorOp::create(builder, loc, a); }
  /// Works on the bits. LLVM would narrow the result of a copysign but keep its sign operand a
  /// double, and convert that to half by a call of __truncdfhf2.
  Value copySign(Value a, Value sign) const;
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) const {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) const {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  /// Both keep a NaN in `a`, for which the comparison is false.
  Value atMost(Value a, double limit) const;
  Value atLeast(Value a, double limit) const;
  /// c[0] + x * (c[1] + x * (...)).
  Value horner(Value x, ArrayRef<double> coefficients) const;

  Value bits(Value a) const { return arith::BitcastOp::create(builder, loc, getIntType(), a); }
  Value fromBits(Value a) const { return arith::BitcastOp::create(builder, loc, type, a); }
  Value addInt(Value a, Value b) const { return arith::AddIOp::create(builder, loc, a, b); }
  Value subInt(Value a, Value b) const { return arith::SubIOp::create(builder, loc, a, b); }
  Value shiftLeft(Value a, int64_t by) const {
    return arith::ShLIOp::create(builder, loc, a, intConstant(by));
  }
  Value shiftRight(Value a, int64_t by) const {
    return arith::ShRSIOp::create(builder, loc, a, intConstant(by));
  }
  /// Converts a signed integer to this float type.
  Value toFloat(Value a) const { return arith::SIToFPOp::create(builder, loc, type, a); }

  /// Rounds to an integer n without a conversion that NaN would poison: adding
  /// 1.5 * 2^mantissa leaves n in the low bits. Returns (n as float, n as int).
  std::pair<Value, Value> round(Value x) const;
  /// 2^n for n in the normal range.
  Value powerOfTwo(Value n) const;

  OpBuilder &builder;
  Location loc;

private:
  Type type;
};

/// Calls a function of the runtime on one f64 lane; `name` is that of C's math.h.
using ScalarCall = llvm::function_ref<Value(OpBuilder &, Location, StringRef name, ValueRange)>;

/// Emits `op` of the math dialect as arithmetic on f32 operands (scalar or vector). Functions
/// without a polynomial (erfc, and sin, cos and tan of arguments beyond 2^30) call `call` for each
/// lane. Null if the function is none of these.
Value emitVectorMath(OpBuilder &builder, Operation *op, ValueRange operands, ScalarCall call);

namespace vector_math {
using UnaryFunction = llvm::function_ref<Value(Value)>;

Value expF32(const FloatBuilder &f, Value x);
Value exp2F32(const FloatBuilder &f, Value x);
Value logF32(const FloatBuilder &f, Value x);
Value tanhF32(const FloatBuilder &f, Value x);
Value erfF32(const FloatBuilder &f, Value x);
/// Short forms for results that are rounded to half types (codegen/gpu/emit/ApproximateMath.cpp).
/// `exp2` and `reciprocal` may be approximate. Errors relative to the result are below 2^-14, and
/// 1 + f(x) for x far below 0 errs by less than 2^-14 of itself and 2^-23.
Value erfOfHalves(const FloatBuilder &f, Value x, UnaryFunction exp2);
Value tanhOfHalves(const FloatBuilder &f, Value x, UnaryFunction exp2, UnaryFunction reciprocal);
/// Takes and returns f32; null if the function is none of WideMath's.
Value emitWideMath(OpBuilder &builder, Operation *op, ValueRange operands, ScalarCall call);
} // namespace vector_math

} // namespace mlir::frit
