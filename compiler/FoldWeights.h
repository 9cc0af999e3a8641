// Folds arithmetic on weights: what depends on weights alone is computed once, at compile time, and
// the file has its value as a further weight. A batch norm in inference is the usual case, whose
// factor and summand of each channel would otherwise be a kernel of every call.

#pragma once

#include "compiler/Weights.h"

namespace frit {

struct FoldOptions {
  /// Folds only operations that IEEE arithmetic defines: not `math.rsqrt`.
  bool onlyExact = false;
};

/// Replaces values of `graph` that are computed from weights by new weights. A value is folded if
/// it is f32, at most as large as the largest weight that it depends on, and the result of
/// element-wise arithmetic. Only weights whose bytes are in the file, that share them with no
/// other, and that the program neither writes nor returns nor passes to an operator that might do
/// so, take part: all others may have another value in the next call.
void foldWeights(mlir::frit::GraphOp graph, Weights &weights, const FoldOptions &options);

} // namespace frit
