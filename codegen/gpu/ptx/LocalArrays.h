#pragma once

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace mlir::frit {

/// Allows loops in library functions with an array to be unrolled. Runs before optimisation.
void allowUnrolling(llvm::Module &module);

/// Puts small arrays with computed indices into registers. Runs after optimisation.
void keepArraysInRegisters(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace mlir::frit
