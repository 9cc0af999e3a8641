#pragma once

#include "ir/SizeExpr.h"

#include <optional>
#include <string>
#include <vector>

/// Sizes that no SizeExpr says, because a float stands between the integers: `round(n / 2)`, `int(n
/// * 0.7)`, `sqrt(n)`. The host computes them as Python does, and to everybody else they are
/// symbols of their own.
namespace mlir::frit {

/// A function of symbols, integers and floats, with sympy's names.
struct HostExpression {
  enum class Kind { Integer, Real, Symbol, Call };
  Kind kind = Kind::Integer;
  int64_t integer = 0;
  double real = 0;
  /// Of a symbol, or of a function.
  std::string name;
  std::vector<HostExpression> operands;

  bool isInteger() const;
  /// Where all that goes into it is so, and no function takes it below zero.
  bool provablyNonNegative(MLIRContext *context, const SizeFacts &facts) const;
};

/// Reads srepr text. Nothing if it is none, is deeper than 64, or has a function that the host does
/// not know.
std::optional<HostExpression> parseHostExpression(llvm::StringRef text);

/// What these symbols are called: this and a number. No symbol of a program may be.
inline constexpr llvm::StringLiteral kHostSizeName = "computed";

} // namespace mlir::frit
