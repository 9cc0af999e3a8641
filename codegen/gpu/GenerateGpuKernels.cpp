// The flag that shows the gpu.funcs of frit.kernels, before any lowering.

#include "codegen/Passes.h"
#include "codegen/gpu/GpuKernels.h"
#include "codegen/gpu/ptx/LowerToNvvm.h"
#include "ir/FritAttributes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::frit {
#define GEN_PASS_DEF_GENERATEGPUKERNELSPASS
#include "codegen/Passes.h.inc"

namespace {

struct GenerateGpuKernelsPass : impl::GenerateGpuKernelsPassBase<GenerateGpuKernelsPass> {
  using GenerateGpuKernelsPassBase::GenerateGpuKernelsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registerGpuTargetDialects(registry);
  }

  void runOnOperation() override {
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto module = gpu::GPUModuleOp::create(builder, getOperation().getLoc(), "kernels");
    std::vector<KernelDesc> kernels;
    if (failed(emitGpuKernels(getOperation(), module, kernels))) {
      return signalPassFailure();
    }
    for (auto graph : llvm::make_early_inc_range(getOperation().getOps<GraphOp>())) {
      graph.erase();
    }
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      kernel.erase();
      ++numKernels;
    }
    // The grid and the cluster of the launch are shown as attributes of the function.
    for (const KernelDesc &kernel : kernels) {
      kernel.forEachLaunch([&](const LaunchDesc &launch) {
        Operation *function = module.lookupSymbol(launch.entry);
        kGridAttr.set(function,
                      builder.getArrayAttr({launch.grid[0], launch.grid[1], launch.grid[2]}));
        if (launch.cluster > 1) {
          kClusterAttr.set(function, builder.getI64IntegerAttr(launch.cluster));
        }
        kSharedBytesAttr.set(function, builder.getI64IntegerAttr(launch.sharedBytes));
      });
    }
  }
};

} // namespace
} // namespace mlir::frit
