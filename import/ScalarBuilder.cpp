#include "import/ScalarBuilder.h"

#include "ir/FritAttributes.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::frit::exported;

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

Value ScalarBuilder::toFloat(Value x) {
  if (isFloat(x)) {
    return x;
  }
  return isBool(x) ? arith::UIToFPOp::create(b, loc, b.getF64Type(), x).getResult()
                   : arith::SIToFPOp::create(b, loc, b.getF64Type(), x).getResult();
}

Value ScalarBuilder::toInt(Value x) {
  if (isBool(x)) {
    return arith::ExtUIOp::create(b, loc, b.getI64Type(), x);
  }
  if (!isFloat(x)) {
    return x;
  }
  auto converted = arith::FPToSIOp::create(b, loc, b.getI64Type(), x);
  kPythonAttr.mark(converted);
  return converted;
}

Value ScalarBuilder::toBool(Value x) {
  if (isBool(x)) {
    return x;
  }
  if (isFloat(x)) {
    Value zero = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(0));
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x, zero);
  }
  Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, zero);
}

Value ScalarBuilder::to(Type type, Value x) {
  return type.isF64() ? toFloat(x) : type.isInteger(1) ? toBool(x) : toInt(x);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

template <typename FloatOp> Value ScalarBuilder::function(Value x) {
  return FloatOp::create(b, loc, toFloat(x));
}

template <typename FloatOp> Value ScalarBuilder::round(Value x) {
  return toInt(isFloat(x) ? function<FloatOp>(x) : x);
}

template <typename IntOp, typename FloatOp> Value ScalarBuilder::arithmetic(Value x, Value y) {
  if (isFloat(x) || isFloat(y)) {
    return FloatOp::create(b, loc, toFloat(x), toFloat(y));
  }
  return IntOp::create(b, loc, toInt(x), toInt(y));
}

template <arith::CmpIPredicate integers, arith::CmpFPredicate floats>
Value ScalarBuilder::compare(Value x, Value y) {
  if (isFloat(x) || isFloat(y)) {
    return arith::CmpFOp::create(b, loc, floats, toFloat(x), toFloat(y));
  }
  return arith::CmpIOp::create(b, loc, integers, toInt(x), toInt(y));
}

template <typename Op> Value ScalarBuilder::bitwise(Value x, Value y) {
  bool truth = isBool(x) && isBool(y);
  x = truth ? x : toInt(x);
  y = truth ? y : toInt(y);
  return Op::create(b, loc, x, y);
}

template <typename Op> Value ScalarBuilder::shift(Value x, Value y) {
  return Op::create(b, loc, toInt(x), toInt(y));
}

Value ScalarBuilder::negate(Value x) {
  if (isFloat(x)) {
    return arith::NegFOp::create(b, loc, x);
  }
  Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
  return arith::SubIOp::create(b, loc, zero, toInt(x));
}

Value ScalarBuilder::invert(Value x) {
  Value truth = toBool(x);
  Value one = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  return arith::XOrIOp::create(b, loc, truth, one);
}

Value ScalarBuilder::absolute(Value x) {
  return isFloat(x) ? function<math::AbsFOp>(x) : Value(math::AbsIOp::create(b, loc, toInt(x)));
}

Value ScalarBuilder::divide(Value x, Value y) {
  auto quotient = arith::DivFOp::create(b, loc, toFloat(x), toFloat(y));
  if (!isFloat(x) && !isFloat(y)) {
    kPythonAttr.mark(quotient);
  }
  return quotient;
}

Value ScalarBuilder::floorDivide(Value x, Value y) {
  if (isFloat(x) || isFloat(y)) {
    return math::FloorOp::create(b, loc, divide(x, y));
  }
  return arith::FloorDivSIOp::create(b, loc, toInt(x), toInt(y));
}

/// x - y * floor(x / y): the remainder has the divisor's sign.
Value ScalarBuilder::modulo(Value x, Value y) {
  Value quotient = floorDivide(x, y);
  Value product = arithmetic<arith::MulIOp, arith::MulFOp>(quotient, y);
  return arithmetic<arith::SubIOp, arith::SubFOp>(x, product);
}

Value ScalarBuilder::select(Value condition, Value x, Value y) {
  Type type = isFloat(x) || isFloat(y) ? Type(b.getF64Type())
              : isBool(x) && isBool(y) ? Type(b.getI1Type())
                                       : Type(b.getI64Type());
  return arith::SelectOp::create(b, loc, toBool(condition), to(type, x), to(type, y));
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

struct ScalarBuilder::Functions {
  using S = ScalarBuilder;
  using IP = arith::CmpIPredicate;
  using FP = arith::CmpFPredicate;

  static constexpr std::pair<StringLiteral, Unary> unary[] = {
      {"neg", &S::negate},
      {"pos", &S::identity},
      {"not", &S::invert},
      {"int", &S::toInt},
      {"float", &S::toFloat},
      {"trunc", &S::toInt},
      {"floor", &S::round<math::FloorOp>},
      {"ceil", &S::round<math::CeilOp>},
      {"round", &S::round<math::RoundEvenOp>},
      {"abs", &S::absolute},
      {"sqrt", &S::function<math::SqrtOp>},
      {"cos", &S::function<math::CosOp>},
      {"cosh", &S::function<math::CoshOp>},
      {"sin", &S::function<math::SinOp>},
      {"sinh", &S::function<math::SinhOp>},
      {"tan", &S::function<math::TanOp>},
      {"tanh", &S::function<math::TanhOp>},
      {"asin", &S::function<math::AsinOp>},
      {"acos", &S::function<math::AcosOp>},
      {"atan", &S::function<math::AtanOp>},
      {"exp", &S::function<math::ExpOp>},
      {"log", &S::function<math::LogOp>},
      {"log2", &S::function<math::Log2Op>},
  };
  static constexpr std::pair<StringLiteral, Binary> binary[] = {
      {"add", &S::arithmetic<arith::AddIOp, arith::AddFOp>},
      {"sub", &S::arithmetic<arith::SubIOp, arith::SubFOp>},
      {"mul", &S::arithmetic<arith::MulIOp, arith::MulFOp>},
      {"truediv", &S::divide},
      {"floordiv", &S::floorDivide},
      {"mod", &S::modulo},
      {"pow", &S::arithmetic<math::IPowIOp, math::PowFOp>},
      {"eq", &S::compare<IP::eq, FP::OEQ>},
      {"ne", &S::compare<IP::ne, FP::UNE>},
      {"lt", &S::compare<IP::slt, FP::OLT>},
      {"le", &S::compare<IP::sle, FP::OLE>},
      {"gt", &S::compare<IP::sgt, FP::OGT>},
      {"ge", &S::compare<IP::sge, FP::OGE>},
      {"max", &S::arithmetic<arith::MaxSIOp, arith::MaximumFOp>},
      {"min", &S::arithmetic<arith::MinSIOp, arith::MinimumFOp>},
      {"and_", &S::bitwise<arith::AndIOp>},
      {"or_", &S::bitwise<arith::OrIOp>},
      {"xor", &S::bitwise<arith::XOrIOp>},
      {"lshift", &S::shift<arith::ShLIOp>},
      {"rshift", &S::shift<arith::ShRSIOp>},
  };
};

Value ScalarBuilder::call(StringRef function, ArrayRef<Value> operands) {
  auto isNamed = [&](const auto &one) { return one.first == function; };
  if (operands.size() == 1) {
    const auto *found = llvm::find_if(Functions::unary, isNamed);
    return found != std::end(Functions::unary) ? (this->*found->second)(operands[0]) : Value();
  }
  if (operands.size() == 2) {
    const auto *found = llvm::find_if(Functions::binary, isNamed);
    return found != std::end(Functions::binary) ? (this->*found->second)(operands[0], operands[1])
                                                : Value();
  }
  return operands.size() == 3 && function == "ite" ? select(operands[0], operands[1], operands[2])
                                                   : Value();
}
