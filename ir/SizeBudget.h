#pragma once

#include "ir/SizeExpr.h"

namespace mlir::frit {

/// What a size read from text may grow to. Products multiply out, so a short text can say a
/// polynomial of a million terms; and a function that stands in several terms is one object but is
/// printed and walked as many, so nesting multiplies again.
class SizeBudget {
public:
  static constexpr size_t maxTerms = 256, maxDegree = 64, maxAtoms = 1 << 13;
  static constexpr llvm::StringRef reason =
      "a size of more than 256 terms, of a degree above 64 or of more than 8192 symbols";

  /// Whether `size` is small enough to go on with.
  bool admits(SizeExpr size);
  /// Whether a product is small enough to be made at all.
  static bool admitsProduct(SizeExpr lhs, SizeExpr rhs);

private:
  size_t countAtoms(SizeAttr size);

  llvm::DenseMap<Attribute, size_t> counts;
};

} // namespace mlir::frit
