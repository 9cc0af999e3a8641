#include "import/HostSizes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::frit;

namespace {
enum class Result { Unknown, Integer, Real, AsOperands };

/// The type of a function's result.
Result resultOf(StringRef function) {
  return llvm::StringSwitch<Result>(function)
      .Cases({"TruncToInt", "FloorToInt", "CeilToInt", "RoundToInt", "floor", "ceiling"},
             Result::Integer)
      .Cases({"FloorDiv", "CleanDiv", "CeilDiv", "PowByNatural", "LShift", "RShift"},
             Result::Integer)
      .Cases({"BitwiseFn_bitwise_and", "BitwiseFn_bitwise_or", "BitwiseFn_bitwise_xor"},
             Result::Integer)
      .Cases({"StrictGreaterThan", "GreaterThan", "StrictLessThan", "LessThan", "Equality",
              "Unequality", "And", "Or", "Not"},
             Result::Integer)
      .Cases({"ToFloat", "IntTrueDiv", "FloatTrueDiv", "FloatPow", "TruncToFloat", "Rational"},
             Result::Real)
      .Cases({"Add", "Mul", "Max", "Min", "Mod", "PythonMod", "Abs", "Pow", "Identity", "Piecewise",
              "ExprCondPair"},
             Result::AsOperands)
      .StartsWith("OpaqueUnaryFn_", Result::Real)
      .Default(Result::Unknown);
}

class Reader {
public:
  explicit Reader(StringRef text) : text(text) {}

  std::optional<HostExpression> read() {
    HostExpression all;
    return expression(all, 0) && text.trim().empty() ? std::optional(std::move(all)) : std::nullopt;
  }

private:
  bool consume(StringRef what) {
    text = text.ltrim();
    return text.consume_front(what);
  }
  bool quoted(StringRef &word) {
    text = text.ltrim();
    char quote = text.empty() ? 0 : text.front();
    size_t end = quote == '\'' || quote == '"' ? text.find(quote, 1) : StringRef::npos;
    if (end == StringRef::npos) {
      return false;
    }
    word = text.slice(1, end);
    text = text.drop_front(end + 1);
    return true;
  }
  /// `, integer=True)`
  bool assumptions() {
    size_t end = text.find(')');
    if (end == StringRef::npos || text.take_front(end).contains('(')) {
      return false;
    }
    text = text.drop_front(end + 1);
    return true;
  }

  bool expression(HostExpression &out, unsigned depth) {
    if (depth > 64) {
      return false;
    }
    text = text.ltrim();
    if (StringRef number = text.take_while([](char c) { return llvm::isDigit(c) || c == '-'; });
        !number.empty()) {
      text = text.drop_front(number.size());
      return !number.getAsInteger(10, out.integer);
    }
    StringRef function =
        text.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    text = text.drop_front(function.size());
    function = function.substr(function.rfind('.') + 1);
    if (function == "true" || function == "false") {
      out.integer = function == "true";
      return true;
    }
    if (!consume("(")) {
      return false;
    }
    StringRef word;
    if (function == "Symbol") {
      out.kind = HostExpression::Kind::Symbol;
      bool read = quoted(word);
      out.name = word.str();
      return read && assumptions();
    }
    if (function == "Float") {
      out.kind = HostExpression::Kind::Real;
      return quoted(word) && !word.getAsDouble(out.real) && assumptions();
    }
    out.kind = HostExpression::Kind::Call;
    out.name = function.str();
    if (!consume(")")) {
      do {
        if (!expression(out.operands.emplace_back(), depth + 1)) {
          return false;
        }
      } while (consume(","));
      if (!consume(")")) {
        return false;
      }
    }
    if (function == "Integer" && out.operands.size() == 1) {
      out = HostExpression(out.operands[0]);
      return true;
    }
    return resultOf(function) != Result::Unknown && !out.operands.empty();
  }

  StringRef text;
};
} // namespace

std::optional<HostExpression> mlir::frit::parseHostExpression(StringRef text) {
  return Reader(text).read();
}

bool HostExpression::isInteger() const {
  if (kind != Kind::Call) {
    // Names of float symbols begin with "z".
    return kind == Kind::Integer || (kind == Kind::Symbol && !StringRef(name).starts_with("z"));
  }
  Result result = resultOf(name);
  return result == Result::Integer ||
         (result == Result::AsOperands &&
          llvm::all_of(operands, [](const HostExpression &one) { return one.isInteger(); }));
}

bool HostExpression::provablyNonNegative(MLIRContext *context, const SizeFacts &facts) const {
  switch (kind) {
  case Kind::Integer:
    return integer >= 0;
  case Kind::Real:
    return real >= 0;
  case Kind::Symbol:
    return isInteger() && facts.provablyNonNegative(SizeExpr::symbol(context, name));
  case Kind::Call:
    break;
  }
  bool keeps = llvm::StringSwitch<bool>(name)
                   .StartsWith("OpaqueUnaryFn_", name == "OpaqueUnaryFn_sqrt")
                   .Cases({"LShift", "RShift"}, false)
                   .Default(true);
  return keeps && llvm::all_of(operands, [&](const HostExpression &one) {
           return one.provablyNonNegative(context, facts);
         });
}
