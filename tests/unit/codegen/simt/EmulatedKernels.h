#pragma once

#include "codegen/Codegen.h"
#include "codegen/cpu/LowerToLlvm.h"
#include "codegen/gpu/ptx/LowerToNvvm.h"
#include "ir/FritOps.h"
#include "tests/unit/codegen/ScheduleGpuKernels.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace mlir::frit::test {

/// Removes what is known of the kernels' sizes, so that the generic ones have 64-bit indices, and
/// adds a variant with 32-bit indices to each.
inline void makeUnbounded(ModuleOp module) {
  MLIRContext *context = module.getContext();
  for (KernelOp kernel : module.getOps<KernelOp>()) {
    SmallVector<Attribute> symbols;
    for (auto symbol : kernel.getSymbols().getAsRange<SymbolAttr>()) {
      symbols.push_back(SymbolAttr::get(context, symbol.getName(),
                                        std::max<int64_t>(symbol.getMin(), 1), std::nullopt,
                                        std::nullopt, 1, false));
    }
    kernel.setSymbolsAttr(ArrayAttr::get(context, symbols));
    SmallVector<AssumptionAttr> assumptions;
    auto assume = [&](Value value) {
      if (auto type = dyn_cast<RankedTensorType>(value.getType())) {
        SizeAttr doubled = getNumElements(type) * 2;
        assumptions.push_back(
            AssumptionAttr::get(context, GuardKind::Index32, {}, doubled, "test"));
      }
    };
    llvm::for_each(kernel.getBody().getArguments(), assume);
    kernel.getBody().walk([&](Operation *op) { llvm::for_each(op->getResults(), assume); });
    Attribute variant = VariantAttr::get(context, assumptions);
    kernel.setVariantsAttr(ArrayAttr::get(context, variant));
  }
}

class Kernels {
public:
  /// The kernels as in the file, or unbounded.
  static Kernels &get(bool unbounded = false) {
    static Kernels asWritten(false), wide(true);
    return unbounded ? wide : asWritten;
  }
  KernelOp find(StringRef name) { return module->lookupSymbol<KernelOp>(name); }
  const KernelDesc &describe(StringRef name) {
    return *llvm::find_if(image.kernels, [&](const auto &kernel) { return kernel.name == name; });
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  CpuImage image;
  char *code = nullptr;

private:
  explicit Kernels(bool unbounded) {
    DialectRegistry registry;
    registry.insert<FritDialect, tensor::TensorDialect>();
    registerGpuTargetDialects(registry);
    registerLlvmLowering(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceFile<ModuleOp>(FRIT_TEST_INPUTS "/kernels.mlir", &context);
    EXPECT_TRUE(module);
    for (const char *file :
         {FRIT_TEST_INPUTS "/cluster-kernels.mlir", FRIT_TEST_INPUTS "/row-column-kernels.mlir",
          FRIT_TEST_INPUTS "/variance-kernels.mlir",
          FRIT_TEST_INPUTS "/several-rows-kernels.mlir"}) {
      auto more = parseSourceFile<ModuleOp>(file, &context);
      EXPECT_TRUE(more);
      module->getBody()->getOperations().splice(module->getBody()->end(),
                                                more->getBody()->getOperations());
    }
    if (unbounded) {
      makeUnbounded(*module);
    }
    EXPECT_TRUE(succeeded(scheduleGpuKernels(*module)));
    EXPECT_TRUE(succeeded(generateSimtImage(*module, CpuLevel::X86_64_V3, image)));
    void *memory = mmap(nullptr, image.bytes.size(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(memory, image.bytes.data(), image.bytes.size());
    mprotect(memory, image.bytes.size(), PROT_READ | PROT_EXEC);
    code = static_cast<char *>(memory);
  }
};

} // namespace mlir::frit::test
