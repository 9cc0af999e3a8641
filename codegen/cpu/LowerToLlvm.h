#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

/// From the dialects that schedules emit (func, scf, cf, arith, math, vector, index
/// and plain llvm operations) to an LLVM module. Functions of math must be gone but
/// for those that are an instruction (fma, sqrt, floor ...): nothing here may become
/// a call of a library.
namespace mlir::frit {

/// Registers the dialects and translations the lowering needs; once per context.
void registerLlvmLowering(DialectRegistry &registry);

/// Consumes the body of `module`. Null after a diagnostic.
std::unique_ptr<llvm::Module> lowerToLlvm(ModuleOp module, llvm::LLVMContext &context);

} // namespace mlir::frit
