#pragma once

#include "ir/FritOps.h"

#include <string>

/// Why an operator without a rule stays a call.
namespace mlir::frit {

/// The reason of an operator that has no rule: what it is (a library's kernel, random
/// numbers, a sort ...), or that another overload has one.
std::string reasonWithoutRule(AtenOp op);

/// The dtype of an operand or result that the vocabulary lacks, as a reason; empty if
/// it has them all.
std::string reasonOfDtype(AtenOp op);

} // namespace mlir::frit
