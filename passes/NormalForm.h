#pragma once

#include "ir/FritOps.h"

/// Rewrites that turn more operations into views before fusion.
///
///   - A gather whose indices are computed from iotas (`x[torch.arange(n)]`, the masks of
///     attention) reads known places: it becomes a reindex.
///   - `k.transpose(-1, -2)` in front of a batched product is reshaped to three dims, which copies
///     with the strided dim innermost. The permutation moves behind the reshape, so that the copy
///     runs in memory order, like the other heads of the product, and the transpose is a view of
///     it.
namespace mlir::frit {

struct NormalFormCounts {
  unsigned gathers = 0, permutations = 0;
};

/// Rewrites the graph and returns how often each rewrite was applied.
NormalFormCounts bringToNormalForm(GraphOp graph);

} // namespace mlir::frit
