#include "runtime/plan/ScalarProgram.h"

#include "runtime/artifact/Artifact_generated.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace frit {

using format::Op;

namespace {

// Wrapping arithmetic uses unsigned numbers: signed overflow is undefined in C++ but defined in
// torch.
int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

int64_t truncDiv(int64_t a, int64_t b) { return b == -1 ? wrap(0 - bits(a)) : a / b; }
int64_t truncRem(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }

int64_t floorDiv(int64_t a, int64_t b) {
  int64_t quotient = truncDiv(a, b);
  return truncRem(a, b) != 0 && ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

int64_t floorMod(int64_t a, int64_t b) {
  int64_t remainder = truncRem(a, b);
  return remainder != 0 && ((remainder < 0) != (b < 0)) ? remainder + b : remainder;
}

int64_t integerPower(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  }
  uint64_t result = 1;
  for (uint64_t factor = bits(base); exponent != 0; exponent >>= 1, factor *= factor) {
    if (exponent & 1) {
      result *= factor;
    }
  }
  return wrap(result);
}

int64_t shiftLeft(int64_t a, int64_t b) { return b < 0 || b > 63 ? 0 : wrap(bits(a) << b); }
int64_t shiftRight(int64_t a, int64_t b) { return a >> (b < 0 || b > 63 ? 63 : b); }

// torch's div_floor and remainder, which are exact even if a / b rounds up to an integer.
double floatMod(double a, double b) {
  double remainder = std::fmod(a, b);
  return remainder != 0 && ((remainder < 0) != (b < 0)) ? remainder + b : remainder;
}

double floatFloorDiv(double a, double b) {
  if (b == 0) {
    return a / b;
  }
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0 && (b < 0) != (remainder < 0)) {
    quotient -= 1;
  }
  if (quotient == 0) {
    return std::copysign(0.0, a / b);
  }
  double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

double nanMin(double a, double b) { return std::isnan(a) || a < b ? a : b; }
double nanMax(double a, double b) { return std::isnan(a) || a > b ? a : b; }

int64_t toInteger(double value) {
  // Out of range, returns the result of x86's cvttsd2si, so that it agrees with eager on x86.
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0)) {
    return std::numeric_limits<int64_t>::min();
  }
  return static_cast<int64_t>(value);
}

/// Rounds to a binary format with `mantissa` stored bits, least exponent `minExponent` (of normal
/// numbers) and largest finite number `maximum`, in one rounding.
double roundTo(double value, int mantissa, int minExponent, double maximum) {
  if (!std::isfinite(value) || value == 0) {
    return value;
  }
  int exponent;
  std::frexp(value, &exponent);
  int lowest = std::max(exponent - 1, minExponent) - mantissa;
  double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -lowest)), lowest);
  return std::abs(rounded) > maximum ? std::copysign(std::numeric_limits<double>::infinity(), value)
                                     : rounded;
}

} // namespace

// torch converts double to float first, so both roundings are kept.
double roundToF16(double value) { return roundTo(static_cast<float>(value), 10, -14, 65504.0); }
double roundToBF16(double value) {
  return roundTo(static_cast<float>(value), 7, -126, 3.3895313892515355e38);
}

OpSignature signatureOf(Op op) {
  if (op <= Op::Ge) {
    return {'i', 'i', 'i', '-'};
  }
  if (op <= Op::Move) {
    return {'i', 'i', '-', '-'};
  }
  if (op == Op::Select) {
    return {'i', 'i', 'i', 'i'};
  }
  if (op <= Op::FAtan2) {
    return {'f', 'f', 'f', '-'};
  }
  if (op <= Op::FGe) {
    return {'i', 'f', 'f', '-'};
  }
  if (op <= Op::FToBF16) {
    return {'f', 'f', '-', '-'};
  }
  switch (op) {
  case Op::FSelect:
    return {'f', 'i', 'f', 'f'};
  case Op::IntToFloat:
    return {'f', 'i', '-', '-'};
  case Op::FloatToInt:
  case Op::PythonInt:
  case Op::FloatToBool:
  case Op::FIsNan:
  case Op::FIsInf:
    return {'i', 'f', '-', '-'};
  case Op::TrueDiv:
    return {'f', 'i', 'i', '-'};
  case Op::InRange:
    return {'i', 'i', 'i', 'i'};
  case Op::Divides:
  case Op::NoBits:
    return {'i', 'i', 'i', '-'};
  default:
    return {'i', 'i', '-', '-'};
  }
}

Status verifyProgram(std::span<const format::Instruction> code, uint32_t intCount,
                     uint32_t floatCount) {
  for (size_t at = 0; at < code.size(); ++at) {
    const format::Instruction &instruction = code[at];
    if (instruction.op() > Op::MAX) {
      return Status::error(ErrorKind::BadArtifact,
                           "scalar program: unknown operation " +
                               std::to_string(static_cast<int>(instruction.op())));
    }
    OpSignature signature = signatureOf(instruction.op());
    auto fits = [&](char file, uint32_t number) {
      return file == '-' || number < (file == 'i' ? intCount : floatCount);
    };
    if (!fits(signature.dst, instruction.dst()) || !fits(signature.a, instruction.a()) ||
        !fits(signature.b, instruction.b()) || !fits(signature.c, instruction.c())) {
      return Status::error(ErrorKind::BadArtifact, std::string("scalar program: ") +
                                                       format::EnumNameOp(instruction.op()) +
                                                       " at " + std::to_string(at) +
                                                       " names a register outside of its file");
    }
  }
  return Status::ok();
}

bool allHold(std::span<const int64_t> guards) {
  int64_t broken = 0;
  for (int64_t guard : guards) {
    broken |= static_cast<int64_t>(guard == 0);
  }
  return broken == 0;
}

/// Runs consecutive instructions of the same op. Guards come in such runs; this saves the jump to
/// each next op, which costs several times as much as a comparison.
template <typename F>
static const format::Instruction *
runSame(const format::Instruction *at, const format::Instruction *end, int64_t *ints, F &&compute) {
  Op op = at->op();
  for (;; ++at) {
    ints[at->dst()] = compute(ints[at->a()], ints[at->b()], at->c());
    if (at + 1 == end || at[1].op() != op) {
      return at;
    }
  }
}

ScalarError runProgram(std::span<const format::Instruction> code, int64_t *ints, double *floats) {
  const format::Instruction *end = code.data() + code.size();
  for (const format::Instruction *at = code.data(); at != end; ++at) {
    const format::Instruction &instruction = *at;
    // Operand fields that an op does not use may hold any value, so registers are read inside of
    // the cases only.
    auto i = [&](uint32_t number) { return ints[number]; };
    auto f = [&](uint32_t number) { return floats[number]; };
    auto setI = [&](int64_t value) { ints[instruction.dst()] = value; };
    auto setF = [&](double value) { floats[instruction.dst()] = value; };
    uint32_t a = instruction.a(), b = instruction.b(), c = instruction.c();
    switch (instruction.op()) {
    case Op::Add:
      setI(wrap(bits(i(a)) + bits(i(b))));
      break;
    case Op::Sub:
      setI(wrap(bits(i(a)) - bits(i(b))));
      break;
    case Op::Mul:
      setI(wrap(bits(i(a)) * bits(i(b))));
      break;
    case Op::FloorDiv:
    case Op::Mod:
    case Op::TruncDiv:
    case Op::TruncRem: {
      int64_t divisor = i(b);
      if (divisor == 0) {
        return instruction.op() == Op::FloorDiv ? ScalarError::FloorDivision
               : instruction.op() == Op::Mod    ? ScalarError::Modulo
                                                : ScalarError::TensorDivision;
      }
      setI(instruction.op() == Op::FloorDiv   ? floorDiv(i(a), divisor)
           : instruction.op() == Op::Mod      ? floorMod(i(a), divisor)
           : instruction.op() == Op::TruncDiv ? truncDiv(i(a), divisor)
                                              : truncRem(i(a), divisor));
      break;
    }
    case Op::Min:
      setI(std::min(i(a), i(b)));
      break;
    case Op::Max:
      setI(std::max(i(a), i(b)));
      break;
    case Op::And:
      setI(i(a) & i(b));
      break;
    case Op::Or:
      setI(i(a) | i(b));
      break;
    case Op::Xor:
      setI(i(a) ^ i(b));
      break;
    case Op::Shl:
      setI(shiftLeft(i(a), i(b)));
      break;
    case Op::Shr:
      setI(shiftRight(i(a), i(b)));
      break;
    case Op::Pow:
      setI(integerPower(i(a), i(b)));
      break;
    case Op::Eq:
      at = runSame(at, end, ints,
                   [](int64_t x, int64_t y, uint32_t) { return static_cast<int64_t>(x == y); });
      break;
    case Op::Ne:
      setI(i(a) != i(b));
      break;
    case Op::Lt:
      setI(i(a) < i(b));
      break;
    case Op::Le:
      setI(i(a) <= i(b));
      break;
    case Op::Gt:
      setI(i(a) > i(b));
      break;
    case Op::Ge:
      setI(i(a) >= i(b));
      break;
    case Op::Neg:
      setI(wrap(0 - bits(i(a))));
      break;
    case Op::Abs:
      setI(i(a) < 0 ? wrap(0 - bits(i(a))) : i(a));
      break;
    case Op::Not:
      setI(i(a) == 0);
      break;
    case Op::BitNot:
      setI(~i(a));
      break;
    case Op::Move:
      setI(i(a));
      break;
    case Op::Select:
      setI(i(a) != 0 ? i(b) : i(c));
      break;
    case Op::FAdd:
      setF(f(a) + f(b));
      break;
    case Op::FSub:
      setF(f(a) - f(b));
      break;
    case Op::FMul:
      setF(f(a) * f(b));
      break;
    case Op::FDiv:
      setF(f(a) / f(b));
      break;
    case Op::FFloorDiv:
      setF(floatFloorDiv(f(a), f(b)));
      break;
    case Op::FMod:
      setF(floatMod(f(a), f(b)));
      break;
    case Op::FRem:
      setF(std::fmod(f(a), f(b)));
      break;
    case Op::FMin:
      setF(nanMin(f(a), f(b)));
      break;
    case Op::FMax:
      setF(nanMax(f(a), f(b)));
      break;
    case Op::FPow:
      setF(std::pow(f(a), f(b)));
      break;
    case Op::FAtan2:
      setF(std::atan2(f(a), f(b)));
      break;
    case Op::FEq:
      setI(f(a) == f(b));
      break;
    case Op::FNe:
      setI(f(a) != f(b));
      break;
    case Op::FLt:
      setI(f(a) < f(b));
      break;
    case Op::FLe:
      setI(f(a) <= f(b));
      break;
    case Op::FGt:
      setI(f(a) > f(b));
      break;
    case Op::FGe:
      setI(f(a) >= f(b));
      break;
    case Op::FNeg:
      setF(-f(a));
      break;
    case Op::FAbs:
      setF(std::fabs(f(a)));
      break;
    case Op::FMove:
      setF(f(a));
      break;
    case Op::FSqrt:
      setF(std::sqrt(f(a)));
      break;
    case Op::FRsqrt:
      setF(1 / std::sqrt(f(a)));
      break;
    case Op::FReciprocal:
      setF(1 / f(a));
      break;
    case Op::FExp:
      setF(std::exp(f(a)));
      break;
    case Op::FExp2:
      setF(std::exp2(f(a)));
      break;
    case Op::FExpm1:
      setF(std::expm1(f(a)));
      break;
    case Op::FLog:
      setF(std::log(f(a)));
      break;
    case Op::FLog2:
      setF(std::log2(f(a)));
      break;
    case Op::FLog10:
      setF(std::log10(f(a)));
      break;
    case Op::FLog1p:
      setF(std::log1p(f(a)));
      break;
    case Op::FSin:
      setF(std::sin(f(a)));
      break;
    case Op::FCos:
      setF(std::cos(f(a)));
      break;
    case Op::FTan:
      setF(std::tan(f(a)));
      break;
    case Op::FAsin:
      setF(std::asin(f(a)));
      break;
    case Op::FAcos:
      setF(std::acos(f(a)));
      break;
    case Op::FAtan:
      setF(std::atan(f(a)));
      break;
    case Op::FSinh:
      setF(std::sinh(f(a)));
      break;
    case Op::FCosh:
      setF(std::cosh(f(a)));
      break;
    case Op::FTanh:
      setF(std::tanh(f(a)));
      break;
    case Op::FErf:
      setF(std::erf(f(a)));
      break;
    case Op::FErfc:
      setF(std::erfc(f(a)));
      break;
    case Op::FFloor:
      setF(std::floor(f(a)));
      break;
    case Op::FCeil:
      setF(std::ceil(f(a)));
      break;
    case Op::FTrunc:
      setF(std::trunc(f(a)));
      break;
    case Op::FRoundEven:
      setF(std::nearbyint(f(a)));
      break;
    case Op::FSigmoid:
      setF(1 / (1 + std::exp(-f(a))));
      break;
    case Op::FToF32:
      setF(static_cast<double>(static_cast<float>(f(a))));
      break;
    case Op::FToF16:
      setF(roundToF16(f(a)));
      break;
    case Op::FToBF16:
      setF(roundToBF16(f(a)));
      break;
    case Op::FSelect:
      setF(i(a) != 0 ? f(b) : f(c));
      break;
    case Op::IntToFloat:
      setF(static_cast<double>(i(a)));
      break;
    case Op::FloatToInt:
      setI(toInteger(f(a)));
      break;
    case Op::FloatToBool:
      setI(f(a) != 0);
      break;
    case Op::FIsNan:
      setI(std::isnan(f(a)));
      break;
    case Op::FIsInf:
      setI(std::isinf(f(a)));
      break;
    case Op::ToI8:
      setI(static_cast<int8_t>(i(a)));
      break;
    case Op::ToI16:
      setI(static_cast<int16_t>(i(a)));
      break;
    case Op::ToI32:
      setI(static_cast<int32_t>(i(a)));
      break;
    case Op::ToU8:
      setI(static_cast<uint8_t>(i(a)));
      break;
    case Op::ToBool:
      setI(i(a) != 0);
      break;
    case Op::PythonInt:
      if (!std::isfinite(f(a))) {
        return std::isnan(f(a)) ? ScalarError::IntOfNan : ScalarError::IntOfInfinity;
      }
      setI(toInteger(f(a)));
      break;
    case Op::TrueDiv:
      if (i(b) == 0) {
        return ScalarError::TrueDivision;
      }
      setF(static_cast<double>(i(a)) / static_cast<double>(i(b)));
      break;
    case Op::InRange:
      at = runSame(at, end, ints, [ints](int64_t x, int64_t low, uint32_t high) {
        return static_cast<int64_t>(low <= x) & static_cast<int64_t>(x <= ints[high]);
      });
      break;
    case Op::Divides:
      if (i(b) == 0) {
        return ScalarError::Modulo;
      }
      setI(truncRem(i(a), i(b)) == 0);
      break;
    case Op::NoBits:
      at = runSame(at, end, ints, [](int64_t x, int64_t bits, uint32_t) {
        return static_cast<int64_t>((x & bits) == 0);
      });
      break;
    }
  }
  return ScalarError::None;
}

Status statusOf(ScalarError error) {
  switch (error) {
  case ScalarError::None:
    break;
  case ScalarError::FloorDivision:
    return Status::error(ErrorKind::ZeroDivision, "integer division or modulo by zero");
  case ScalarError::Modulo:
    return Status::error(ErrorKind::ZeroDivision, "integer modulo by zero");
  case ScalarError::TrueDivision:
    return Status::error(ErrorKind::ZeroDivision, "division by zero");
  case ScalarError::TensorDivision:
    return Status::error(ErrorKind::Runtime, "ZeroDivisionError");
  case ScalarError::IntOfInfinity:
    return Status::error(ErrorKind::Overflow, "cannot convert float infinity to integer");
  case ScalarError::IntOfNan:
    return Status::error(ErrorKind::Value, "cannot convert float NaN to integer");
  }
  return Status::ok();
}

} // namespace frit
