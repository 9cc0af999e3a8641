// The cache of compiled kernels of a process: bounded, least recently used, thread-safe.
#include "codegen/CompiledKernels.h"
#include "tests/unit/codegen/ScheduleGpuKernels.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <thread>

using namespace mlir;
using namespace mlir::frit;

static std::shared_ptr<const KernelCode> code(std::string bytes) {
  auto made = std::make_shared<KernelCode>();
  made->bytes = std::move(bytes);
  return made;
}

TEST(CompiledKernels, TheOneUsedLongestAgoLeaves) {
  CompiledKernels kernels(30);
  EXPECT_EQ(kernels.add("a", code("123456789")), 0u);
  EXPECT_EQ(kernels.add("b", code("123456789")), 0u);
  EXPECT_EQ(kernels.add("c", code("123456789")), 0u);
  EXPECT_TRUE(kernels.find("a"));
  EXPECT_EQ(kernels.add("d", code("1")), 1u) << "there were 30 bytes";
  EXPECT_FALSE(kernels.find("b"));
  EXPECT_TRUE(kernels.find("a") && kernels.find("c") && kernels.find("d"));
  EXPECT_EQ(kernels.add("e", code(std::string(25, 'x'))), 2u);
  EXPECT_FALSE(kernels.find("a") || kernels.find("c"));
  EXPECT_TRUE(kernels.find("d"));
  EXPECT_EQ(kernels.find("e")->bytes.size(), 25u);
}

TEST(CompiledKernels, CodeThatIsInUseOutlivesItsEntry) {
  CompiledKernels kernels(20);
  kernels.add("a", code("0123456789"));
  auto held = kernels.find("a");
  EXPECT_EQ(kernels.add("b", code("0123456789")), 1u);
  EXPECT_EQ(held->bytes, "0123456789");
  kernels.clear();
  EXPECT_FALSE(kernels.find("b"));
  EXPECT_EQ(kernels.add("c", code("0123456789")), 0u) << "clear gives the bytes back";
}

TEST(CompiledKernels, WhatIsLargerThanAllMayBeIsNotKept) {
  CompiledKernels kernels(20);
  kernels.add("a", code("0123456789"));
  EXPECT_EQ(kernels.add("b", code(std::string(20, 'x'))), 0u);
  EXPECT_TRUE(kernels.find("a"));
  EXPECT_FALSE(kernels.find("b"));
}

TEST(CompiledKernels, WhatIsKnownStays) {
  CompiledKernels kernels(20);
  kernels.add("a", code("0123456789"));
  auto first = kernels.find("a");
  EXPECT_EQ(kernels.add("a", code("0123456789")), 0u);
  EXPECT_EQ(kernels.find("a"), first);
  EXPECT_EQ(kernels.add("b", code("01234567")), 0u) << "it counts once";
}

TEST(CompiledKernels, ManyThreadsFindWhatWasAdded) {
  CompiledKernels kernels(1000);
  std::atomic<unsigned> wrong = 0, found = 0;
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 8; ++number) {
    threads.emplace_back([&, number] {
      for (unsigned round = 0; round < 2000; ++round) {
        std::string key = std::to_string((round * 7 + number) % 50);
        auto known = kernels.find(key);
        found += known != nullptr;
        wrong += known && known->bytes != key + std::string(30, '.');
        if (!known) {
          kernels.add(key, code(key + std::string(30, '.')));
        }
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(found, 0u);
}

/// `count` kernels of growing size; `extra` is appended to each operation.
static std::string kernelsText(unsigned count, StringRef extra = "") {
  std::string text;
  for (unsigned number = 0; number < count; ++number) {
    std::string value = "%x";
    text += "frit.kernel @k" + std::to_string(number) +
            R"((%x: tensor<?xf32, #frit.dims<[p0]>>) -> tensor<?xf32, #frit.dims<[p0]>>
      attributes {symbols = [#frit.symbol<"p0", min = 0>]} {
)";
    for (unsigned step = 0; step <= number; ++step) {
      std::string next = "%v" + std::to_string(step);
      text += next + " = arith.mulf " + value + ", %x" + extra.str() +
              " : tensor<?xf32, #frit.dims<[p0]>>\n";
      value = next;
    }
    text += "frit.yield " + value + " : tensor<?xf32, #frit.dims<[p0]>>\n}\n";
  }
  return text;
}

namespace {
/// A module in a separate context, as in another thread.
struct Source {
  explicit Source(const std::string &text) : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<FritDialect, arith::ArithDialect, tensor::TensorDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
  }
  PtxImages compile(ArrayRef<unsigned> architectures) {
    PtxImages images;
    EXPECT_TRUE(module && succeeded(test::scheduleGpuKernels(*module)));
    EXPECT_TRUE(succeeded(generatePtx(*module, architectures, images)));
    for (KernelDesc &kernel : images.kernels) {
      EXPECT_TRUE(!kernel.launches.empty() && kernel.launches[0].grid[0])
          << "descriptors are made for each graph";
    }
    EXPECT_FALSE(context.isMultithreadingEnabled());
    return images;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

static unsigned compiledNow(const std::string &text, ArrayRef<unsigned> architectures) {
  return Source(text).compile(architectures).counts.compiled;
}

TEST(CompiledGpuKernels, AreMadeOnceForEachArchitecture) {
  forgetKernels();
  PtxImages fresh = Source(kernelsText(4)).compile({90});
  EXPECT_EQ(fresh.counts.compiled, 4u);
  EXPECT_EQ(fresh.counts.reused, 0u);
  PtxImages again = Source(kernelsText(4)).compile({90});
  EXPECT_EQ(again.counts.compiled, 0u);
  EXPECT_EQ(again.counts.reused, 4u);
  EXPECT_EQ(again.texts[0].ptx, fresh.texts[0].ptx);
  PtxImages more = Source(kernelsText(5)).compile({80, 90});
  EXPECT_EQ(more.counts.compiled, 6u) << "five for the other architecture, one for this";
  EXPECT_EQ(more.counts.reused, 4u);
  EXPECT_EQ(compiledNow(kernelsText(1, " fastmath<contract>"), {90}), 1u)
      << "the same name, and another kernel";
  forgetKernels();
  EXPECT_EQ(compiledNow(kernelsText(4), {90}), 4u);
}

TEST(CompiledGpuKernels, AreTheSameTextAloneAndBesideOthers) {
  forgetKernels();
  std::string alone = Source(kernelsText(1)).compile({90}).texts[0].ptx;
  forgetKernels();
  std::string all = Source(kernelsText(3)).compile({90}).texts[0].ptx;
  ASSERT_NE(alone.find("\n.visible .entry"), std::string::npos);
  EXPECT_NE(all.find(alone.substr(alone.find("\n.visible .entry"))), std::string::npos);
}

/// A result that may overwrite an operand needs other code than one with separate storage.
TEST(CompiledGpuKernels, SharedStorageMakesAnotherKernel) {
  auto graph = [](StringRef buffers) {
    return kernelsText(1) +
           R"(frit.graph @main(%x: tensor<?xf32, #frit.dims<[s0]>>) -> tensor<?xf32, #frit.dims<[s0]>>
      attributes {symbols = [#frit.symbol<"s0", min = 0>], buffers = )" +
           buffers.str() + R"(} {
  %0 = frit.launch @k0 [#frit.size<s0>](%x) {buffers = [0], frit.layouts = [#frit.layout<[1]>]}
    : (tensor<?xf32, #frit.dims<[s0]>>) -> tensor<?xf32, #frit.dims<[s0]>>
  frit.return %0 : tensor<?xf32, #frit.dims<[s0]>>
}
)";
  };
  std::string apart = graph(R"([#frit.buffer<output, <4 * s0>>])"),
              shared = graph("[#frit.buffer<argument 0, <4 * s0>>]");
  forgetKernels();
  std::string of = Source(apart).compile({90}).texts[0].ptx;
  PtxImages inPlace = Source(shared).compile({90});
  EXPECT_EQ(inPlace.counts.compiled, 1u);
  EXPECT_NE(inPlace.texts[0].ptx, of);
  EXPECT_EQ(Source(shared).compile({90}).counts.reused, 1u);
  EXPECT_EQ(Source(apart).compile({90}).texts[0].ptx, of);
}

TEST(CompiledGpuKernels, ManyThreadsGetTheSameText) {
  forgetKernels();
  std::string expected = Source(kernelsText(6)).compile({80, 90}).texts[1].ptx;
  forgetKernels();
  std::vector<PtxImages> made(6);
  std::vector<std::thread> threads;
  for (PtxImages &one : made) {
    threads.emplace_back([&one] {
      Source source(kernelsText(6));
      one = source.compile({80, 90});
      one.kernels.clear(); // sizes belong to the context
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  unsigned compiled = 0;
  for (const PtxImages &one : made) {
    EXPECT_EQ(one.texts[1].ptx, expected);
    EXPECT_EQ(one.counts.compiled + one.counts.reused, 12u);
    compiled += one.counts.compiled;
  }
  EXPECT_GE(compiled, 12u);
  EXPECT_EQ(compiledNow(kernelsText(6), {80, 90}), 0u);
}

TEST(CompiledGpuKernels, WhatFailsIsNotKept) {
  forgetKernels();
  for (unsigned round = 0; round < 2; ++round) {
    Source source(kernelsText(2));
    std::string said;
    ScopedDiagnosticHandler handler(&source.context, [&](Diagnostic &diagnostic) {
      said = diagnostic.str();
      return success();
    });
    PtxImages images;
    EXPECT_TRUE(succeeded(test::scheduleGpuKernels(*source.module)));
    EXPECT_TRUE(failed(generatePtx(*source.module, {75}, images)));
    EXPECT_NE(said.find("no PTX for sm_75"), std::string::npos) << said;
  }
  EXPECT_EQ(compiledNow(kernelsText(2), {90}), 2u);
}
