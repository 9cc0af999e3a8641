// Measures sizes without printing or walking them completely.
#include "ir/SizeBudget.h"

namespace mlir::frit {

bool SizeBudget::admits(SizeExpr size) {
  ArrayRef<ArrayAttr> monomials = size.getAttr().getMonomials();
  return monomials.size() <= maxTerms &&
         llvm::all_of(monomials, [](ArrayAttr m) { return m.size() <= maxDegree; }) &&
         countAtoms(size.getAttr()) <= maxAtoms;
}

bool SizeBudget::admitsProduct(SizeExpr lhs, SizeExpr rhs) {
  return lhs.getAttr().getMonomials().size() * rhs.getAttr().getMonomials().size() <= 16 * maxTerms;
}

/// The number of symbols that would be printed. Counts of functions are remembered; above the limit
/// the count saturates.
size_t SizeBudget::countAtoms(SizeAttr size) {
  if (auto known = counts.find(size); known != counts.end()) {
    return known->second;
  }
  size_t atoms = 0;
  for (ArrayAttr monomial : size.getMonomials()) {
    for (Attribute atom : monomial) {
      auto call = dyn_cast<SizeCallAttr>(atom);
      atoms += 1 + (call ? countAtoms(call.getLhs()) + countAtoms(call.getRhs()) : 0);
      if (atoms > maxAtoms) {
        return counts[size] = maxAtoms + 1;
      }
    }
  }
  return counts[size] = atoms;
}

} // namespace mlir::frit
