// Arithmetic on Python scalars: i64, f64 and i1 values computed on the host. An integer that torch
// knows as a size is that size; its node disappears.
#include "import/GraphImporter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::frit;
using namespace mlir::frit::exported;

namespace {
/// Builds scalar operations with Python's promotion: bool to int to float.
class ScalarBuilder {
public:
  ScalarBuilder(OpBuilder &builder, Location location) : b(builder), loc(location) {}

  bool isFloat(Value v) const { return v.getType().isF64(); }
  Value toFloat(Value v) {
    if (isFloat(v)) {
      return v;
    }
    return v.getType().isInteger(1)
               ? arith::UIToFPOp::create(b, loc, b.getF64Type(), v).getResult()
               : arith::SIToFPOp::create(b, loc, b.getF64Type(), v).getResult();
  }
  Value toInt(Value v) {
    if (v.getType().isInteger(1)) {
      return arith::ExtUIOp::create(b, loc, b.getI64Type(), v);
    }
    return isFloat(v) ? arith::FPToSIOp::create(b, loc, b.getI64Type(), v).getResult() : v;
  }
  Value toBool(Value v) {
    if (v.getType().isInteger(1)) {
      return v;
    }
    if (isFloat(v)) {
      Value zero = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(0));
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, v, zero);
    }
    Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, v, zero);
  }
  Value to(Type type, Value v) {
    return type.isF64() ? toFloat(v) : type.isInteger(1) ? toBool(v) : toInt(v);
  }
  template <typename IntOp, typename FloatOp> Value arithmetic(Value x, Value y) {
    if (isFloat(x) || isFloat(y)) {
      return FloatOp::create(b, loc, toFloat(x), toFloat(y));
    }
    return IntOp::create(b, loc, toInt(x), toInt(y));
  }
  template <typename FloatOp> Value function(Value x) {
    return FloatOp::create(b, loc, toFloat(x));
  }
  Value compare(arith::CmpIPredicate integers, arith::CmpFPredicate floats, Value x, Value y) {
    if (isFloat(x) || isFloat(y)) {
      return arith::CmpFOp::create(b, loc, floats, toFloat(x), toFloat(y));
    }
    return arith::CmpIOp::create(b, loc, integers, toInt(x), toInt(y));
  }
  Value floorDivide(Value x, Value y) {
    if (isFloat(x) || isFloat(y)) {
      return math::FloorOp::create(
          b, loc, arith::DivFOp::create(b, loc, toFloat(x), toFloat(y)).getResult());
    }
    return arith::FloorDivSIOp::create(b, loc, toInt(x), toInt(y));
  }
  /// x - y * floor(x / y): the remainder has the divisor's sign.
  Value modulo(Value x, Value y) {
    Value quotient = floorDivide(x, y);
    Value product = arithmetic<arith::MulIOp, arith::MulFOp>(quotient, y);
    return arithmetic<arith::SubIOp, arith::SubFOp>(x, product);
  }

  OpBuilder &b;
  Location loc;
};
} // namespace

FailureOr<Value> GraphImporter::emitScalar(StringRef function, SmallVectorImpl<Value> &operands) {
  ScalarBuilder s(builder, here());
  using IP = arith::CmpIPredicate;
  using FP = arith::CmpFPredicate;
  Value x = operands[0], y = operands.size() > 1 ? operands[1] : Value();
  if (operands.size() == 3 && function == "ite") {
    bool real = s.isFloat(y) || s.isFloat(operands[2]);
    bool truth = y.getType().isInteger(1) && operands[2].getType().isInteger(1);
    Type type = real    ? Type(builder.getF64Type())
                : truth ? Type(builder.getI1Type())
                        : Type(builder.getI64Type());
    return Value(arith::SelectOp::create(builder, here(), s.toBool(x), s.to(type, y),
                                         s.to(type, operands[2])));
  }
  if (operands.size() == 2) {
    enum Two {
      None,
      Add,
      Sub,
      Mul,
      Div,
      FloorDiv,
      Mod,
      Pow,
      Eq,
      Ne,
      Lt,
      Le,
      Gt,
      Ge,
      Max,
      Min,
      And,
      Or,
      Shl,
      Shr
    };
    switch (llvm::StringSwitch<Two>(function)
                .Case("add", Add)
                .Case("sub", Sub)
                .Case("mul", Mul)
                .Case("truediv", Div)
                .Case("floordiv", FloorDiv)
                .Case("mod", Mod)
                .Case("pow", Pow)
                .Case("eq", Eq)
                .Case("ne", Ne)
                .Case("lt", Lt)
                .Case("le", Le)
                .Case("gt", Gt)
                .Case("ge", Ge)
                .Case("max", Max)
                .Case("min", Min)
                .Case("and_", And)
                .Case("or_", Or)
                .Case("lshift", Shl)
                .Case("rshift", Shr)
                .Default(None)) {
    case Add:
      return s.arithmetic<arith::AddIOp, arith::AddFOp>(x, y);
    case Sub:
      return s.arithmetic<arith::SubIOp, arith::SubFOp>(x, y);
    case Mul:
      return s.arithmetic<arith::MulIOp, arith::MulFOp>(x, y);
    case Div:
      return Value(arith::DivFOp::create(builder, here(), s.toFloat(x), s.toFloat(y)));
    case FloorDiv:
      return s.floorDivide(x, y);
    case Mod:
      return s.modulo(x, y);
    case Pow:
      return s.arithmetic<math::IPowIOp, math::PowFOp>(x, y);
    case Eq:
      return s.compare(IP::eq, FP::OEQ, x, y);
    case Ne:
      return s.compare(IP::ne, FP::UNE, x, y);
    case Lt:
      return s.compare(IP::slt, FP::OLT, x, y);
    case Le:
      return s.compare(IP::sle, FP::OLE, x, y);
    case Gt:
      return s.compare(IP::sgt, FP::OGT, x, y);
    case Ge:
      return s.compare(IP::sge, FP::OGE, x, y);
    case Max:
      return s.arithmetic<arith::MaxSIOp, arith::MaximumFOp>(x, y);
    case Min:
      return s.arithmetic<arith::MinSIOp, arith::MinimumFOp>(x, y);
    case And:
    case Or: {
      bool truth = x.getType().isInteger(1) && y.getType().isInteger(1);
      x = truth ? x : s.toInt(x);
      y = truth ? y : s.toInt(y);
      return function == "and_" ? Value(arith::AndIOp::create(builder, here(), x, y))
                                : Value(arith::OrIOp::create(builder, here(), x, y));
    }
    case Shl:
      return Value(arith::ShLIOp::create(builder, here(), s.toInt(x), s.toInt(y)));
    case Shr:
      return Value(arith::ShRSIOp::create(builder, here(), s.toInt(x), s.toInt(y)));
    case None:
      break;
    }
  }
  if (operands.size() == 1) {
    enum One {
      None,
      Neg,
      Pos,
      Not,
      Int,
      Float,
      Trunc,
      Floor,
      Ceil,
      Round,
      Abs,
      Sqrt,
      Cos,
      Cosh,
      Sin,
      Sinh,
      Tan,
      Tanh,
      Asin,
      Acos,
      Atan,
      Exp,
      Log,
      Log2
    };
    One one = llvm::StringSwitch<One>(function)
                  .Case("neg", Neg)
                  .Case("pos", Pos)
                  .Case("not", Not)
                  .Case("int", Int)
                  .Case("float", Float)
                  .Case("trunc", Trunc)
                  .Case("floor", Floor)
                  .Case("ceil", Ceil)
                  .Case("round", Round)
                  .Case("abs", Abs)
                  .Case("sqrt", Sqrt)
                  .Case("cos", Cos)
                  .Case("cosh", Cosh)
                  .Case("sin", Sin)
                  .Case("sinh", Sinh)
                  .Case("tan", Tan)
                  .Case("tanh", Tanh)
                  .Case("asin", Asin)
                  .Case("acos", Acos)
                  .Case("atan", Atan)
                  .Case("exp", Exp)
                  .Case("log", Log)
                  .Case("log2", Log2)
                  .Default(None);
    bool rounds = one == Trunc || one == Floor || one == Ceil || one == Round || one == Int;
    if (rounds && !s.isFloat(x)) {
      return s.toInt(x);
    }
    switch (one) {
    case Neg:
      if (s.isFloat(x)) {
        return Value(arith::NegFOp::create(builder, here(), x));
      }
      return s.arithmetic<arith::SubIOp, arith::SubFOp>(constant(builder.getI64IntegerAttr(0)), x);
    case Pos:
      return x;
    case Not:
      return Value(
          arith::XOrIOp::create(builder, here(), s.toBool(x), constant(builder.getBoolAttr(true))));
    case Float:
      return s.toFloat(x);
    case Int:
    case Trunc:
      return s.toInt(x);
    case Floor:
      return s.toInt(s.function<math::FloorOp>(x));
    case Ceil:
      return s.toInt(s.function<math::CeilOp>(x));
    case Round:
      return s.toInt(s.function<math::RoundEvenOp>(x));
    case Abs:
      return s.isFloat(x) ? s.function<math::AbsFOp>(x)
                          : Value(math::AbsIOp::create(builder, here(), s.toInt(x)));
    case Sqrt:
      return s.function<math::SqrtOp>(x);
    case Cos:
      return s.function<math::CosOp>(x);
    case Cosh:
      return s.function<math::CoshOp>(x);
    case Sin:
      return s.function<math::SinOp>(x);
    case Sinh:
      return s.function<math::SinhOp>(x);
    case Tan:
      return s.function<math::TanOp>(x);
    case Tanh:
      return s.function<math::TanhOp>(x);
    case Asin:
      return s.function<math::AsinOp>(x);
    case Acos:
      return s.function<math::AcosOp>(x);
    case Atan:
      return s.function<math::AtanOp>(x);
    case Exp:
      return s.function<math::ExpOp>(x);
    case Log:
      return s.function<math::LogOp>(x);
    case Log2:
      return s.function<math::Log2Op>(x);
    case None:
      break;
    }
  }
  return fail(ErrorKind::Unsupported,
              "scalar function '" + function + "' of " + Twine(operands.size()) + " operands");
}

//===----------------------------------------------------------------------===//
// Sizes that the host computes
//===----------------------------------------------------------------------===//

Value GraphImporter::emitHostCall(const HostExpression &call) {
  SmallVector<Value> operands;
  SmallVector<Value> divisors;
  for (const HostExpression &operand : call.operands) {
    // A product of integers and fractions is divided once, at the end: each quotient would be
    // rounded.
    bool isFraction = operand.name == "Rational" && call.name == "Mul";
    Value value = emitHostExpression(isFraction ? operand.operands.front() : operand);
    if (!value || (operand.name == "Rational" && !isFraction)) {
      return Value();
    }
    operands.push_back(value);
    if (isFraction) {
      divisors.push_back(emitHostExpression(operand.operands.back()));
    }
  }
  auto apply = [&](StringRef function, ArrayRef<Value> arguments) -> Value {
    SmallVector<Value> copied(arguments);
    FailureOr<Value> value = emitScalar(function, copied);
    return succeeded(value) ? *value : Value();
  };
  StringRef name = call.name;
  if (StringRef fold = llvm::StringSwitch<StringRef>(name)
                           .Case("Add", "add")
                           .Case("Mul", "mul")
                           .Case("Max", "max")
                           .Case("Min", "min")
                           .Default("");
      !fold.empty()) {
    Value all = operands.front();
    for (Value operand : ArrayRef(operands).drop_front()) {
      all = apply(fold, {all, operand});
    }
    if (!divisors.empty()) {
      Value divisor = divisors.front();
      for (Value other : ArrayRef(divisors).drop_front()) {
        divisor = apply("mul", {divisor, other});
      }
      all = apply("truediv", {all, divisor});
    }
    return all;
  }
  if (name == "CeilDiv" && operands.size() == 2) {
    return apply("neg", {apply("floordiv", {apply("neg", {operands[0]}), operands[1]})});
  }
  if (name == "TruncToFloat" && operands.size() == 1) {
    return apply("float", {apply("trunc", {operands[0]})});
  }
  if (name == "Identity") {
    return operands.front();
  }
  StringRef function = name;
  bool isNamed = function.consume_front("OpaqueUnaryFn_");
  if (!isNamed) {
    function = llvm::StringSwitch<StringRef>(name)
                   .Cases({"TruncToInt", "trunc"}, "trunc")
                   .Cases({"FloorToInt", "floor"}, "floor")
                   .Cases({"CeilToInt", "ceiling"}, "ceil")
                   .Case("RoundToInt", "round")
                   .Case("ToFloat", "float")
                   .Cases({"IntTrueDiv", "FloatTrueDiv"}, "truediv")
                   .Cases({"FloorDiv", "CleanDiv"}, "floordiv")
                   .Cases({"Mod", "PythonMod"}, "mod")
                   .Cases({"Pow", "FloatPow", "PowByNatural"}, "pow")
                   .Case("Abs", "abs")
                   .Case("LShift", "lshift")
                   .Case("RShift", "rshift")
                   .Default("");
  }
  if (isNamed && !llvm::is_contained({"sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin",
                                      "acos", "atan", "exp", "log", "log2"},
                                     function)) {
    return Value();
  }
  bool isBinary =
      llvm::is_contained({"truediv", "floordiv", "mod", "pow", "lshift", "rshift"}, function);
  return !function.empty() && operands.size() == (isBinary ? 2 : 1) ? apply(function, operands)
                                                                    : Value();
}

Value GraphImporter::emitHostExpression(const HostExpression &expression) {
  using Kind = HostExpression::Kind;
  switch (expression.kind) {
  case Kind::Integer:
    return constant(builder.getI64IntegerAttr(expression.integer));
  case Kind::Real:
    return constant(builder.getF64FloatAttr(expression.real));
  case Kind::Symbol: {
    if (!expression.isInteger()) {
      return floatSymbols.lookup(expression.name);
    }
    SizeExpr size = SizeExpr::symbol(context, expression.name);
    return isBound(size) ? sizeValue(size) : Value();
  }
  case Kind::Call:
    return emitHostCall(expression);
  }
  llvm_unreachable("all kinds are handled");
}

void GraphImporter::computeSymbol(StringRef name) {
  const HostExpression *expression = program.hostExpression(name);
  StringAttr symbol = builder.getStringAttr(name);
  if (!expression || bound.contains(symbol)) {
    return;
  }
  if (Value value = emitHostExpression(*expression)) {
    bound.insert(symbol);
    BindOp::create(builder, here(), symbol, ScalarBuilder(builder, here()).toInt(value),
                   IntegerAttr());
  }
}

LogicalResult GraphImporter::importScalar(const Node &node, StringRef function) {
  using Kind = Argument::Kind;
  if (node.outputs.size() != 1 || !node.outputs[0].isName() ||
      node.outputs[0].kind == Kind::Tensor) {
    return fail(ErrorKind::Semantic, "scalar arithmetic has one named scalar as its result");
  }
  const Argument &output = node.outputs[0];
  SizeExpr size;
  if (output.kind == Kind::SymInt) {
    auto it = ints.find(output.text);
    if (it == ints.end()) {
      return fail(ErrorKind::Semantic,
                  "integer '" + output.text + "' is not described in sym_int_values");
    }
    size = program.sizeIfKnown(*it->second);
    if (size && isBound(size)) {
      noteSymbols(size);
      return define(output.text, {Value(), DTypeAttr::get(context, DType::I64), {}, {}, {}, size});
    }
  }
  SmallVector<Value> operands;
  for (const NamedArgument &input : node.inputs) {
    auto add = [&](const Argument &argument) -> LogicalResult {
      auto value = scalar(argument);
      if (failed(value)) {
        return failure();
      }
      operands.push_back(*value);
      return success();
    };
    if (input.value.kind != Kind::List) {
      if (failed(add(input.value))) {
        return failure();
      }
      continue;
    }
    for (const Argument &item : input.value.items) { // torch.sym_sum([a, b, c])
      if (failed(add(item))) {
        return failure();
      }
    }
  }
  if (operands.empty()) {
    return fail(ErrorKind::Semantic, "scalar arithmetic without operands");
  }
  FailureOr<Value> value;
  if (function == "sum") {
    value = operands[0];
    for (Value term : ArrayRef(operands).drop_front()) {
      SmallVector<Value> pair{*value, term};
      value = emitScalar("add", pair);
    }
  } else {
    value = emitScalar(function, operands);
  }
  if (failed(value)) {
    return failure();
  }
  bool isInt = output.kind == Kind::SymInt, isFloat = output.kind == Kind::SymFloat;
  CallResult result;
  result.name = output.text;
  result.type = isInt     ? Type(builder.getI64Type())
                : isFloat ? Type(builder.getF64Type())
                          : Type(builder.getI1Type());
  result.dtype = DTypeAttr::get(context, isInt ? DType::I64 : isFloat ? DType::F64 : DType::Bool);
  if (size && size.getSymbol()) {
    // A new symbol is bound here. If the host computes it, this node says how: sympy has reordered
    // the floats in its expression.
    symbols.insert({builder.getStringAttr(*size.getSymbol()), here()});
    result.size = size;
  }
  Value converted = ScalarBuilder(builder, here()).to(result.type, *value);
  return defineResults({result}, {converted});
}
