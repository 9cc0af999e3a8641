#pragma once

#include "ir/FritOps.h"

/// Calls that copy a tensor to write a part of it.
namespace mlir::frit {

/// Turns a call such as `index_put`, which clones its first operand and writes into the clone, into
/// the one that writes into the operand itself. assign-layouts gives it a copy where somebody still
/// reads the old value, and none where the program stores the result back: a cache that is written
/// by index is not copied. False if the call is none of these.
bool writeInPlace(AtenOp op);

} // namespace mlir::frit
