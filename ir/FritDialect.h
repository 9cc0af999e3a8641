#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include <optional>

/// The dialect and its attributes. Operations are in ir/FritOps.h, arithmetic on
/// sizes in ir/SizeExpr.h.
#include "ir/FritDialect.h.inc"

#include "ir/FritEnums.h.inc"

#include "ir/FritAttrInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/FritAttrs.h.inc"
