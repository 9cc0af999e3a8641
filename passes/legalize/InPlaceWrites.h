#pragma once

#include "ir/FritOps.h"

/// Calls that copy a tensor to write a part of it.
namespace mlir::frit {

/// Turns a call such as `index_put`, which clones its first operand and writes into the clone, into
/// the one that writes into the operand itself. assign-layouts passes it a copy if the old value is
/// still read, but not if the program stores the result back: a cache that is written by index is
/// not copied. False for any other call.
bool writeInPlace(AtenOp op);

/// The same for a call that its caller knows to write into its first operand. False if no overload
/// does, or if operand and result differ in type or layout.
bool makeInPlace(AtenOp op);

} // namespace mlir::frit
