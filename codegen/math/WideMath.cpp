// Functions that are computed in f64 (see VectorMath.h). An f32 argument is exact and never
// denormal there, and series errors around 1e-12 vanish in the last rounding.
#include "codegen/math/VectorMath.h"
#include "ir/FritOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mlir::frit;
using P = arith::CmpFPredicate;

/// e^x with a relative error below 1e-12; x is clamped to [-700, 700].
static Value exp(const FloatBuilder &f, Value x) {
  x = f.atLeast(f.atMost(x, 700.0), -700.0);
  auto [n, exponent] = f.round(f.mul(x, f.constant(std::numbers::log2e)));
  Value r = f.fma(n, f.constant(-std::numbers::ln2), x);
  // Taylor's series: r^11 / 11! is 2e-13 at ln(2) / 2.
  SmallVector<double> coefficients;
  double factorial = 1;
  for (int k = 0; k <= 10; ++k) {
    factorial *= k ? k : 1;
    coefficients.push_back(1 / factorial);
  }
  return f.mul(f.horner(r, coefficients), f.powerOfTwo(exponent));
}

/// log(x) of a non-denormal x >= 0: -inf at 0, inf at inf; NaN for x < 0 and for NaN.
static Value log(const FloatBuilder &f, Value x) {
  Value i = f.bits(x);
  Value e = f.shiftRight(f.subInt(i, f.intConstant(0x3fe6a09e667f3bcd)), 52);
  Value t = f.sub(f.fromBits(f.subInt(i, f.shiftLeft(e, 52))), f.constant(1.0));
  // log(1+t) = 2 atanh(s), s = t / (2+t), |s| <= 0.172: the first omitted term is 1e-15.
  Value s = f.div(t, f.add(t, f.constant(2.0)));
  SmallVector<double> coefficients;
  for (int k = 0; k <= 8; ++k) {
    coefficients.push_back(2.0 / (2 * k + 1));
  }
  Value series = f.mul(s, f.horner(f.mul(s, s), coefficients));
  Value result = f.fma(f.toFloat(e), f.constant(std::numbers::ln2), series);
  result = f.select(f.compare(P::OEQ, x, f.constant(INFINITY)), x, result);
  result = f.select(f.compare(P::OEQ, x, f.constant(0.0)), f.constant(-INFINITY), result);
  return f.select(f.compare(P::OGE, x, f.constant(0.0)), result, f.constant(NAN));
}

/// atan(numerator / denominator) in [0, pi/2] for both >= 0 and not both 0 or infinite.
static Value atanOfRatio(const FloatBuilder &f, Value numerator, Value denominator) {
  // atan(a/b) = pi/2 - atan(b/a); then atan(t) = pi/4 + atan((t-1)/(t+1)): |t| <= tan(pi/8).
  Value steep = f.compare(P::OGT, numerator, denominator);
  Value low = f.select(steep, denominator, numerator);
  Value high = f.select(steep, numerator, denominator);
  Value shifted = f.compare(P::OGT, low, f.mul(high, f.constant(0.41421356237309503)));
  Value a = f.select(shifted, f.sub(low, high), low);
  Value b = f.select(shifted, f.add(low, high), high);
  Value t = f.div(a, b);
  SmallVector<double> coefficients;
  for (int k = 0; k <= 13; ++k) {
    coefficients.push_back((k % 2 ? -1.0 : 1.0) / (2 * k + 1));
  }
  Value angle = f.mul(t, f.horner(f.mul(t, t), coefficients));
  angle = f.select(shifted, f.add(angle, f.constant(std::numbers::pi / 4)), angle);
  return f.select(steep, f.sub(f.constant(std::numbers::pi / 2), angle), angle);
}

namespace {
struct SinCos {
  Value sin, cos;
};
} // namespace

/// sin and cos for |x| <= 2^30, by quarter turns.
static SinCos sinCos(const FloatBuilder &f, Value x) {
  auto [n, quadrant] = f.round(f.mul(x, f.constant(2 / std::numbers::pi)));
  // pi/2 in two parts of 53 bits.
  Value r = f.fma(n, f.constant(-0x1.921fb54442d18p0), x);
  r = f.fma(n, f.constant(-0x1.1a62633145c07p-54), r);
  Value u = f.mul(r, r);
  // Taylor series: at pi/4 the first omitted terms are 2e-14 (sin) and 4e-13 (cos).
  Value s = f.fma(f.mul(r, u),
                  f.horner(u, {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
                               1.0 / 6227020800.0}),
                  r);
  Value c =
      f.horner(u, {1.0, -0.5, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600});
  auto bit = [&](Value value, int64_t mask) -> Value {
    Value masked = arith::AndIOp::create(f.builder, f.loc, value, f.intConstant(mask));
    return arith::CmpIOp::create(f.builder, f.loc, arith::CmpIPredicate::ne, masked,
                                 f.intConstant(0));
  };
  Value swapped = bit(quadrant, 1);
  Value sin = f.select(swapped, c, s), cos = f.select(swapped, s, c);
  sin = f.select(bit(quadrant, 2), f.neg(sin), sin);
  cos = f.select(bit(f.addInt(quadrant, f.intConstant(1)), 2), f.neg(cos), cos);
  return {sin, cos};
}

/// log|gamma(x)|.
static Value logGamma(const FloatBuilder &f, Value x) {
  // log(gamma(2 + d)) / d for |d| <= 1/2, by Taylor. Next to a zero of the result below -2 its
  // error is that of a sum of large terms: the first omitted one is 1.5e-16.
  static const double nearTwo[] = {
      0.42278433509846713,     0.3224670334241132,     -0.0673523010531981,
      0.020580808427784546,    -0.007385551028673986,  0.0028905103307415234,
      -0.001192753911703261,   0.0005096695247430425,  -0.00022315475845357939,
      9.945751278180853e-05,   -4.492623673813314e-05, 2.050721277567069e-05,
      -9.439488275268397e-06,  4.374866789907488e-06,  -2.039215753801366e-06,
      9.55141213040742e-07,    -4.492469198764566e-07, 2.1207184805554665e-07,
      -1.0043224823968099e-07, 4.7698101693639804e-08, -2.2711094608943164e-08,
      1.0838659214896955e-08,  -5.183475041970047e-09};
  // Stirling's series: the first omitted term is 1.4e-12 at 4.5, where the sum is 2.4.
  static const double stirling[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                    1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
  Value one = f.constant(1.0), a = f.abs(x);
  auto below = [&](double limit) { return f.compare(P::OLT, a, f.constant(limit)); };
  auto from = [&](double limit) { return f.compare(P::UGE, a, f.constant(limit)); };
  // gamma(a + 1) = a gamma(a) brings what is below 4.5 to y in [1.5, 2.5).
  Value y = a, product = one;
  auto move = [&](Value condition, Value moved, Value factor) {
    y = f.select(condition, moved, y);
    product = f.select(condition, factor, product);
  };
  Value more = f.add(a, one), less = f.sub(a, one), least = f.sub(less, one);
  Value isSmall = below(1.5), isLarge = from(4.5);
  move(isSmall, more, a);
  move(below(0.5), f.add(more, one), f.mul(a, more));
  move(from(2.5), less, less);
  move(from(3.5), least, f.mul(less, least));
  Value logarithm = log(f, f.select(isLarge, a, product));
  Value d = f.sub(y, f.constant(2.0));
  Value series = f.mul(d, f.horner(d, nearTwo));
  Value near = f.select(isSmall, f.sub(series, logarithm), f.add(series, logarithm));
  Value inverse = f.div(one, a);
  // (a - 1/2) log(a) - a + log(2 pi) / 2 + series
  Value rest = f.fma(inverse, f.horner(f.mul(inverse, inverse), stirling),
                     f.constant(0.5 * std::log(2 * std::numbers::pi) - 0.5));
  Value far = f.fma(f.sub(a, f.constant(0.5)), f.sub(logarithm, one), rest);
  Value positive = f.select(isLarge, far, near);
  // gamma(a) gamma(-a) = -pi / (a sin(pi a)); the distance of a to an integer is exact.
  Value above = f.sub(a, f.floor(a));
  Value distance = f.select(f.compare(P::OGT, above, f.constant(0.5)), f.sub(one, above), above);
  Value angle = f.mul(distance, f.constant(std::numbers::pi));
  // Taylor's series of the sine: the first omitted term is 3e-16 at pi / 2.
  SmallVector<double> coefficients;
  for (double k = 0, term = 1; k < 10; ++k, term /= -2 * k * (2 * k + 1)) {
    coefficients.push_back(term);
  }
  Value sine = f.mul(angle, f.horner(f.mul(angle, angle), coefficients));
  Value reflected = log(f, f.div(f.constant(std::numbers::pi), f.mul(a, sine)));
  Value result =
      f.select(f.compare(P::OLT, x, f.constant(0.0)), f.sub(reflected, positive), positive);
  return f.select(f.compare(P::OEQ, a, f.constant(INFINITY)), a, result);
}

/// Replaces the lanes of `fast` where `rare` holds by calls, inside of a branch that is almost
/// never taken.
static Value patchLanes(const FloatBuilder &f, Value rare, Value fast, ValueRange arguments,
                        StringRef name, ScalarCall call) {
  OpBuilder &builder = f.builder;
  Location loc = f.loc;
  auto vector = dyn_cast<VectorType>(f.getType());
  Value any = rare;
  if (vector) {
    any = vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR, rare);
  }
  auto branch = scf::IfOp::create(
      builder, loc, any,
      [&](OpBuilder &b, Location l) {
        if (!vector) {
          scf::YieldOp::create(b, l, call(b, l, name, arguments));
          return;
        }
        Value zero = arith::ConstantIndexOp::create(b, l, 0);
        Value one = arith::ConstantIndexOp::create(b, l, 1);
        Value count = arith::ConstantIndexOp::create(b, l, vector.getNumElements());
        auto loop = scf::ForOp::create(
            b, l, zero, count, one, fast,
            [&](OpBuilder &lb, Location ll, Value lane, ValueRange carried) {
              SmallVector<Value> scalars;
              for (Value argument : arguments) {
                scalars.push_back(vector::ExtractOp::create(lb, ll, argument, OpFoldResult(lane)));
              }
              Value isRare = vector::ExtractOp::create(lb, ll, rare, OpFoldResult(lane));
              auto patched = scf::IfOp::create(
                  lb, ll, isRare,
                  [&](OpBuilder &pb, Location pl) {
                    Value result = call(pb, pl, name, scalars);
                    scf::YieldOp::create(pb, pl,
                                         ValueRange{vector::InsertOp::create(
                                             pb, pl, result, carried[0], OpFoldResult(lane))});
                  },
                  [&](OpBuilder &pb, Location pl) { scf::YieldOp::create(pb, pl, carried); });
              scf::YieldOp::create(lb, ll, patched.getResults());
            });
        scf::YieldOp::create(b, l, loop.getResults());
      },
      [&](OpBuilder &b, Location l) { scf::YieldOp::create(b, l, fast); });
  return branch.getResult(0);
}

static Value trigonometric(const FloatBuilder &f, Value x, StringRef name, ScalarCall call) {
  // Beyond 2^30 the reduction would need more digits of pi. Infinities and NaN take this path too
  // and give NaN.
  Value rare = f.compare(P::UGT, f.abs(x), f.constant(0x1p30));
  Value inside = f.select(rare, f.constant(0.0), x);
  SinCos both = sinCos(f, inside);
  Value fast = name == "sin" ? both.sin : name == "cos" ? both.cos : f.div(both.sin, both.cos);
  // The sign of zero: sin(-0) and tan(-0) are -0.
  if (name != "cos") {
    fast = f.select(f.compare(P::OEQ, inside, f.constant(0.0)), inside, fast);
  }
  return patchLanes(f, rare, fast, x, name, call);
}

/// pow with the special cases of C.
static Value power(const FloatBuilder &f, Value x, Value y) {
  Value one = f.constant(1.0), zero = f.constant(0.0);
  Value magnitude = f.abs(x);
  Value result = exp(f, f.mul(y, log(f, magnitude)));
  // exp is clamped; infinities and zeros are decided by the sign of y * log|x|.
  Value whole = f.compare(P::OEQ, f.floor(y), y);
  Value halfY = f.mul(y, f.constant(0.5));
  Value odd =
      arith::AndIOp::create(f.builder, f.loc, whole, f.compare(P::ONE, f.floor(halfY), halfY));
  result = f.select(odd, f.copySign(result, x), result);
  // A negative finite base is defined for integral exponents only.
  Value negative = arith::AndIOp::create(f.builder, f.loc, f.compare(P::OLT, x, zero),
                                         f.compare(P::ONE, magnitude, f.constant(INFINITY)));
  Value fractional = f.compare(P::ONE, f.floor(y), y);
  Value undefined = arith::AndIOp::create(f.builder, f.loc, negative, fractional);
  result = f.select(undefined, f.constant(NAN), result);
  // pow(-1, +-inf) = 1; pow(1, y) = 1 and pow(x, 0) = 1 even for NaN.
  Value infiniteY = f.compare(P::OEQ, f.abs(y), f.constant(INFINITY));
  Value unit =
      arith::AndIOp::create(f.builder, f.loc, f.compare(P::OEQ, magnitude, one), infiniteY);
  unit = arith::OrIOp::create(f.builder, f.loc, unit, f.compare(P::OEQ, x, one));
  unit = arith::OrIOp::create(f.builder, f.loc, unit, f.compare(P::OEQ, y, zero));
  return f.select(unit, one, result);
}

Value vector_math::emitWideMath(OpBuilder &builder, Operation *op, ValueRange operands,
                                ScalarCall call) {
  Location loc = op->getLoc();
  Type narrow = operands[0].getType();
  FloatBuilder shape(builder, loc, narrow);
  FloatBuilder f(builder, loc, shape.withElement(builder.getF64Type()));
  auto widen = [&](Value value) -> Value {
    return arith::ExtFOp::create(builder, loc, f.getType(), value);
  };
  Value x;
  auto argument = [&]() {
    x = widen(operands[0]);
    return x;
  };
  auto called = [&](StringRef name) {
    argument();
    Value always = arith::ConstantOp::create(builder, loc, cast<TypedAttr>([&]() -> TypedAttr {
                                               Type boolType = f.withElement(builder.getI1Type());
                                               if (auto vector = dyn_cast<VectorType>(boolType)) {
                                                 return DenseElementsAttr::get(vector, true);
                                               }
                                               return builder.getBoolAttr(true);
                                             }()));
    return patchLanes(f, always, x, x, name, call);
  };
  auto small = [&](double limit) { return f.compare(P::OLT, f.abs(x), f.constant(limit)); };
  Value wide =
      TypeSwitch<Operation *, Value>(op)
          .Case([&](math::ExpM1Op) {
            argument();
            Value series = f.fma(f.mul(x, x), f.fma(x, f.constant(1.0 / 6), f.constant(0.5)), x);
            // The sum of +0 and -0 would be +0, so the sign is copied from x.
            return f.select(small(1e-4), f.copySign(series, x), f.sub(exp(f, x), f.constant(1.0)));
          })
          .Case([&](math::Log1pOp) {
            argument();
            Value series = f.fma(f.mul(x, x), f.fma(x, f.constant(1.0 / 3), f.constant(-0.5)), x);
            return f.select(small(1e-4), series, log(f, f.add(x, f.constant(1.0))));
          })
          .Case([&](math::Log2Op) {
            return f.mul(log(f, argument()), f.constant(std::numbers::log2e));
          })
          .Case([&](math::Log10Op) {
            return f.mul(log(f, argument()), f.constant(std::numbers::log10e));
          })
          .Case([&](math::SinOp) { return trigonometric(f, argument(), "sin", call); })
          .Case([&](math::CosOp) { return trigonometric(f, argument(), "cos", call); })
          .Case([&](math::TanOp) { return trigonometric(f, argument(), "tan", call); })
          .Case([&](math::SinhOp) {
            argument();
            Value e = exp(f, x);
            Value half = f.constant(0.5);
            Value direct = f.sub(f.mul(e, half), f.div(half, e));
            Value series = f.fma(f.mul(f.mul(x, x), x), f.constant(1.0 / 6), x);
            return f.select(small(1e-3), series, direct);
          })
          .Case([&](math::CoshOp) {
            Value e = exp(f, argument());
            Value half = f.constant(0.5);
            return f.add(f.mul(e, half), f.div(half, e));
          })
          .Case([&](math::AtanOp) {
            Value a = f.abs(argument());
            // The ratio of infinity to one is steep; its inverse is 0.
            return f.copySign(atanOfRatio(f, a, f.constant(1.0)), x);
          })
          .Case([&](math::AsinOp) {
            Value one = f.constant(1.0);
            Value a = f.abs(argument());
            Value other = f.sqrt(f.mul(f.sub(one, a), f.add(one, a)));
            return f.copySign(atanOfRatio(f, a, other), x);
          })
          .Case([&](math::AcosOp) {
            Value one = f.constant(1.0);
            argument();
            Value ratio = atanOfRatio(f, f.sqrt(f.sub(one, x)), f.sqrt(f.add(one, x)));
            return f.add(ratio, ratio);
          })
          .Case([&](math::Atan2Op) {
            Value y = widen(operands[0]), d = widen(operands[1]);
            Value a = f.abs(y), b = f.abs(d);
            Value bothInfinite =
                arith::AndIOp::create(builder, loc, f.compare(P::OEQ, a, f.constant(INFINITY)),
                                      f.compare(P::OEQ, b, f.constant(INFINITY)));
            Value one = f.constant(1.0);
            a = f.select(bothInfinite, one, a);
            b = f.select(bothInfinite, one, b);
            Value angle = atanOfRatio(f, a, b);
            Value origin = f.compare(P::OEQ, f.add(a, b), f.constant(0.0));
            angle = f.select(origin, f.constant(0.0), angle);
            // The left half-plane is decided by the sign bit: atan2(0, -0) is pi.
            Value left = f.compare(P::OLT, f.copySign(one, d), f.constant(0.0));
            angle = f.select(left, f.sub(f.constant(std::numbers::pi), angle), angle);
            angle = f.copySign(angle, y);
            Value unordered = f.compare(P::UNO, y, d);
            return f.select(unordered, f.add(y, d), angle);
          })
          .Case([&](LgammaOp) { return logGamma(f, argument()); })
          .Case([&](math::PowFOp) { return power(f, widen(operands[0]), widen(operands[1])); })
          .Case([&](math::ErfcOp) { return called("erfc"); })
          .Case([&](math::AsinhOp) { return called("asinh"); })
          .Case([&](math::AcoshOp) { return called("acosh"); })
          .Case([&](math::AtanhOp) { return called("atanh"); })
          .Case([&](math::CbrtOp) { return called("cbrt"); })
          .Default([](Operation *) { return Value(); });
  if (!wide) {
    return {};
  }
  return arith::TruncFOp::create(builder, loc, narrow, wide);
}
