#pragma once

#include "ir/SizeExpr.h"

#include <optional>
#include <string>
#include <vector>

/// Sizes that no SizeExpr can express, because their computation contains a float, bits or a
/// choice: `round(n / 2)`, `int(n * 0.7)`, `sqrt(n)`, `n & 7`. The host computes them as Python
/// does; in all other places each is a symbol of its own.
namespace mlir::frit {

/// A function of symbols, integers and floats, with sympy's names.
struct HostExpression {
  enum class Kind { Integer, Real, Symbol, Call };
  Kind kind = Kind::Integer;
  int64_t integer = 0;
  double real = 0;
  /// The name of a symbol or of a function.
  std::string name;
  std::vector<HostExpression> operands;

  bool isInteger() const;
  /// True if all operands are provably non-negative and the function cannot give a negative result.
  bool provablyNonNegative(MLIRContext *context, const SizeFacts &facts) const;
};

/// Reads srepr text. nullopt if the text is malformed, nested deeper than 64, or has a function
/// that the host does not know.
std::optional<HostExpression> parseHostExpression(llvm::StringRef text);

/// The prefix of these symbols' names, followed by a number. No symbol of a program may have such a
/// name.
inline constexpr llvm::StringLiteral kHostSizeName = "computed";

} // namespace mlir::frit
