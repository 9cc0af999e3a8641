#pragma once

#include "ir/FritOps.h"

/// Lists of tensors as one operator call an element.
namespace mlir::frit {

/// Replaces a `_foreach_` call by calls of the plain operator, which are appended
/// to `elements`; false if `op` is none that the vocabulary can say.
bool expandForeach(AtenOp op, SmallVectorImpl<AtenOp> &elements);

} // namespace mlir::frit
