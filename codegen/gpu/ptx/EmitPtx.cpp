// The flag that shows the PTX of hand-written or generated kernels; used by lit tests and by runs
// of ptxas over them.

#include "codegen/Passes.h"
#include "codegen/gpu/ptx/LowerToNvvm.h"
#include "codegen/gpu/ptx/PtxEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/ToolOutputFile.h"

namespace mlir::frit {
#define GEN_PASS_DEF_EMITPTXPASS
#include "codegen/Passes.h.inc"

namespace {

struct EmitPtxPass : impl::EmitPtxPassBase<EmitPtxPass> {
  using EmitPtxPassBase::EmitPtxPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerGpuTargetDialects(registry);
  }

  void runOnOperation() override {
    std::string error;
    auto file = openOutputFile(output, &error);
    if (!file) {
      getOperation().emitError() << error;
      return signalPassFailure();
    }
    for (auto module : llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>())) {
      if (failed(lowerToNvvm(module))) {
        return signalPassFailure();
      }
      auto text = emitPtx(module, arch);
      if (failed(text)) {
        return signalPassFailure();
      }
      file->os() << *text;
      module.erase();
      ++numModules;
    }
    file->keep();
  }
};

} // namespace
} // namespace mlir::frit
