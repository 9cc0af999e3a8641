// Size expressions as text: printing, and the two lexers of the grammar.
#include "ir/SizeText.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::frit;

Attribute SizeSymbolAttr::parse(AsmParser &parser, Type) {
  StringRef name;
  if (parser.parseLess() || parser.parseKeyword(&name) || parser.parseGreater()) {
    return {};
  }
  return get(parser.getContext(), name);
}

void SizeSymbolAttr::print(AsmPrinter &printer) const { printer << '<' << getName() << '>'; }

static void printTerm(llvm::raw_ostream &os, uint64_t magnitude, ArrayAttr monomial) {
  bool needsStar = false;
  if (magnitude != 1 || monomial.empty()) {
    os << magnitude;
    needsStar = true;
  }
  for (Attribute atom : monomial) {
    if (needsStar) {
      os << " * ";
    }
    needsStar = true;
    if (auto symbol = dyn_cast<SizeSymbolAttr>(atom)) {
      os << symbol.getName();
      continue;
    }
    auto call = cast<SizeCallAttr>(atom);
    os << stringifySizeFunction(call.getFunction()) << '(';
    printSize(os, call.getLhs());
    os << ", ";
    printSize(os, call.getRhs());
    os << ')';
  }
}

void mlir::frit::printSize(llvm::raw_ostream &os, SizeExpr size) {
  SizeAttr attr = size;
  if (attr.getMonomials().empty()) {
    os << '0';
    return;
  }
  for (auto [i, term] : llvm::enumerate(llvm::zip(attr.getCoefficients(), attr.getMonomials()))) {
    auto [coefficient, monomial] = term;
    uint64_t magnitude = static_cast<uint64_t>(coefficient);
    if (coefficient < 0) {
      magnitude = -magnitude;
      os << (i == 0 ? "-" : " - ");
    } else if (i != 0) {
      os << " + ";
    }
    // The magnitude of INT64_MIN cannot be read back, so it is written as two terms.
    bool isMinimum = magnitude == uint64_t(1) << 63;
    printTerm(os, magnitude - isMinimum, monomial);
    if (isMinimum) {
      os << " - ";
      printTerm(os, 1, monomial);
    }
  }
}

std::string SizeExpr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  printSize(os, *this);
  return text;
}

namespace {
class AttributeLexer {
public:
  explicit AttributeLexer(AsmParser &parser) : parser(parser) {}
  bool consume(char c) {
    switch (c) {
    case '+':
      return succeeded(parser.parseOptionalPlus());
    case '-':
      return succeeded(parser.parseOptionalMinus());
    case '*':
      return succeeded(parser.parseOptionalStar());
    case '(':
      return succeeded(parser.parseOptionalLParen());
    case ')':
      return succeeded(parser.parseOptionalRParen());
    case ',':
      return succeeded(parser.parseOptionalComma());
    default:
      return false;
    }
  }
  bool consumeName(std::string &name) {
    StringRef keyword;
    if (failed(parser.parseOptionalKeyword(&keyword))) {
      return false;
    }
    name = keyword.str();
    return true;
  }
  bool consumeInteger(int64_t &value) {
    OptionalParseResult result = parser.parseOptionalInteger(value);
    return result.has_value() && succeeded(*result);
  }
  SizeExpr fail(StringRef message) {
    parser.emitError(parser.getCurrentLocation(), message);
    return {};
  }

private:
  AsmParser &parser;
};

class TextLexer {
public:
  TextLexer(StringRef text, std::string &error) : text(text), error(error) {}
  bool consume(char c) {
    skip();
    if (position < text.size() && text[position] == c) {
      ++position;
      return true;
    }
    return false;
  }
  bool consumeName(std::string &name) {
    skip();
    size_t end = position;
    while (end < text.size() && (llvm::isAlnum(text[end]) || text[end] == '_')) {
      ++end;
    }
    if (end == position || llvm::isDigit(text[position])) {
      return false;
    }
    name = text.slice(position, end).str();
    position = end;
    return true;
  }
  bool consumeInteger(int64_t &value) {
    skip();
    size_t end = position;
    while (end < text.size() && llvm::isDigit(text[end])) {
      ++end;
    }
    if (end == position || text.slice(position, end).getAsInteger(10, value)) {
      return false;
    }
    position = end;
    return true;
  }
  SizeExpr fail(StringRef message) {
    if (error.empty()) {
      error = (message + " at column " + Twine(position + 1)).str();
    }
    return {};
  }
  bool atEnd() {
    skip();
    return position == text.size();
  }

private:
  void skip() {
    while (position < text.size() && llvm::isSpace(text[position])) {
      ++position;
    }
  }
  StringRef text;
  std::string &error;
  size_t position = 0;
};
} // namespace

FailureOr<SizeExpr> mlir::frit::parseSize(AsmParser &parser) {
  AttributeLexer lexer(parser);
  SizeExpr size = detail::SizeGrammar(lexer, parser.getContext()).parseSum();
  if (!size) {
    return failure();
  }
  return size;
}

SizeExpr SizeExpr::parse(MLIRContext *context, StringRef text, std::string &error) {
  error.clear();
  TextLexer lexer(text, error);
  SizeExpr size = detail::SizeGrammar(lexer, context).parseSum();
  if (size && !lexer.atEnd()) {
    return lexer.fail("unexpected text after a size expression");
  }
  return size;
}
