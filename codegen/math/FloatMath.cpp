// The most frequent functions, computed in f32.
#include "codegen/math/VectorMath.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::frit;

//===----------------------------------------------------------------------===//
// FloatBuilder
//===----------------------------------------------------------------------===//

Type FloatBuilder::withElement(Type element) const {
  if (auto vector = dyn_cast<VectorType>(type)) {
    return VectorType::get(vector.getShape(), element);
  }
  return element;
}

static Value splat(OpBuilder &builder, Location loc, Type type, TypedAttr element) {
  if (auto vector = dyn_cast<VectorType>(type)) {
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(vector, Attribute(element)));
  }
  return arith::ConstantOp::create(builder, loc, element);
}

Value FloatBuilder::constant(double value) const {
  Type element = getElementTypeOrSelf(type);
  return splat(builder, loc, type, builder.getFloatAttr(element, value));
}

Value FloatBuilder::intConstant(int64_t value) const {
  return splat(builder, loc, getIntType(),
               builder.getIntegerAttr(builder.getIntegerType(width()), value));
}

Value FloatBuilder::copySign(Value a, Value sign) const {
  int64_t signBit =
      width() == 32 ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min();
  Value magnitude = arith::AndIOp::create(builder, loc, bits(a), intConstant(~signBit));
  Value upper = arith::AndIOp::create(builder, loc, bits(sign), intConstant(signBit));
  return fromBits(arith::OrIOp::create(builder, loc, magnitude, upper));
}

Value FloatBuilder::atMost(Value a, double limit) const {
  Value bound = constant(limit);
  return select(compare(arith::CmpFPredicate::OGT, a, bound), bound, a);
}

Value FloatBuilder::atLeast(Value a, double limit) const {
  Value bound = constant(limit);
  return select(compare(arith::CmpFPredicate::OLT, a, bound), bound, a);
}

Value FloatBuilder::horner(Value x, ArrayRef<double> coefficients) const {
  Value result = constant(coefficients.back());
  for (double c : llvm::reverse(coefficients.drop_back())) {
    result = fma(result, x, constant(c));
  }
  return result;
}

std::pair<Value, Value> FloatBuilder::round(Value x) const {
  double magic = width() == 32 ? 0x1.8p23 : 0x1.8p52;
  Value shifted = add(x, constant(magic));
  Value n = sub(shifted, constant(magic));
  int64_t magicBits = width() == 32 ? 0x4b400000 : 0x4338000000000000;
  return {n, subInt(bits(shifted), intConstant(magicBits))};
}

Value FloatBuilder::powerOfTwo(Value n) const {
  int64_t bias = width() == 32 ? 127 : 1023, mantissa = width() == 32 ? 23 : 52;
  return fromBits(shiftLeft(addInt(n, intConstant(bias)), mantissa));
}

//===----------------------------------------------------------------------===//
// exp, exp2
//===----------------------------------------------------------------------===//

/// e^r * 2^n for |r| <= ln(2) / 2. The scaling takes two steps because n ranges from -150 to 128,
/// beyond the exponents of one factor; the second product rounds denormals once.
static Value scaledExp(const FloatBuilder &f, Value r, Value n) {
  // (e^r - 1 - r) / r^2, error 3.1e-9 relative to e^r.
  Value q = f.horner(r, {0.49999993437347007, 0.16666520477008503, 0.04166838987404234,
                         0.008368735630891059, 0.0013814559146325934});
  Value p = f.fma(f.mul(r, r), q, r);
  Value half = f.shiftRight(n, 1);
  Value rest = f.subInt(n, half);
  Value first = f.powerOfTwo(half);
  // (1 + p) * 2^half * 2^rest: the fused multiply-add adds 1 without a rounding of its own.
  return f.mul(f.fma(p, first, first), f.powerOfTwo(rest));
}

Value vector_math::expF32(const FloatBuilder &f, Value x) {
  // Beyond 88.73 the result overflows to infinity anyway; below -104 it is 0.
  x = f.atLeast(f.atMost(x, 89.0), -104.0);
  auto [n, exponent] = f.round(f.mul(x, f.constant(0x1.715476p0)));
  // ln(2) in two parts, the first with trailing zeros: n * high is exact.
  Value r = f.fma(n, f.constant(-0x1.62e4p-1), x);
  r = f.fma(n, f.constant(-0x1.7f7d1cp-20), r);
  return scaledExp(f, r, exponent);
}

Value vector_math::exp2F32(const FloatBuilder &f, Value x) {
  x = f.atLeast(f.atMost(x, 129.0), -151.0);
  auto [n, exponent] = f.round(x);
  // x - n is exact. ln(2) has two parts; the second product restores the rounding error of the
  // first.
  Value t = f.sub(x, n);
  Value r = f.mul(t, f.constant(0x1.62e43p-1));
  return scaledExp(f, f.fma(t, f.constant(-0x1.05c610p-29), r), exponent);
}

//===----------------------------------------------------------------------===//
// log
//===----------------------------------------------------------------------===//

Value vector_math::logF32(const FloatBuilder &f, Value x) {
  using P = arith::CmpFPredicate;
  // Scales denormals to the normal range.
  Value tiny = f.compare(P::OLT, x, f.constant(0x1p-126));
  Value scaled = f.select(tiny, f.mul(x, f.constant(0x1p25)), x);
  // x = 2^e * (1 + t) with 1 + t in [sqrt(1/2), sqrt(2)).
  Value i = f.bits(scaled);
  Value e = f.shiftRight(f.subInt(i, f.intConstant(0x3f3504f3)), 23);
  Value t = f.sub(f.fromBits(f.subInt(i, f.shiftLeft(e, 23))), f.constant(1.0));
  Value exponent = f.add(f.toFloat(e), f.select(tiny, f.constant(-25.0), f.constant(0.0)));
  // (log(1+t) - t + t^2/2) / t^3, error 7.5e-10 relative to log(1+t).
  Value q = f.horner(t, {0.33333312602496334, -0.250000096046874, 0.20002118750047684,
                         -0.16667995621789317, 0.14219550555430358, -0.12405592021889514,
                         0.11888177589785903, -0.11675638759087703, 0.06746591832463697});
  Value square = f.mul(t, t);
  Value tail = f.mul(f.mul(square, t), q);
  tail = f.fma(exponent, f.constant(0x1.7f7d1cp-20), tail);
  tail = f.fma(square, f.constant(-0.5), tail);
  Value result = f.fma(exponent, f.constant(0x1.62e4p-1), f.add(t, tail));
  // Infinity, 0, negative arguments and NaN.
  result = f.select(f.compare(P::OEQ, x, f.constant(INFINITY)), x, result);
  result = f.select(f.compare(P::OEQ, x, f.constant(0.0)), f.constant(-INFINITY), result);
  return f.select(f.compare(P::UGE, x, f.constant(0.0)),
                  f.select(f.compare(P::UNO, x, x), x, result), f.constant(NAN));
}

//===----------------------------------------------------------------------===//
// tanh, erf
//===----------------------------------------------------------------------===//

Value vector_math::tanhF32(const FloatBuilder &f, Value x) {
  Value a = f.abs(x);
  // Small: x + x^3 * T(x^2), error 2.6e-9.
  Value u = f.mul(x, x);
  Value t = f.horner(u, {-0.33333299271584577, 0.13331958230819232, -0.05378668262643562,
                         0.020805381573304277, -0.005905865061942228});
  Value small = f.copySign(f.fma(f.mul(x, u), t, x), x); // -0 stays
  // Large: 1 - 2 / (e^(2|x|) + 1); the quotient is at most 0.46, its errors count half.
  Value e = expF32(f, f.add(a, a));
  Value q = f.div(f.constant(2.0), f.add(e, f.constant(1.0)));
  Value large = f.copySign(f.sub(f.constant(1.0), q), x);
  return f.select(f.compare(arith::CmpFPredicate::OLT, a, f.constant(0.6)), small, large);
}

Value vector_math::erfF32(const FloatBuilder &f, Value x) {
  // Small, |x| <= 1: x + x * P(x^2), error 1.2e-9.
  Value u = f.mul(x, x);
  Value p = f.horner(u, {0.12837916572667152, -0.37612625823964424, 0.11283585145566012,
                         -0.026853811807820135, 0.005188327443586549, -0.0008010191498273102,
                         7.853854331284546e-05});
  Value small = f.fma(x, p, x);
  // Large: 1 - e^L(|x|) with L = log(erfc); beyond 4 the result rounds to 1. Error 2e-11.
  Value a = f.atMost(f.abs(x), 4.0);
  Value log = f.horner(a, {0.00018846650622702455, -1.1295803057431013, -0.6332164072961693,
                           -0.1084220892711951, 0.02521033380869492, -0.0042052827468971625,
                           0.0004414722839230389, -2.169758590542433e-05});
  Value large = f.copySign(f.sub(f.constant(1.0), expF32(f, log)), x);
  return f.select(f.compare(arith::CmpFPredicate::OLE, f.abs(x), f.constant(1.0)), small, large);
}

// Both cancel near 0, where the first terms of the series take their place.

Value vector_math::erfOfHalves(const FloatBuilder &f, Value x, UnaryFunction exp2) {
  // 1 - 2^(a * P(a)): the error of the power is at most 2^-14.4 times the smaller of erf and erfc,
  // and 5e-8. Beyond 4 the exponent stays below -26, so the result is 1.
  Value a = f.abs(x);
  Value p = f.horner(a, {-1.6278113531205747, -0.9198345238316328, -0.1456938301505976,
                         0.027432737951919473, -0.002450925124989837});
  Value large = f.sub(f.constant(1.0), exp2(f.mul(a, p)));
  Value small = f.mul(a, f.constant(1.1283791670955126)); // 2 / sqrt(pi)
  Value isSmall = f.compare(arith::CmpFPredicate::OLT, a, f.constant(0x1p-7));
  return math::CopySignOp::create(f.builder, f.loc, f.select(isSmall, small, large), x);
}

Value vector_math::tanhOfHalves(const FloatBuilder &f, Value x, UnaryFunction exp2,
                                UnaryFunction reciprocal) {
  Value a = f.abs(x);
  Value e = exp2(f.mul(a, f.constant(2 * 1.4426950408889634)));
  Value q = reciprocal(f.add(e, f.constant(1.0)));
  Value large = f.fma(q, f.constant(-2.0), f.constant(1.0));
  Value u = f.mul(a, a);
  Value small = f.mul(a, f.fma(u, f.constant(-1.0 / 3), f.constant(1.0))); // error 2/15 * a^4
  Value isSmall = f.compare(arith::CmpFPredicate::OLT, a, f.constant(0x1p-4));
  return math::CopySignOp::create(f.builder, f.loc, f.select(isSmall, small, large), x);
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

Value mlir::frit::emitVectorMath(OpBuilder &builder, Operation *op, ValueRange operands,
                                 ScalarCall call) {
  Type type = operands[0].getType();
  if (!getElementTypeOrSelf(type).isF32()) {
    return {};
  }
  FloatBuilder f(builder, op->getLoc(), type);
  Value x = operands[0];
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return vector_math::expF32(f, x); })
      .Case([&](math::Exp2Op) { return vector_math::exp2F32(f, x); })
      .Case([&](math::LogOp) { return vector_math::logF32(f, x); })
      .Case([&](math::TanhOp) { return vector_math::tanhF32(f, x); })
      .Case([&](math::ErfOp) { return vector_math::erfF32(f, x); })
      .Case([&](math::RsqrtOp) { return f.div(f.constant(1.0), f.sqrt(x)); })
      .Default([&](Operation *) { return vector_math::emitWideMath(builder, op, operands, call); });
}
