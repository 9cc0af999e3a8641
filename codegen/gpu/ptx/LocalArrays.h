#pragma once

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace mlir::frit {

/// Lets the loops of library functions with an array be unrolled. Before optimisation.
void allowUnrolling(llvm::Module &module);

/// Puts small arrays that are read at computed places into registers. After optimisation.
void keepArraysInRegisters(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace mlir::frit
