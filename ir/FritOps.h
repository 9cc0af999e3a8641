#pragma once

#include "ir/ElementOps.h"
#include "ir/FritDialect.h"
#include "ir/SizeExpr.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

/// The operations of the dialect.
#define GET_OP_CLASSES
#include "ir/FritOps.h.inc"

namespace mlir::frit {

/// Whether the operation only changes the indices of its operand's elements.
inline bool isView(Operation *op) { return isa_and_nonnull<ViewLikeOpInterface>(op); }

/// Whether the result lies in the memory of the first operand: a view of values, or an alias.
inline bool isLook(Operation *op) { return isView(op) || isa_and_nonnull<AliasOp>(op); }

/// The reduction that the domain of a region's or kernel's body comes from: the first one that is
/// not `across`.
ReduceOp getFirstReduce(Block &body);

} // namespace mlir::frit
