#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <mutex>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

/// Lowers the dialects that schedules emit (func, scf, cf, arith, math, vector, index
/// and plain llvm operations) to an LLVM module. Of the functions of math only those that
/// are an instruction (fma, sqrt, floor ...) may be left: nothing may become a call of a
/// library.
namespace mlir::frit {

/// Registers the dialects and translations the lowering needs; once per context.
void registerLlvmLowering(DialectRegistry &registry);

/// The lowering of the kernels of one context. Its patterns cost as much as a small kernel, so all
/// kernels share them; they are made for the first. Thread-safe.
class LlvmLowering {
public:
  LlvmLowering();
  ~LlvmLowering();

  /// Consumes the body of `module`. Null after a diagnostic.
  std::unique_ptr<llvm::Module> lower(ModuleOp module, llvm::LLVMContext &context);

private:
  struct Patterns;
  std::once_flag isMade;
  std::unique_ptr<const Patterns> patterns;
};

} // namespace mlir::frit
