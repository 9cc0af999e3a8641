#pragma once

#include "ir/SizeExpr.h"

namespace mlir::frit {

/// Limits for a size that is read from text. Products are expanded, so a short text can describe a
/// polynomial of a million terms. A function that occurs in several terms is one object, but is
/// printed and walked once per occurrence, so nesting multiplies again.
class SizeBudget {
public:
  static constexpr size_t maxTerms = 256, maxDegree = 64, maxAtoms = 1 << 13;
  static constexpr llvm::StringRef reason =
      "a size of more than 256 terms, of a degree above 64 or of more than 8192 symbols";

  /// Whether `size` is within the limits.
  bool admits(SizeExpr size);
  /// Whether a product is small enough to be computed at all.
  static bool admitsProduct(SizeExpr lhs, SizeExpr rhs);

private:
  size_t countAtoms(SizeAttr size);

  llvm::DenseMap<Attribute, size_t> counts;
};

} // namespace mlir::frit
