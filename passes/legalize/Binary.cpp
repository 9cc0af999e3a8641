// Arithmetic on two operands: promotion, division in all modes, powers, clamps.
#include "ir/Planted.h"
#include "passes/legalize/LibraryCalls.h"
#include "passes/legalize/Operands.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::frit;
using Compare = TensorBuilder::Compare;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Operand Operand::get(AtenCall &call, unsigned i) {
  return call.isTensor(i) ? Operand{call.tensor(i)} : Operand{Tensor(), call.scalar(i)};
}

void Operand::addTo(Promotion &promotion) const {
  if (tensor.value) {
    promotion.addTensor(tensor.dtype, tensor.rank());
  } else {
    promotion.addScalar(scalar.dtype());
  }
}

Tensor Operand::as(TensorBuilder &b, DType dtype) const {
  return tensor.value ? b.cast(tensor, dtype) : b.scalar(scalar, dtype);
}

bool Operand::fits(DType dtype) const {
  std::optional<double> literal = tensor.value ? std::nullopt : scalar.literal();
  if (!literal || !isInteger(dtype) || dtype == DType::I64) {
    return true;
  }
  double span = std::ldexp(1.0, getBits(dtype));
  double low = isUnsigned(dtype) ? 0 : -span / 2;
  return *literal >= low && *literal < low + span;
}

/// The same for a number that only a call knows.
static bool convertsAtRunTime(AtenCall &call, Value number, DType dtype) {
  if (!isInteger(dtype) || number.getType().isInteger(1)) {
    return true;
  }
  if (!number.getType().isInteger(64) || dtype == DType::I64) {
    return number.getType().isInteger(64);
  }
  SizeExpr size = getSizeExpr(number);
  TensorBuilder &b = call.build();
  int64_t high = (int64_t(1) << (getBits(dtype) - !isUnsigned(dtype))) - 1;
  int64_t low = isUnsigned(dtype) ? -high : -high - 1;
  if (!size) {
    return false;
  }
  std::optional<int64_t> least = b.getFacts().lowerBound(size),
                         most = b.getFacts().upperBound(size);
  if (least && most && *least >= low && *most <= high) {
    return true;
  }
  // A call with another size runs as it was traced; a number from data is too late for that.
  auto graph = call.getOp()->getParentOfType<GraphOp>();
  for (auto symbol : graph.getSymbols().getAsRange<SymbolAttr>()) {
    if (symbol.getUnbacked() &&
        size.anySymbol([&](StringRef name) { return name == symbol.getName(); })) {
      return false;
    }
  }
  b.assumeBetween(size, low, high);
  return true;
}

bool Operand::converts(AtenCall &call, DType dtype) const {
  if (const Value *number = tensor.value ? nullptr : std::get_if<Value>(&scalar.value)) {
    return convertsAtRunTime(call, *number, dtype);
  }
  std::optional<double> literal = tensor.value ? std::nullopt : scalar.literal();
  if (!literal || dtype == DType::Bool) {
    return true;
  }
  if (isInteger(dtype)) {
    double low = isUnsigned(dtype) ? 1 - std::ldexp(1.0, getBits(dtype))
                                   : -std::ldexp(1.0, getBits(dtype) - 1);
    return *literal >= low && *literal < std::ldexp(1.0, getBits(dtype) - !isUnsigned(dtype));
  }
  double largest = dtype == DType::F16    ? 65504
                   : dtype == DType::BF16 ? std::ldexp(255.0, 120)
                   : dtype == DType::F32  ? std::numeric_limits<float>::max()
                                          : std::numeric_limits<double>::max();
  return !std::isfinite(*literal) || std::abs(*literal) <= largest;
}

DType mlir::frit::promoted(ArrayRef<Operand> operands) {
  Promotion promotion;
  for (const Operand &operand : operands) {
    operand.addTo(promotion);
  }
  return promotion.get();
}

Tensor Operand::rounded(TensorBuilder &b, DType dtype) const {
  return b.cast(as(b, dtype), getMathDtype(dtype));
}

static Sides makeSides(AtenCall &call, unsigned lhs, unsigned rhs, bool wantFloating,
                       bool exactScalar) {
  TensorBuilder &b = call.build();
  Operand left = Operand::get(call, lhs), right = Operand::get(call, rhs);
  DType dtype = promoted({left, right});
  if (wantFloating && !isFloating(dtype)) {
    dtype = call.resultDtype();
  }
  bool exact = exactScalar && right.isRankZero();
  bool isOne = !right.tensor.value ||
               llvm::all_of(right.tensor.sizes(), [](SizeExpr size) { return size.isConstant(1); });
  return {left.rounded(b, dtype),
          exact ? right.as(b, getMathDtype(dtype)) : right.rounded(b, dtype), dtype, isOne};
}

Sides Sides::get(AtenCall &call, unsigned lhs, unsigned rhs) {
  return makeSides(call, lhs, rhs, /*wantFloating=*/false, /*exactScalar=*/false);
}

Sides Sides::getWithExactScalar(AtenCall &call) { return makeSides(call, 0, 1, false, true); }

Sides Sides::getForDivision(AtenCall &call) { return makeSides(call, 0, 1, true, true); }

Sides Sides::getFloating(AtenCall &call) { return makeSides(call, 0, 1, true, false); }

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

/// True where `value` is nonzero and its sign differs from that of `divisor`.
static Tensor signsDiffer(TensorBuilder &b, Tensor value, Tensor divisor) {
  Tensor opposite = b.bitXor(b.compare(Compare::LT, value, 0), b.compare(Compare::LT, divisor, 0));
  return b.bitAnd(b.compare(Compare::NE, value, 0), opposite);
}

/// Floats follow c10::div_floor_floating: the quotient comes from the exact remainder and is then
/// corrected, so that 1.0 // 0.1 is 9; a zero has the sign of the true quotient. Half types round
/// each step unless they divide by a scalar; without that, quotients of several thousand would
/// differ from eager's.
Tensor mlir::frit::floorDivide(TensorBuilder &b, Sides sides) {
  Tensor lhs = sides.lhs, rhs = sides.rhs;
  auto round = [&](Tensor x) { return sides.hasScalarRhs ? x : b.toMath(b.cast(x, sides.dtype)); };
  if (isUnsigned(lhs.dtype)) {
    return b.div(lhs, rhs);
  }
  b.unify(lhs, rhs);
  if (!isFloating(lhs.dtype)) {
    Tensor quotient = b.div(lhs, rhs);
    if (isPlanted(Mistake::DivisionSign)) {
      return quotient;
    }
    Tensor rest = b.sub(lhs, b.mul(quotient, rhs));
    return b.sub(quotient, b.cast(signsDiffer(b, rest, rhs), lhs.dtype));
  }
  Tensor exact = b.div(lhs, rhs), rest = b.rem(lhs, rhs);
  if (isPlanted(Mistake::FloatFloorDivision)) {
    return b.math<math::FloorOp>(round(exact));
  }
  Tensor quotient = round(b.div(round(b.sub(lhs, rest)), rhs));
  quotient = b.select(signsDiffer(b, rest, rhs), round(b.sub(quotient, 1)), quotient);
  Tensor floored = b.math<math::FloorOp>(quotient);
  Tensor tooLow = b.compare(Compare::GT, b.sub(quotient, floored), 0.5);
  floored = b.select(tooLow, b.add(floored, 1), floored);
  Tensor zero = b.math<math::CopySignOp>(b.constant(lhs.dtype, 0), exact);
  Tensor result = b.select(b.compare(Compare::NE, quotient, 0), floored, zero);
  return b.select(b.compare(Compare::EQ, rhs, 0), exact, result);
}

Tensor mlir::frit::remainder(TensorBuilder &b, Tensor lhs, Tensor rhs) {
  b.unify(lhs, rhs);
  Tensor rest = b.rem(lhs, rhs);
  if (isUnsigned(lhs.dtype)) {
    return rest;
  }
  return b.select(signsDiffer(b, rest, rhs), b.add(rest, rhs), rest);
}

static Tensor divide(AtenCall &call, TensorBuilder &b, unsigned mode) {
  StringRef rounding = call.string(mode);
  if (rounding.empty()) {
    Sides sides = Sides::getForDivision(call);
    return b.div(sides.lhs, sides.rhs);
  }
  Sides sides = Sides::getWithExactScalar(call);
  if (rounding == "floor") {
    return floorDivide(b, sides);
  }
  Tensor quotient = b.div(sides.lhs, sides.rhs);
  if (!isFloating(quotient.dtype)) {
    return quotient;
  }
  // Divided by a tensor, half types round the quotient first: 1 / 0.1 is then 10, not 9.99.
  return b.math<math::TruncOp>(sides.hasScalarRhs ? quotient
                                                  : b.toMath(b.cast(quotient, sides.dtype)));
}

//===----------------------------------------------------------------------===//
// Clamps
//===----------------------------------------------------------------------===//

Tensor mlir::frit::clampLow(TensorBuilder &b, Tensor x, Tensor low) {
  return isFloating(x.dtype) ? b.select(b.compare(Compare::LT, x, low), low, x) : b.maximum(x, low);
}

Tensor mlir::frit::clampHigh(TensorBuilder &b, Tensor x, Tensor high) {
  return isFloating(x.dtype) ? b.select(b.compare(Compare::GT, x, high), high, x)
                             : b.minimum(x, high);
}

/// clamp(x, low, high), either bound None. A NaN bound makes everything NaN.
static Tensor clamp(AtenCall &call, TensorBuilder &b, int lowPlace, int highPlace) {
  SmallVector<Operand> operands = {Operand::get(call, 0)};
  for (int place : {lowPlace, highPlace}) {
    if (place > 0 && !call.isNone(place)) {
      operands.push_back(Operand::get(call, place));
    }
  }
  DType dtype = promoted(operands), math = getMathDtype(dtype);
  Tensor x = operands.front().as(b, math);
  unsigned next = 1;
  for (int place : {lowPlace, highPlace}) {
    if (place <= 0 || call.isNone(place)) {
      continue;
    }
    const Operand &bound = operands[next++];
    if (!bound.converts(call, dtype)) {
      call.refuse("eager refuses a bound that the type does not hold");
    }
    // The half types round the bound before they compare.
    Tensor value = b.cast(bound.as(b, dtype), math);
    bool isLow = place == lowPlace;
    if (bound.tensor.value) {
      x = isLow ? b.maximum(x, value) : b.minimum(x, value);
    } else if (bound.scalar.literal() && std::isnan(*bound.scalar.literal())) {
      x = b.broadcast(value, x.sizes());
    } else {
      x = isLow ? clampLow(b, x, value) : clampHigh(b, x, value);
    }
  }
  return x;
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

Tensor mlir::frit::power(AtenCall &call, TensorBuilder &b, Tensor x, double exponent) {
  if (exponent == 0) {
    return b.broadcast(b.constant(x.dtype, 1), x.sizes());
  }
  if (exponent == 1) {
    return x;
  }
  if (!isFloating(x.dtype)) {
    if (exponent < 0 || exponent != std::floor(exponent) || exponent > 64) {
      call.refuse("an integer to the power of " + Twine(std::to_string(exponent)));
      return x;
    }
    Tensor result;
    Tensor factor = x;
    for (unsigned rest = static_cast<unsigned>(exponent); rest != 0; rest >>= 1) {
      if (rest & 1) {
        result = result.value ? b.mul(result, factor) : factor;
      }
      factor = rest > 1 ? b.square(factor) : factor;
    }
    return result;
  }
  Tensor one = b.constant(x.dtype, 1);
  // For -inf and -0.0 a root is not the power. Eager takes the roots, but the powers for f16.
  bool isPower = call.resultDtype() == DType::F16;
  if (exponent == 0.5 && !isPower) {
    return b.math<math::SqrtOp>(x);
  }
  if (exponent == -0.5 && !isPower) {
    return b.div(one, b.math<math::SqrtOp>(x));
  }
  // Eager's kernel rounds each product for bf16, and once for f16.
  auto squared = [&] {
    Tensor product = b.square(x);
    bool rounds = b.isExact() && call.resultDtype() == DType::BF16;
    return rounds ? b.toMath(b.cast(product, DType::BF16)) : product;
  };
  if (exponent == 2) {
    return b.square(x);
  }
  if (exponent == 3) {
    return b.mul(squared(), x);
  }
  if (exponent == -1) {
    return b.div(one, x);
  }
  if (exponent == -2) {
    return b.div(one, squared());
  }
  return b.math<math::PowFOp>(x, b.constant(x.dtype, exponent));
}

static Tensor powerOfTensors(AtenCall &call, TensorBuilder &b) {
  if (!call.isTensor("exponent")) {
    if (Scalar exponent = call.scalar("exponent"); exponent.literal()) {
      Sides sides = Sides::get(call);
      auto rounded = dyn_cast<FloatAttr>(b.elementAttr(sides.dtype, exponent));
      return power(call, b, sides.lhs, rounded ? rounded.getValueAsDouble() : *exponent.literal());
    }
  }
  if (!call.isTensor("self") && call.scalar("self").isLiteral(1)) {
    return b.constantInt(call.resultDtype(), 1);
  }
  Sides sides = Sides::get(call);
  if (!isFloating(sides.lhs.dtype)) {
    call.refuse("an integer to the power of a tensor");
    return sides.lhs;
  }
  return b.math<math::PowFOp>(sides.lhs, sides.rhs);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// Refuses a factor that eager does not convert to the type of the result.
static void checkAlpha(AtenCall &call) {
  DType alpha = call.scalar("alpha").dtype(), result = call.resultDtype();
  if (alpha == DType::Bool && result != DType::Bool) {
    call.refuse("eager refuses a boolean alpha beside numbers");
  } else if (isFloating(alpha) && !isFloating(result)) {
    call.refuse("eager refuses a floating-point alpha beside integers");
  }
}

/// lhs + alpha * rhs, or lhs - alpha * rhs; `reversed` swaps the sides.
static SingleRule addition(bool subtract, bool reversed) {
  return [=](AtenCall &call, TensorBuilder &b) {
    if (call.getNumArguments() > 2) {
      checkAlpha(call);
    }
    bool isScaled = call.getNumArguments() > 2 && !call.scalar("alpha").isLiteral(1);
    if (Tensor sum = subtract || isScaled ? Tensor() : addProductInPlace(call, b); sum.value) {
      return sum;
    }
    Sides sides = Sides::get(call);
    auto isBool = [&](unsigned i) {
      return (call.isTensor(i) ? call.tensor(i).dtype : call.scalar(i).dtype()) == DType::Bool;
    };
    if (subtract && (isBool(0) || isBool(1))) {
      call.refuse("eager refuses to subtract bool");
    }
    if (reversed) {
      std::swap(sides.lhs, sides.rhs);
    }
    if (isScaled) {
      // Eager converts alpha to the type of the result.
      Tensor alpha = b.cast(b.scalar(call.scalar("alpha"), sides.dtype), sides.rhs.dtype);
      return subtract ? b.subProduct(sides.lhs, sides.rhs, alpha)
                      : b.addProduct(sides.lhs, sides.rhs, alpha);
    }
    if (isPlanted(Mistake::AddedZero) && !call.isTensor("other") &&
        call.scalar("other").isLiteral(0)) {
      return sides.lhs;
    }
    return subtract ? b.sub(sides.lhs, sides.rhs) : b.add(sides.lhs, sides.rhs);
  };
}

using Function = Tensor (*)(TensorBuilder &, Tensor, Tensor);

static SingleRule onSides(
    Function function, Sides (*get)(AtenCall &) = [](AtenCall &call) { return Sides::get(call); }) {
  return [=](AtenCall &call, TensorBuilder &b) {
    Sides sides = get(call);
    return function(b, sides.lhs, sides.rhs);
  };
}

void mlir::frit::addBinaryRules(RuleTable &table) {
  table.addSingle({"aten.add.Tensor", "aten.add.Scalar"}, addition(false, false));
  table.addSingle({"aten.sub.Tensor", "aten.sub.Scalar"}, addition(true, false));
  table.addSingle({"aten.rsub.Tensor", "aten.rsub.Scalar"}, addition(true, true));
  table.addSingle({"aten.mul.Tensor", "aten.mul.Scalar"},
                  onSides([](TensorBuilder &b, Tensor x, Tensor y) { return b.mul(x, y); },
                          Sides::getWithExactScalar));
  table.addSingle(
      {"aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor", "aten.true_divide.Scalar"},
      onSides([](TensorBuilder &b, Tensor x, Tensor y) { return b.div(x, y); },
              Sides::getForDivision));
  table.addSingle({"aten.div.Tensor_mode", "aten.div.Scalar_mode"},
                  [](AtenCall &call, TensorBuilder &b) { return divide(call, b, 2); });
  table.addSingle({"aten.floor_divide.default", "aten.floor_divide.Scalar"},
                  [](AtenCall &call, TensorBuilder &b) {
                    return floorDivide(b, Sides::getWithExactScalar(call));
                  });
  table.addSingle(
      {"aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor"},
      onSides(remainder));
  table.addSingle({"aten.fmod.Tensor", "aten.fmod.Scalar"},
                  onSides([](TensorBuilder &b, Tensor x, Tensor y) { return b.rem(x, y); }));
  table.addSingle({"aten.maximum.default", "aten.max.other"},
                  onSides([](TensorBuilder &b, Tensor x, Tensor y) { return b.maximum(x, y); }));
  table.addSingle({"aten.minimum.default", "aten.min.other"},
                  onSides([](TensorBuilder &b, Tensor x, Tensor y) { return b.minimum(x, y); }));
  // outer(self, vec2)
  table.addSingle({"aten.outer.default"}, [](AtenCall &call, TensorBuilder &b) {
    Sides sides = Sides::get(call);
    return b.mul(b.unsqueeze(sides.lhs, 1), sides.rhs);
  });
  // isclose(self, other, rtol, atol, equal_nan)
  table.addSingle({"aten.isclose.default"}, [](AtenCall &call, TensorBuilder &b) {
    Sides sides = Sides::get(call);
    Tensor x = sides.lhs, y = sides.rhs;
    if (!isFloating(x.dtype)) {
      call.refuse("closeness of integers");
      return x;
    }
    b.unify(x, y);
    Tensor distance = b.abs(b.sub(x, y));
    Tensor allowed = b.add(b.abs(b.mul(y, call.number("rtol"))), call.number("atol"));
    Tensor near = b.bitAnd(b.compare(Compare::LT, distance, INFINITY),
                           b.compare(Compare::LE, distance, allowed));
    Tensor close = b.bitOr(b.compare(Compare::EQ, x, y), near);
    return call.boolean("equal_nan") ? b.bitOr(close, b.bitAnd(b.isNan(x), b.isNan(y))) : close;
  });
  table.addSingle({"aten.atan2.default"}, [](AtenCall &call, TensorBuilder &b) {
    Sides sides = Sides::getFloating(call);
    return b.math<math::Atan2Op>(sides.lhs, sides.rhs);
  });
  table.addSingle({"aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor", "aten.pow.Scalar"},
                  powerOfTensors);

  auto clampRule = [](int low, int high) -> SingleRule {
    return [=](AtenCall &call, TensorBuilder &b) { return clamp(call, b, low, high); };
  };
  table.addSingle({"aten.clamp.default", "aten.clamp.Tensor", "aten.clip.default",
                   "aten.clip.Tensor", "aten.hardtanh.default"},
                  clampRule(1, 2));
  table.addSingle({"aten.clamp_min.default", "aten.clamp_min.Tensor"}, clampRule(1, 0));
  table.addSingle({"aten.clamp_max.default", "aten.clamp_max.Tensor"}, clampRule(0, 1));

  table.addSingle({"aten.lerp.Scalar", "aten.lerp.Tensor"}, [](AtenCall &call, TensorBuilder &b) {
    DType math = getMathDtype(call.resultDtype());
    Tensor from = b.cast(call.tensor("self"), math), to = b.cast(call.tensor("end"), math);
    Tensor weight = Operand::get(call, 2).as(b, math);
    Tensor span = b.sub(to, from);
    Tensor low = b.addProduct(from, weight, span);
    Tensor high = b.subProduct(to, span, b.sub(b.constant(math, 1), weight));
    return b.select(b.compare(Compare::LT, b.abs(weight), 0.5), low, high);
  });
  auto fused = [](bool divides) -> SingleRule {
    return [=](AtenCall &call, TensorBuilder &b) {
      DType math = getMathDtype(call.resultDtype());
      Tensor self = b.cast(call.tensor("self"), math), first = b.cast(call.tensor("tensor1"), math);
      Tensor second = b.cast(call.tensor("tensor2"), math);
      if (!call.scalar("value").isLiteral(1)) {
        first = b.mul(b.scalar(call.scalar("value"), math), first);
      }
      return divides ? b.add(self, b.div(first, second)) : b.addProduct(self, first, second);
    };
  };
  table.addSingle({"aten.addcmul.default"}, fused(false));
  // The operator that torch's own decompositions of addcmul and lerp use.
  table.addSingle({"prims.fma.default"}, [](AtenCall &call, TensorBuilder &b) {
    DType math = getMathDtype(call.resultDtype());
    Tensor first = Operand::get(call, 0).as(b, math), second = Operand::get(call, 1).as(b, math);
    return b.addProduct(Operand::get(call, 2).as(b, math), first, second);
  });
  table.addSingle({"aten.addcdiv.default"}, fused(true));
}
