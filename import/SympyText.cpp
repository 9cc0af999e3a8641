// A size inside sympy may pass through fractions (`floor(Rational(1, 2) * s0)`), so a term here is
// an integer polynomial over a common denominator; the division happens where sympy rounds, or at
// the end, where torch has proved it exact.
#include "import/SympyText.h"

#include "import/HostSizes.h"
#include "ir/SizeBudget.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::frit;

namespace {
/// numerator / denominator; `isFloat` after a true division, whose result must be rounded next.
struct Term {
  SizeExpr numerator;
  SizeExpr denominator;
  bool isFloat = false;
};

class Parser {
public:
  Parser(MLIRContext *context, StringRef text, const SizeFacts &facts, std::string &error,
         bool &malformed, llvm::function_ref<SizeExpr(StringRef)> onHost)
      : context(context), text(text), facts(facts), error(error), malformed(malformed),
        onHost(onHost) {}

  SizeExpr parse() {
    Term term;
    if (!parseTerm(term)) {
      return {};
    }
    skip();
    if (position != text.size()) {
      syntax("text after the expression");
      return {};
    }
    if (term.isFloat) {
      reject("a true division that nothing rounds");
      return {};
    }
    return whole(term);
  }

private:
  static constexpr unsigned maxDepth = 64;
  static constexpr size_t maxTerms = 256;

  SizeExpr one() { return SizeExpr::constant(context, 1); }
  bool syntax(const Twine &what) {
    if (error.empty()) {
      error = (what + " at column " + Twine(position + 1)).str();
      malformed = true;
    }
    return false;
  }
  bool reject(const Twine &what) {
    if (error.empty()) {
      error = what.str();
    }
    return false;
  }
  void skip() {
    while (position < text.size() && llvm::isSpace(text[position])) {
      ++position;
    }
  }
  bool consume(char c) {
    skip();
    if (position >= text.size() || text[position] != c) {
      return false;
    }
    ++position;
    return true;
  }
  StringRef name() {
    skip();
    StringRef rest = text.drop_front(position);
    StringRef word =
        rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    if (!word.empty() && llvm::isDigit(word[0])) {
      return {};
    }
    position += word.size();
    return word;
  }
  bool integer(int64_t &value) {
    skip();
    StringRef rest = text.drop_front(position);
    size_t length = rest.starts_with("-") ? 1 : 0;
    while (length < rest.size() && llvm::isDigit(rest[length])) {
      ++length;
    }
    if (rest.take_front(length).getAsInteger(10, value)) {
      return syntax("expected a 64-bit integer");
    }
    position += length;
    return true;
  }

  SizeExpr whole(const Term &term) {
    if (term.denominator.isConstant(1)) {
      return term.numerator;
    }
    return term.numerator.floorDiv(term.denominator);
  }

  /// Symbol('s0', integer=True, ...): the assumptions say nothing that ranges do not.
  bool parseSymbol(Term &out) {
    skip();
    char quote = position < text.size() ? text[position] : 0;
    if (quote != '\'' && quote != '"') {
      return syntax("expected the quoted name of a symbol");
    }
    size_t end = text.find(quote, position + 1);
    StringRef symbol = text.slice(position + 1, end);
    bool valid = end != StringRef::npos && end > position + 1 && !symbol.empty() &&
                 symbol.size() <= 64 && (llvm::isAlpha(symbol[0]) || symbol[0] == '_') &&
                 llvm::all_of(symbol, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (!valid) {
      return syntax("a symbol's name is a word");
    }
    bool reserved = llvm::StringSwitch<bool>(symbol)
                        .Cases({"floordiv", "mod", "max", "min"}, true)
                        .Default(false);
    unsigned number;
    StringRef rest = symbol;
    reserved |= rest.consume_front(kHostSizeName) && !rest.getAsInteger(10, number);
    if (reserved ||
        (StringRef("dvp").contains(symbol[0]) && !symbol.drop_front().getAsInteger(10, number))) {
      return reject("the symbol name '" + symbol + "', which frit uses itself");
    }
    position = end + 1;
    while (consume(',')) {
      if (name().empty() || !consume('=') || name().empty()) {
        return syntax("expected an assumption such as integer=True");
      }
    }
    out = {SizeExpr::symbol(context, symbol), one()};
    return consume(')') || syntax("expected ')'");
  }

  bool parseTerm(Term &out) {
    if (++depth > maxDepth) {
      return syntax("an expression nested deeper than 64");
    }
    bool good = parseNested(out);
    --depth;
    return good;
  }

  bool parseNested(Term &out) {
    skip();
    char first = position < text.size() ? text[position] : 0;
    if (llvm::isDigit(first) || first == '-') {
      int64_t value;
      if (!integer(value)) {
        return false;
      }
      out = {SizeExpr::constant(context, value), one()};
      return true;
    }
    const size_t start = position;
    StringRef function = name();
    if (function.empty()) {
      return syntax("expected a sympy constructor");
    }
    function = function.substr(function.rfind('.') + 1); // npos + 1 == 0
    if (!consume('(')) {
      return reject("the constant '" + function.take_front(60) + "'");
    }
    if (function == "Symbol") {
      return parseSymbol(out);
    }
    if (function == "Float") {
      return reject("a number that is no integer");
    }
    if (parseCall(function, out)) {
      return true;
    }
    return !malformed && onHost && computeOnHost(start, out);
  }

  /// The end of the call that begins at `start`; brackets in quotes do not count.
  size_t endOfCall(size_t start) const {
    unsigned open = 0;
    for (size_t at = start; at < text.size(); ++at) {
      if (text[at] == '\'' || text[at] == '"') {
        at = std::min(text.find(text[at], at + 1), text.size());
      } else if (text[at] == '(') {
        ++open;
      } else if (text[at] == ')' && --open == 0) {
        return at + 1;
      }
    }
    return StringRef::npos;
  }

  /// Replaces the call by a symbol that the host computes; false if it cannot.
  bool computeOnHost(size_t start, Term &out) {
    size_t end = endOfCall(start);
    SizeExpr symbol = end == StringRef::npos ? SizeExpr() : onHost(text.slice(start, end).trim());
    if (!symbol) {
      return false;
    }
    position = end;
    error.clear();
    out = {symbol, one()};
    return true;
  }

  bool parseCall(StringRef function, Term &out) {
    SmallVector<Term, 4> terms;
    if (!consume(')')) {
      do {
        if (terms.size() >= maxTerms) {
          return reject("a function of more than 256 terms");
        }
        if (!parseTerm(terms.emplace_back())) {
          return false;
        }
      } while (consume(','));
      if (!consume(')')) {
        return syntax("expected ',' or ')'");
      }
    }
    return apply(function, terms, out) && bounded(out.numerator) && bounded(out.denominator);
  }

  bool bounded(SizeExpr size) { return budget.admits(size) || reject(SizeBudget::reason); }
  bool multiply(SizeExpr &product, SizeExpr factor) {
    if (!SizeBudget::admitsProduct(product, factor)) {
      return reject(SizeBudget::reason);
    }
    product = product * factor;
    return bounded(product);
  }
  bool divide(SizeExpr lhs, SizeExpr rhs, Term &out) {
    if (rhs.isConstant(0)) {
      return reject("a division by zero");
    }
    out = {lhs.floorDiv(rhs), one()};
    return true;
  }

  bool apply(StringRef function, MutableArrayRef<Term> terms, Term &out) {
    enum Op {
      Unknown,
      Integer,
      Rational,
      Add,
      Mul,
      Pow,
      Max,
      Min,
      Mod,
      FloorDiv,
      CeilDiv,
      TrueDiv,
      Modular,
      Floor,
      Ceil,
      Trunc,
      Identity,
      LShift,
      RShift
    };
    Op op = llvm::StringSwitch<Op>(function)
                .Case("Integer", Integer)
                .Case("Rational", Rational)
                .Case("Add", Add)
                .Case("Mul", Mul)
                .Cases({"Pow", "PowByNatural"}, Pow)
                .Case("Max", Max)
                .Case("Min", Min)
                .Cases({"Mod", "PythonMod"}, Mod)
                .Cases({"FloorDiv", "CleanDiv"}, FloorDiv)
                .Case("CeilDiv", CeilDiv)
                .Case("IntTrueDiv", TrueDiv)
                .Case("ModularIndexing", Modular)
                .Cases({"floor", "FloorToInt"}, Floor)
                .Cases({"ceiling", "CeilToInt"}, Ceil)
                .Case("TruncToInt", Trunc)
                .Case("Identity", Identity)
                .Case("LShift", LShift)
                .Case("RShift", RShift)
                .Default(Unknown);
    if (op == Unknown) {
      return reject("the function '" + function.take_front(60) + "'");
    }
    bool variadic = op == Add || op == Mul || op == Max || op == Min;
    size_t arity = op == Modular ? 3
                   : op == Integer || op == Floor || op == Ceil || op == Trunc || op == Identity
                       ? 1
                       : 2;
    if (variadic ? terms.empty() : terms.size() != arity) {
      return syntax(function + " of " + Twine(terms.size()) + " terms");
    }
    bool rounds = op == Floor || op == Ceil || op == Trunc;
    for (Term &term : terms) {
      if (term.isFloat && !rounds) {
        return reject("arithmetic on a true division");
      }
      // Only sums, products and rounding can take fractions.
      if (!rounds && op != Add && op != Mul) {
        if (term.numerator.getConstant() &&
            *term.numerator.getConstant() % *term.denominator.getConstant() != 0) {
          return reject("a fraction");
        }
        term = {whole(term), one()};
      }
    }
    SizeExpr a = terms[0].numerator, b = terms.size() > 1 ? terms[1].numerator : SizeExpr();
    switch (op) {
    case Integer:
    case Identity:
      out = terms[0];
      return true;
    case Rational:
    case TrueDiv: {
      auto divisor = b.getConstant();
      if (op == Rational && (!a.getConstant() || !divisor || *divisor <= 0)) {
        return syntax("Rational needs an integer and a positive integer");
      }
      if (b.isConstant(0)) {
        return reject("a division by zero");
      }
      out = {a, b, op == TrueDiv};
      return true;
    }
    case Add:
      out = {SizeExpr::constant(context, 0), one()};
      for (Term &term : terms) {
        // Denominators here are constants: TrueDiv is not summed.
        int64_t left = *out.denominator.getConstant(), right = *term.denominator.getConstant(),
                common;
        if (llvm::MulOverflow(left / std::gcd(left, right), right, common)) {
          return reject("a fraction beyond 64 bits");
        }
        out = {out.numerator * (common / left) + term.numerator * (common / right),
               SizeExpr::constant(context, common)};
        if (!bounded(out.numerator)) {
          return false;
        }
      }
      return true;
    case Mul:
      out = {one(), one()};
      for (Term &term : terms) {
        int64_t denominator;
        if (llvm::MulOverflow(*out.denominator.getConstant(), *term.denominator.getConstant(),
                              denominator)) {
          return reject("a fraction beyond 64 bits");
        }
        if (!multiply(out.numerator, term.numerator)) {
          return false;
        }
        out.denominator = SizeExpr::constant(context, denominator);
      }
      return true;
    case Pow: {
      auto exponent = b.getConstant();
      if (!exponent || *exponent < 0 || *exponent > 16) {
        return reject("a power whose exponent is not an integer from 0 to 16");
      }
      out = {one(), one()};
      for (int64_t i = 0; i < *exponent; ++i) {
        if (!multiply(out.numerator, a)) {
          return false;
        }
      }
      return true;
    }
    case Max:
    case Min:
      for (Term &term : terms.drop_front()) {
        a = op == Max ? a.max(term.numerator) : a.min(term.numerator);
      }
      out = {a, one()};
      return true;
    case FloorDiv:
      return divide(a, b, out);
    case CeilDiv:
      return divide(a + b - 1, b, out);
    case Mod:
      if (!divide(a, b, out)) {
        return false;
      }
      out = {a - b * out.numerator, one()};
      return true;
    case Modular: {
      SizeExpr modulus = terms[2].numerator;
      Term quotient;
      if (!divide(a, b, quotient) || !divide(quotient.numerator, modulus, out)) {
        return false;
      }
      out = {quotient.numerator - modulus * out.numerator, one()};
      return true;
    }
    case Trunc:
      if (!facts.provablyNonNegative(a) || !facts.provablyNonNegative(terms[0].denominator)) {
        return reject("the truncation of a quotient that may be negative");
      }
      [[fallthrough]];
    case Floor:
      out = {whole(terms[0]), one()};
      return true;
    case Ceil:
      out = {-whole({-a, terms[0].denominator}), one()};
      return true;
    case LShift:
    case RShift: {
      auto amount = b.getConstant();
      if (!amount || *amount < 0 || *amount > 62) {
        return reject("a shift by other than 0 to 62");
      }
      SizeExpr factor = SizeExpr::constant(context, int64_t(1) << *amount);
      out = {op == LShift ? a * factor : a.floorDiv(factor), one()};
      return true;
    }
    case Unknown:
      break;
    }
    return false;
  }

  MLIRContext *context;
  SizeBudget budget;
  StringRef text;
  const SizeFacts &facts;
  std::string &error;
  bool &malformed;
  llvm::function_ref<SizeExpr(StringRef)> onHost;
  size_t position = 0;
  unsigned depth = 0;
};
} // namespace

SizeExpr mlir::frit::parseSympyText(MLIRContext *context, StringRef text, const SizeFacts &facts,
                                    std::string &error, bool &malformed,
                                    llvm::function_ref<SizeExpr(StringRef)> onHost) {
  error.clear();
  malformed = false;
  return Parser(context, text, facts, error, malformed, onHost).parse();
}
