// The pass that shows the functions of CPU kernels before they become machine code.
#include "codegen/Passes.h"
#include "codegen/cpu/EmitCpuKernels.h"
#include "codegen/cpu/LowerToLlvm.h"
#include "ir/FritAttributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::frit {
#define GEN_PASS_DEF_GENERATECPUKERNELSPASS
#include "codegen/Passes.h.inc"

namespace {

struct GenerateCpuKernelsPass : impl::GenerateCpuKernelsPassBase<GenerateCpuKernelsPass> {
  using GenerateCpuKernelsPassBase::GenerateCpuKernelsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<func::FuncDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect,
                    vector::VectorDialect>();
  }

  void runOnOperation() override {
    if (level != "x86-64-v3" && level != "x86-64-v4") {
      getOperation().emitError() << "level '" << level << "' is neither x86-64-v3 nor x86-64-v4";
      return signalPassFailure();
    }
    CpuTarget target{level == "x86-64-v4" ? CpuLevel::X86_64_V4 : CpuLevel::X86_64_V3};
    OwningOpRef<ModuleOp> out = ModuleOp::create(getOperation().getLoc());
    std::vector<KernelDesc> kernels;
    if (failed(emitCpuKernels(getOperation(), target, *out, kernels))) {
      return signalPassFailure();
    }
    for (const KernelDesc &kernel : kernels) {
      kernel.forEachLaunch([&](const LaunchDesc &launch) {
        auto function = out->lookupSymbol<func::FuncOp>(launch.entry);
        kUnitsAttr.set(function, launch.units);
        kGrainAttr.set(function, Builder(&getContext()).getI64IntegerAttr(launch.grain));
      });
    }
    numKernels += kernels.size();
    Block *body = getOperation().getBody();
    body->clear();
    body->getOperations().splice(body->end(), out->getBody()->getOperations());
  }
};

} // namespace
} // namespace mlir::frit
