#pragma once

#include "mlir/Pass/Pass.h"

/// The passes of this room only make the stages of a GPU kernel visible in frit-opt; the compiler
/// calls codegen/Codegen.h.
namespace mlir::frit {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "codegen/Passes.h.inc"

} // namespace mlir::frit
