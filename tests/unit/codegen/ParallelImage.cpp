// Kernels are compiled on several threads, and the image does not depend on their number.
#include "codegen/Codegen.h"
#include "codegen/cpu/LowerToLlvm.h"
#include "ir/FritOps.h"
#include "tests/unit/codegen/CpuKernelRunner.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/ThreadPool.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::frit;

/// Kernels of growing size, so that some share a part of the image and others have a separate one.
static std::string kernels(unsigned count) {
  std::string text;
  for (unsigned number = 0; number < count; ++number) {
    std::string value = "%x";
    text += "frit.kernel @k" + std::to_string(number) +
            R"((%x: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?xf32, #frit.dims<[p0]>>
      attributes {symbols = [#frit.symbol<"p0", min = 0>]} {
)";
    for (unsigned step = 0; step < 5 * number + 1; ++step) {
      std::string next = "%v" + std::to_string(step);
      text += next + (step % 2 ? " = math.exp " + value : " = arith.mulf " + value + ", %x") +
              " : tensor<?xf32, #frit.dims<[p0]>>\n";
      value = next;
    }
    text += "frit.yield " + value + " : tensor<?xf32, #frit.dims<[p0]>>\n}\n";
  }
  return text;
}

/// The image made by `threads` threads; 0: the generator's default.
static CpuImage generate(const std::string &text, unsigned threads) {
  DialectRegistry registry;
  registry.insert<FritDialect, tensor::TensorDialect, math::MathDialect>();
  registerLlvmLowering(registry);
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(threads ? threads : 1));
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  if (threads) {
    context.setThreadPool(pool);
  }
  auto module = parseSourceString<ModuleOp>(text, &context);
  CpuImage image;
  EXPECT_TRUE(module);
  mlir::frit::forgetKernels();
  EXPECT_TRUE(succeeded(test::scheduleCpuKernels(*module, CpuLevel::X86_64_V3)));
  EXPECT_TRUE(succeeded(generateCpuImage(*module, CpuTarget{CpuLevel::X86_64_V3}, image)));
  EXPECT_EQ(context.isMultithreadingEnabled(), threads != 0)
      << "a context gets its threads for as long as it needs them";
  for (KernelDesc &kernel : image.kernels) { // sizes belong to the context
    kernel.workspaceBytes = {};
    kernel.forEachLaunch([](LaunchDesc &launch) { launch.units = {}; });
  }
  return image;
}

TEST(ParallelImage, IsTheSameForAnyNumberOfThreads) {
  std::string text = kernels(12);
  CpuImage one = generate(text, 1);
  ASSERT_EQ(one.kernels.size(), 12u);
  for (unsigned threads : {0, 2, 7}) {
    CpuImage many = generate(text, threads);
    EXPECT_TRUE(many.bytes == one.bytes) << threads << " threads";
    ASSERT_EQ(many.kernels.size(), one.kernels.size());
    for (size_t number = 0; number < one.kernels.size(); ++number) {
      EXPECT_EQ(many.kernels[number].name, "k" + std::to_string(number));
      ASSERT_EQ(many.kernels[number].launches.size(), one.kernels[number].launches.size());
      for (size_t launch = 0; launch < one.kernels[number].launches.size(); ++launch) {
        EXPECT_EQ(many.kernels[number].launches[launch].offset,
                  one.kernels[number].launches[launch].offset);
        EXPECT_EQ(many.kernels[number].launches[launch].offset % 16, 0u);
      }
    }
  }
}

TEST(ParallelImage, KernelsCompiledBeforeAreTakenAsTheyAre) {
  DialectRegistry registry;
  registry.insert<FritDialect, tensor::TensorDialect, math::MathDialect>();
  registerLlvmLowering(registry);
  mlir::frit::forgetKernels();
  std::string first;
  for (unsigned round = 0; round < 3; ++round) {
    // Each round has a new context, as in separate threads.
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    auto module = parseSourceString<ModuleOp>(kernels(4), &context);
    ASSERT_TRUE(module);
    CpuImage image;
    ASSERT_TRUE(succeeded(test::scheduleCpuKernels(*module, CpuLevel::X86_64_V3)));
    ASSERT_TRUE(succeeded(generateCpuImage(*module, CpuTarget{CpuLevel::X86_64_V3}, image)));
    EXPECT_EQ(image.counts.reused, round == 1 ? 4u : 0u);
    EXPECT_EQ(image.counts.compiled, round == 1 ? 0u : 4u);
    for (KernelDesc &kernel : image.kernels) {
      EXPECT_TRUE(kernel.launches.size() == 1 && kernel.launches[0].units);
    }
    first = round ? first : image.bytes;
    EXPECT_TRUE(image.bytes == first);
    if (round == 1) {
      CpuImage wider;
      ASSERT_TRUE(succeeded(generateCpuImage(*module, CpuTarget{CpuLevel::X86_64_V4}, wider)));
      EXPECT_EQ(wider.counts.reused, 0u) << "another level is other code";
      mlir::frit::forgetKernels();
    }
  }
}
