// Arithmetic on Python scalars: i64, f64 and i1 values computed on the host. An integer for which
// torch has a size expression becomes that size; its node disappears.
#include "import/GraphImporter.h"
#include "import/ScalarBuilder.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::frit;
using namespace mlir::frit::exported;

FailureOr<Value> GraphImporter::emitScalar(StringRef function, ArrayRef<Value> operands) {
  if (Value value = ScalarBuilder(builder, here()).call(function, operands)) {
    return value;
  }
  return fail(ErrorKind::Unsupported,
              "the scalar function '" + function + "' with " + Twine(operands.size()) +
                  " operands has no form in the compiler; compute it outside of the program");
}

//===----------------------------------------------------------------------===//
// Sizes that the host computes
//===----------------------------------------------------------------------===//

/// Piecewise((value, condition), ..., (value, true)): the first value whose condition holds.
Value GraphImporter::emitChoice(const HostExpression &call) {
  Value chosen;
  for (const HostExpression &pair : llvm::reverse(call.operands)) {
    if (pair.name != "ExprCondPair" || pair.operands.size() != 2) {
      return Value();
    }
    Value value = emitHostExpression(pair.operands[0]);
    Value condition = chosen ? emitHostExpression(pair.operands[1]) : Value();
    if (!value || (chosen && !condition)) {
      return Value();
    }
    if (chosen) {
      FailureOr<Value> one = emitScalar("ite", {condition, value, chosen});
      value = succeeded(one) ? *one : Value();
    }
    if (!(chosen = value)) {
      return Value();
    }
  }
  return chosen;
}

Value GraphImporter::emitHostCall(const HostExpression &call) {
  if (call.name == "Piecewise") {
    return emitChoice(call);
  }
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
    FailureOr<Value> value = emitScalar(function, arguments);
    return succeeded(value) ? *value : Value();
  };
  StringRef name = call.name;
  if (StringRef fold = llvm::StringSwitch<StringRef>(name)
                           .Case("Add", "add")
                           .Case("Mul", "mul")
                           .Case("Max", "max")
                           .Case("Min", "min")
                           .Cases({"And", "BitwiseFn_bitwise_and"}, "and_")
                           .Cases({"Or", "BitwiseFn_bitwise_or"}, "or_")
                           .Case("BitwiseFn_bitwise_xor", "xor")
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
                   .Case("StrictGreaterThan", "gt")
                   .Case("GreaterThan", "ge")
                   .Case("StrictLessThan", "lt")
                   .Case("LessThan", "le")
                   .Case("Equality", "eq")
                   .Case("Unequality", "ne")
                   .Case("Not", "not")
                   .Case("LShift", "lshift")
                   .Case("RShift", "rshift")
                   .Default("");
  }
  if (isNamed && !llvm::is_contained({"sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin",
                                      "acos", "atan", "exp", "log", "log2"},
                                     function)) {
    return Value();
  }
  bool isBinary = llvm::is_contained(
      {"truediv", "floordiv", "mod", "pow", "lshift", "rshift", "gt", "ge", "lt", "le", "eq", "ne"},
      function);
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

/// torch writes (a // b) // c as a // (b * c), which is another number for a negative c and a b
/// that does not divide a. Its expressions of what follows are as wrong, also those of shapes.
LogicalResult GraphImporter::requireQuotientAsWritten(const Node &node) {
  auto described = [&](const NamedArgument &input) -> const SymValue * {
    auto it = ints.find(input.value.text);
    bool isName = input.value.isName() && input.value.kind == Argument::Kind::SymInt;
    return isName && it != ints.end() ? it->second : nullptr;
  };
  if (node.inputs.size() != 2) {
    return success();
  }
  const SymValue *dividend = described(node.inputs[0]), *divisor = described(node.inputs[1]);
  bool isQuotient = dividend && dividend->isExpr && dividend->expr.contains("FloorDiv(");
  SizeExpr size = divisor ? program.sizeIfKnown(*divisor) : SizeExpr();
  bool isPositive = node.inputs[1].value.kind == Argument::Kind::Int
                        ? node.inputs[1].value.integer > 0
                        : size && program.facts.provablyNonNegative(size - 1);
  if (!isQuotient || isPositive) {
    return success();
  }
  return fail(
      ErrorKind::Unsupported,
      "the quotient of a quotient by a number that may be negative is another number in "
      "torch's sizes than in Python; divide by a positive number, or outside of the program");
}

LogicalResult GraphImporter::importScalar(const Node &node, StringRef function) {
  using Kind = Argument::Kind;
  if (node.outputs.size() != 1 || !node.outputs[0].isName() ||
      node.outputs[0].kind == Kind::Tensor) {
    return fail(ErrorKind::Semantic, "scalar arithmetic must have one named scalar as its result");
  }
  if (function == "floordiv" && failed(requireQuotientAsWritten(node))) {
    return failure();
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
    return fail(ErrorKind::Semantic, "scalar arithmetic has no operands");
  }
  FailureOr<Value> value;
  if (function == "sum") {
    value = operands[0];
    for (Value term : ArrayRef(operands).drop_front()) {
      value = emitScalar("add", {*value, term});
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
