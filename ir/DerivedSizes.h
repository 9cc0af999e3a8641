#pragma once

#include "ir/SizeExpr.h"

namespace mlir::frit {

/// (c, d) if `size` is `c * symbol + d` with constants c > 0 and d, so that the symbol follows from
/// the size; else nullopt.
std::optional<std::pair<int64_t, int64_t>> splitDerived(SizeExpr size, llvm::StringRef symbol);

} // namespace mlir::frit
