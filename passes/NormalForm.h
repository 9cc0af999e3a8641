#pragma once

#include "ir/FritOps.h"

/// Rewrites that make more operations readable as views before fusion looks.
///
///   - A gather whose indices are counted (`x[torch.arange(n)]`, the masks of
///     attention) reads at places that are known: a reindex.
///   - `k.transpose(-1, -2)` in front of a batched product is reshaped to three
///     dims, which copies, with its strided dim innermost. The permutation goes
///     behind the reshape: what is copied runs in order, like the other heads of
///     the product, and the transpose is a view of the copy.
namespace mlir::frit {

struct NormalFormCounts {
  unsigned gathers = 0, permutations = 0;
};

NormalFormCounts bringToNormalForm(GraphOp graph);

} // namespace mlir::frit
