#pragma once

#include "mlir/Pass/Pass.h"

#include "ir/FritOps.h"

/// The passes of the room, declared by Passes.td.
namespace mlir {
class ModuleOp;
namespace frit {
#define GEN_PASS_DECL
#include "passes/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"
} // namespace frit
} // namespace mlir
