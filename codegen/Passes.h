#pragma once

#include "mlir/Pass/Pass.h"

/// The passes of the room exist so that what a GPU kernel becomes can be looked
/// at with frit-opt; the compiler calls codegen/Codegen.h.
namespace mlir::frit {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "codegen/Passes.h.inc"

} // namespace mlir::frit
