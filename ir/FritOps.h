#pragma once

#include "ir/FritDialect.h"
#include "ir/SizeExpr.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

/// The operations of the dialect.
#define GET_OP_CLASSES
#include "ir/FritOps.h.inc"
