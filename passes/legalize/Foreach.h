#pragma once

#include "ir/FritOps.h"

/// Turns an operator on lists of tensors into one call per element.
namespace mlir::frit {

/// Replaces a `_foreach_` call by calls of the plain operator, which are appended to `elements`.
/// False if `op` is not such a call or has no plain operator in the vocabulary.
bool expandForeach(AtenOp op, SmallVectorImpl<AtenOp> &elements);

} // namespace mlir::frit
