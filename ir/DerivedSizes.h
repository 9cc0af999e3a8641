#pragma once

#include "ir/SizeExpr.h"

namespace mlir::frit {

/// (c, d) where `size` is `c * symbol + d` with a positive c, both numbers: then whoever has the
/// size has the symbol.
std::optional<std::pair<int64_t, int64_t>> splitDerived(SizeExpr size, llvm::StringRef symbol);

} // namespace mlir::frit
