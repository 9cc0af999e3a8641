// Operations that have no direct form on x86: half types, NaN-propagating extremes,
// remainders, and math on doubles through the runtime's callbacks.
#include "codegen/cpu/ContextLayout.h"
#include "codegen/cpu/CpuFunction.h"
#include "codegen/math/VectorMath.h"
#include "ir/FritAttributes.h"
#include "ir/Planted.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::frit;

namespace {
/// Types and constants shaped like a given value.
struct Shaped {
  OpBuilder &b;
  Location loc;
  unsigned lanes;

  Shaped(OpBuilder &b, Location loc, Value like) : b(b), loc(loc), lanes(1) {
    if (auto vector = dyn_cast<VectorType>(like.getType())) {
      lanes = vector.getDimSize(0);
    }
  }
  Type type(Type element) const { return getLanesType(element, lanes); }
  Value integer(Type element, int64_t value) const {
    TypedAttr attr = b.getIntegerAttr(element, value);
    if (lanes > 1) {
      attr = DenseElementsAttr::get(cast<ShapedType>(type(element)), Attribute(attr));
    }
    return arith::ConstantOp::create(b, loc, attr);
  }
  Value real(Type element, double value) const {
    TypedAttr attr = b.getFloatAttr(element, value);
    if (lanes > 1) {
      attr = DenseElementsAttr::get(cast<ShapedType>(type(element)), Attribute(attr));
    }
    return arith::ConstantOp::create(b, loc, attr);
  }
};
} // namespace

static bool isHalf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isBF16() || element.isF16();
}

Value mlir::frit::emitHalfToFloat(OpBuilder &b, Location loc, Value half) {
  Shaped s(b, loc, half);
  if (getElementTypeOrSelf(half.getType()).isF16()) {
    return arith::ExtFOp::create(b, loc, s.type(b.getF32Type()), half);
  }
  Value bits = emitBitcast(b, loc, s.type(b.getI16Type()), half);
  Value wide = arith::ExtUIOp::create(b, loc, s.type(b.getI32Type()), bits);
  Value high = arith::ShLIOp::create(b, loc, wide, s.integer(b.getI32Type(), 16));
  return arith::BitcastOp::create(b, loc, s.type(b.getF32Type()), high);
}

/// f64 to f32 rounding to odd: a later rounding to a half type is then exact.
static Value roundToOdd(OpBuilder &b, Location loc, Value wide) {
  Shaped s(b, loc, wide);
  Type i32 = b.getI32Type();
  Value near = arith::TruncFOp::create(b, loc, s.type(b.getF32Type()), wide);
  Value back = arith::ExtFOp::create(b, loc, wide.getType(), near);
  Value inexact = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE, back, wide);
  Value away =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, math::AbsFOp::create(b, loc, back),
                            math::AbsFOp::create(b, loc, wide));
  Value bits = arith::BitcastOp::create(b, loc, s.type(i32), near);
  Value less = arith::SubIOp::create(b, loc, bits, s.integer(i32, 1));
  Value towardsZero = arith::SelectOp::create(b, loc, away, less, bits);
  Value odd = arith::OrIOp::create(b, loc, towardsZero, s.integer(i32, 1));
  Value result = arith::SelectOp::create(b, loc, inexact, odd, bits);
  return arith::BitcastOp::create(b, loc, s.type(b.getF32Type()), result);
}

Value mlir::frit::emitFloatToHalf(OpBuilder &b, Location loc, Value wide, Type half) {
  Shaped s(b, loc, wide);
  Type i32 = b.getI32Type();
  if (getElementTypeOrSelf(wide.getType()).isF64()) {
    wide = roundToOdd(b, loc, wide);
  }
  if (half.isF16()) {
    // LLVM would narrow a double through a negation, by a call of __truncdfhf2.
    wide = LLVM::CallIntrinsicOp::create(b, loc, wide.getType(),
                                         b.getStringAttr("llvm.arithmetic.fence"), ValueRange{wide})
               ->getResult(0);
    return arith::TruncFOp::create(b, loc, s.type(half), wide);
  }
  // Round to nearest even on the bits; a NaN stays one.
  Value bits = arith::BitcastOp::create(b, loc, s.type(i32), wide);
  Value high = arith::ShRUIOp::create(b, loc, bits, s.integer(i32, 16));
  Value odd = arith::AndIOp::create(b, loc, high, s.integer(i32, 1));
  Value rounded = arith::AddIOp::create(b, loc, bits,
                                        arith::AddIOp::create(b, loc, odd, s.integer(i32, 0x7fff)));
  Value upper = arith::ShRUIOp::create(b, loc, rounded, s.integer(i32, 16));
  Value nan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, wide, wide);
  upper = arith::SelectOp::create(b, loc, nan, s.integer(i32, 0x7fc0), upper);
  Value narrow = arith::TruncIOp::create(b, loc, s.type(b.getI16Type()), upper);
  return arith::BitcastOp::create(b, loc, s.type(half), narrow);
}

Value mlir::frit::emitMaximum(OpBuilder &b, Location loc, Value x, Value y, bool minimum) {
  auto order = minimum ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OGT;
  // One maxps (which gives x if either is NaN or both are zero, as std::max does), then y
  // if y is NaN.
  Value better = arith::CmpFOp::create(b, loc, order, y, x);
  Value result = arith::SelectOp::create(b, loc, better, y, x);
  if (isPlanted(Mistake::NanIgnored)) {
    return result;
  }
  Value nan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, y, y);
  return arith::SelectOp::create(b, loc, nan, y, result);
}

/// The operation again, on other operands and with another result type.
static Value repeat(OpBuilder &b, Operation *op, ValueRange operands, Type type) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(type);
  for (NamedAttribute attr : op->getAttrs()) {
    if (!attr.getName().getValue().starts_with("frit.")) {
      state.addAttribute(attr.getName(), attr.getValue());
    }
  }
  return b.create(state)->getResult(0);
}

Value CpuFunction::applyHalf(OpBuilder &b, Operation *op, ValueRange operands, Type resultType) {
  Location loc = op->getLoc();
  Shaped s(b, loc, operands[0]);
  Type f32 = b.getF32Type();
  if (isa<arith::BitcastOp>(op)) {
    return {};
  }
  if (isa<arith::SelectOp>(op)) {
    Type bits = s.type(b.getI16Type());
    Value yes = emitBitcast(b, loc, bits, operands[1]);
    Value no = emitBitcast(b, loc, bits, operands[2]);
    Value chosen = arith::SelectOp::create(b, loc, operands[0], yes, no);
    return arith::BitcastOp::create(b, loc, resultType, chosen);
  }
  SmallVector<Value> wide;
  for (Value operand : operands) {
    wide.push_back(isHalf(operand.getType()) ? emitHalfToFloat(b, loc, operand) : operand);
  }
  if (isa<arith::ExtFOp>(op)) {
    return getElementTypeOrSelf(resultType).isF32()
               ? wide[0]
               : Value(arith::ExtFOp::create(b, loc, resultType, wide[0]));
  }
  if (isa<arith::TruncFOp>(op)) {
    return emitFloatToHalf(b, loc, wide[0], getElementTypeOrSelf(resultType));
  }
  bool narrow = isHalf(resultType);
  Type type = narrow ? s.type(f32) : resultType;
  Value result = apply(b, op, wide, type);
  if (!result) {
    result = repeat(b, op, wide, type);
  }
  return narrow ? emitFloatToHalf(b, loc, result, getElementTypeOrSelf(resultType)) : result;
}

/// Applies a function of the runtime lane by lane.
Value CpuFunction::applyDouble(OpBuilder &b, Operation *op, ValueRange operands, Type resultType) {
  StringRef name = op->getName().stripDialect();
  name = llvm::StringSwitch<StringRef>(name).Case("powf", "pow").Case("remf", "fmod").Default(name);
  if (!llvm::is_contained(context_layout::kUnaryCallbacks, name) &&
      !llvm::is_contained(context_layout::kBinaryCallbacks, name)) {
    return {};
  }
  Location loc = op->getLoc();
  Shaped s(b, loc, operands[0]);
  Type f64 = b.getF64Type();
  SmallVector<Value> wide;
  for (Value operand : operands) {
    bool narrow = !getElementTypeOrSelf(operand.getType()).isF64();
    wide.push_back(narrow ? Value(arith::ExtFOp::create(b, loc, s.type(f64), operand)) : operand);
  }
  Value result;
  if (s.lanes == 1) {
    result = callScalar(b, loc, name, wide);
  } else {
    Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
    Value one = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(1));
    Value count = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(s.lanes));
    auto loop = scf::ForOp::create(
        b, loc, zero, count, one, ValueRange{wide[0]},
        [&](OpBuilder &body, Location l, Value lane, ValueRange carried) {
          SmallVector<Value> arguments;
          for (Value operand : wide) {
            arguments.push_back(LLVM::ExtractElementOp::create(body, l, operand, lane));
          }
          Value called = callScalar(body, l, name, arguments);
          scf::YieldOp::create(
              body, l,
              LLVM::InsertElementOp::create(body, l, carried[0], called, lane).getResult());
        });
    result = loop.getResult(0);
  }
  return result.getType() == resultType
             ? result
             : Value(arith::TruncFOp::create(b, loc, resultType, result));
}

/// The scalar that a vector was splatted from; null if it was not.
static Value getSplatted(Value vector) {
  auto shuffle = vector.getDefiningOp<LLVM::ShuffleVectorOp>();
  if (!shuffle || !llvm::all_of(shuffle.getMask(), [](int32_t lane) { return lane == 0; })) {
    return Value();
  }
  auto insert = shuffle.getV1().getDefiningOp<LLVM::InsertElementOp>();
  return insert ? insert.getValue() : Value();
}

/// Divisors and dividends for which division by reciprocals is exact: their magnitudes are between
/// 2^-n and 2^n.
static constexpr int kDivisorExponent = 24, kDividendExponent = 100;

/// x / s by the rounded reciprocal r of s: with q = x r the rest x - q s is exact with a fused
/// multiply-add, and q + rest r is the rounded quotient (Markstein; checked on the quotients
/// nearest to the middle of two floats for millions of divisors). This requires x in
/// [2^-100, 2^100] or zero and s in [2^-24, 2^24], where quotient and rest are normal numbers. The
/// sign of q is that of the result, which matters for zeros.
static Value divideByReciprocal(OpBuilder &b, Location loc, Value x, Value s, Value r) {
  Shaped like(b, loc, x);
  Type i32 = b.getI32Type(), bits = like.type(i32);
  Value quotient = arith::MulFOp::create(b, loc, x, r);
  Value rest = math::FmaOp::create(b, loc, arith::NegFOp::create(b, loc, quotient), s, x);
  Value exact = math::FmaOp::create(b, loc, rest, r, quotient);
  Value sign = arith::AndIOp::create(b, loc, arith::BitcastOp::create(b, loc, bits, quotient),
                                     like.integer(i32, std::numeric_limits<int32_t>::min()));
  Value joined = arith::OrIOp::create(b, loc, arith::BitcastOp::create(b, loc, bits, exact), sign);
  return arith::BitcastOp::create(b, loc, x.getType(), joined);
}

/// An i1 that is true if every lane of x is in the range of `divideByReciprocal`; null if that is
/// known.
static Value areDividends(OpBuilder &b, Location loc, Value x) {
  if (x.getDefiningOp<arith::UIToFPOp>() || x.getDefiningOp<arith::SIToFPOp>()) {
    return Value();
  }
  Shaped like(b, loc, x);
  Type i32 = b.getI32Type();
  constexpr int64_t least = int64_t(127 - kDividendExponent) << 24;
  constexpr int64_t most = int64_t(127 + kDividendExponent) << 24;
  // The magnitude minus the least one in range: one unsigned comparison, and one for zeros.
  Value magnitude = arith::ShLIOp::create(
      b, loc, arith::BitcastOp::create(b, loc, like.type(i32), x), like.integer(i32, 1));
  Value above = arith::SubIOp::create(b, loc, magnitude, like.integer(i32, least));
  Value outside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, above,
                                        like.integer(i32, static_cast<int32_t>(most - least)));
  Value nonZero =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, magnitude, like.integer(i32, 0));
  Value wrong = arith::AndIOp::create(b, loc, outside, nonZero);
  Type packed = b.getIntegerType(like.lanes);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                               LLVM::BitcastOp::create(b, loc, packed, wrong),
                               arith::ConstantOp::create(b, loc, b.getIntegerAttr(packed, 0)));
}

/// Division by a value that all lanes, and usually a whole row, share. It takes a fifth of the time
/// of a vector division and has the same bits. Operands out of range are divided.
Value CpuFunction::divideByUniform(Location loc, Value dividend, Value divisor) {
  const float least = std::ldexp(1.0f, -kDivisorExponent),
              most = std::ldexp(1.0f, kDivisorExponent);
  Value inverse, usable;
  DenseElementsAttr constant;
  if (matchPattern(divisor, m_Constant(&constant)) && constant.isSplat()) {
    float value = constant.getElementType().isF32() ? constant.getSplatValue<float>() : 0;
    int exponent;
    bool isPower = std::abs(std::frexp(value, &exponent)) == 0.5f;
    if (std::isnormal(value) && std::isnormal(1.0f / value) && isPower) {
      return arith::MulFOp::create(
          builder, loc, dividend,
          Shaped(builder, loc, divisor).real(builder.getF32Type(), 1.0f / value));
    }
    if (!(std::abs(value) >= least && std::abs(value) <= most)) {
      return Value();
    }
    inverse = Shaped(builder, loc, divisor).real(builder.getF32Type(), 1.0f / value);
  } else {
    Value scalar = getSplatted(divisor);
    if (!scalar || !scalar.getType().isF32()) {
      return Value();
    }
    auto &[reciprocal, serves] = reciprocals[divisor];
    if (!reciprocal) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(divisor);
      Shaped s(builder, loc, scalar);
      Type f32 = builder.getF32Type();
      unsigned lanes = cast<VectorType>(dividend.getType()).getDimSize(0);
      reciprocal =
          sizes->splat(loc, arith::DivFOp::create(builder, loc, s.real(f32, 1.0), scalar), lanes);
      Value magnitude = math::AbsFOp::create(builder, loc, scalar);
      serves = arith::AndIOp::create(builder, loc,
                                     arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE,
                                                           magnitude, s.real(f32, least)),
                                     arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLE,
                                                           magnitude, s.real(f32, most)));
    }
    inverse = reciprocal;
    usable = serves;
  }
  if (Value inside = areDividends(builder, loc, dividend)) {
    usable = usable ? Value(arith::AndIOp::create(builder, loc, usable, inside)) : inside;
  }
  if (!usable) {
    return divideByReciprocal(builder, loc, dividend, divisor, inverse);
  }
  auto branch = scf::IfOp::create(
      builder, loc, usable,
      [&](OpBuilder &b, Location l) {
        scf::YieldOp::create(b, l, divideByReciprocal(b, l, dividend, divisor, inverse));
      },
      [&](OpBuilder &b, Location l) {
        scf::YieldOp::create(b, l, arith::DivFOp::create(b, l, dividend, divisor).getResult());
      });
  return branch.getResult(0);
}

Value CpuFunction::apply(OpBuilder &b, Operation *op, ValueRange operands, Type resultType) {
  if (isHalf(resultType) || llvm::any_of(operands.getTypes(), isHalf)) {
    return applyHalf(b, op, operands, resultType);
  }
  Location loc = op->getLoc();
  if (isa<arith::MaximumFOp>(op)) {
    return emitMaximum(b, loc, operands[0], operands[1], false);
  }
  if (isa<arith::MinimumFOp>(op)) {
    return emitMaximum(b, loc, operands[0], operands[1], true);
  }
  if (isa<arith::DivFOp>(op) && isa<VectorType>(resultType) && !kIeeeAttr.isOn(op)) {
    return divideByUniform(loc, operands[0], operands[1]);
  }
  bool isMath = isMathFunction(op);
  if (!isMath && !isa<arith::RemFOp>(op)) {
    return {};
  }
  if (isa<math::RsqrtOp>(op) && getElementTypeOrSelf(resultType).isF64()) {
    Shaped s(b, loc, operands[0]);
    return arith::DivFOp::create(b, loc, s.real(b.getF64Type(), 1.0),
                                 math::SqrtOp::create(b, loc, operands[0]));
  }
  if (isa<math::CopySignOp>(op)) {
    return FloatBuilder(b, loc, resultType).copySign(operands[0], operands[1]);
  }
  if (isMath) {
    auto call = [&](OpBuilder &inner, Location l, StringRef name, ValueRange arguments) {
      return callScalar(inner, l, name, arguments);
    };
    if (Value own = emitVectorMath(b, op, operands, call)) {
      return own;
    }
  }
  return applyDouble(b, op, operands, resultType);
}
