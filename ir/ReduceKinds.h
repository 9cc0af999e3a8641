#pragma once

#include "ir/FritOps.h"

namespace mlir::frit {

/// Whether a reduction gives positions, in i64, and not values.
inline bool isArgReduction(ReduceKind kind) {
  return kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin;
}

} // namespace mlir::frit
