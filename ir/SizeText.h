#pragma once

#include "ir/SizeBudget.h"
#include "ir/SizeExpr.h"

/// The grammar of size expressions, once, over any source of tokens: MLIR's
/// attribute parser and plain text (guards, options, tests) share it.
///
///   sum     := ['-'] product (('+' | '-') product)*
///   product := atom ('*' atom)*
///   atom    := integer | name | function '(' sum ',' sum ')' | '(' sum ')'
///   function := floordiv | mod | max | min
///
/// `Lexer` has consume(char) -> bool, consumeName(std::string &) -> bool,
/// consumeInteger(int64_t &) -> bool and fail(StringRef) -> SizeExpr().
namespace mlir::frit::detail {

template <typename Lexer> class SizeGrammar {
public:
  SizeGrammar(Lexer &lexer, MLIRContext *context) : lexer(lexer), context(context) {}

  SizeExpr parseSum() {
    // The text is untrusted: nesting is limited before the stack overflows.
    if (++depth > maxDepth) {
      return lexer.fail("size expression is nested deeper than 64");
    }
    bool negative = lexer.consume('-');
    SizeExpr sum = parseProduct();
    if (!sum) {
      return sum;
    }
    if (negative) {
      sum = -sum;
    }
    while (true) {
      bool plus = lexer.consume('+');
      if (!plus && !lexer.consume('-')) {
        break;
      }
      SizeExpr next = parseProduct();
      if (!next) {
        return next;
      }
      sum = plus ? sum + next : sum - next;
      if (!budget.admits(sum)) {
        return lexer.fail(SizeBudget::reason);
      }
    }
    --depth;
    return sum;
  }

private:
  static constexpr unsigned maxDepth = 64;

  SizeExpr parseProduct() {
    SizeExpr product = parseAtom();
    while (product && lexer.consume('*')) {
      SizeExpr next = parseAtom();
      if (!next) {
        return next;
      }
      if (!SizeBudget::admitsProduct(product, next)) {
        return lexer.fail(SizeBudget::reason);
      }
      product = product * next;
      if (!budget.admits(product)) {
        return lexer.fail(SizeBudget::reason);
      }
    }
    return product;
  }

  SizeExpr parseAtom() {
    int64_t integer;
    if (lexer.consumeInteger(integer)) {
      return SizeExpr::constant(context, integer);
    }
    if (lexer.consume('(')) {
      SizeExpr inner = parseSum();
      if (inner && !lexer.consume(')')) {
        return lexer.fail("expected ')' in size expression");
      }
      return inner;
    }
    std::string name;
    if (!lexer.consumeName(name)) {
      return lexer.fail("expected a size: an integer, a symbol or a function of sizes");
    }
    bool function = name == "floordiv" || name == "mod" || name == "max" || name == "min";
    if (!function) {
      return SizeExpr::symbol(context, name);
    }
    if (!lexer.consume('(')) {
      return lexer.fail("expected '(' after the function of a size expression");
    }
    SizeExpr lhs = parseSum();
    if (!lhs) {
      return lhs;
    }
    if (!lexer.consume(',')) {
      return lexer.fail("expected ',' between the arguments of a size function");
    }
    SizeExpr rhs = parseSum();
    if (!rhs) {
      return rhs;
    }
    if (!lexer.consume(')')) {
      return lexer.fail("expected ')' after the arguments of a size function");
    }
    if (name == "max") {
      return lhs.max(rhs);
    }
    if (name == "min") {
      return lhs.min(rhs);
    }
    if (rhs.isConstant(0)) {
      return lexer.fail("division by the constant 0 in a size expression");
    }
    return name == "mod" ? lhs.mod(rhs) : lhs.floorDiv(rhs);
  }

  Lexer &lexer;
  MLIRContext *context;
  SizeBudget budget;
  unsigned depth = 0;
};

} // namespace mlir::frit::detail

namespace mlir::frit {
/// Parses a size expression inside an attribute or type, and prints one.
FailureOr<SizeExpr> parseSize(AsmParser &parser);
void printSize(llvm::raw_ostream &os, SizeExpr size);
} // namespace mlir::frit
