// Sizes from which a symbol can be computed, such as the derived dims of torch.export (2 * n + 1).
#include "ir/DerivedSizes.h"

namespace mlir::frit {

std::optional<std::pair<int64_t, int64_t>> splitDerived(SizeExpr size, llvm::StringRef symbol) {
  auto split = size.splitLinear(SizeSymbolAttr::get(size.getContext(), symbol));
  auto scale = split ? split->first.getConstant() : std::nullopt;
  auto offset = split ? split->second.getConstant() : std::nullopt;
  if (!scale || !offset || *scale < 1) {
    return std::nullopt;
  }
  return std::pair(*scale, *offset);
}

} // namespace mlir::frit
