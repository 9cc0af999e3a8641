// What may raise an error at run time.
#pragma once

#include "ir/FritOps.h"

namespace mlir::frit {

/// The integer that each element of a value is, if that is known.
std::optional<APInt> getRepeatedInteger(Value value);

/// Whether an element of the result may raise: an index that is checked, or a division of integers
/// by what may be zero.
bool mayRaise(Operation *op);

/// Whether a call of ATen may raise an error because of the values of its operands: any call may,
/// except of operators that are known not to. Sizes and types were checked when they were traced.
bool callMayRaise(AtenOp call);

/// Whether what the operation does cannot be undone when an error is raised after it: a write to an
/// argument, or code that is not torch's. Assertions are ordered too, but do nothing.
bool isIrreversible(Operation *op);

/// Erases each `frit.require` of a value that cannot raise: its indices were proven to be in range.
void eraseNeedlessRequires(GraphOp graph);

} // namespace mlir::frit
