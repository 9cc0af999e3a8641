// Kernels with several variants: the code of cold ones is loaded when one of them runs, and an
// error in it is reported only by calls that need it.

#include "tests/unit/runtime/cuda/FakeDriver.h"

using namespace fakecuda;

namespace {

/// Two kernels of chainOf in two variants: "hot" for an x at a multiple of 16 bytes, "cold" for
/// any.
std::string twoVariants(bool isApart = true) {
  std::string bytes = chainOf(2);
  format::ArtifactT artifact;
  auto read = *Artifact::fromBytes({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  read->root().UnPackTo(&artifact);
  format::PlanT &plan = *artifact.plans[0];
  auto &variants = plan.kernels[0]->variants;
  variants.push_back(std::make_unique<format::KernelVariantT>(*variants[0]));
  variants[1]->launches[0]->entry = "frit_add_u";
  variants[1]->launches[0]->block_x = 64;
  for (const auto &step : plan.steps) {
    if (auto *launch = step->action.AsLaunch()) {
      launch->variants.push_back(std::make_unique<format::VariantSizesT>(*launch->variants[0]));
      launch->variants[0]->aligned.emplace_back(0, 15);
    }
  }
  artifact.gpu_modules.clear();
  addCode(artifact, {{kPtx, 90, "hot"}, {kPtx, 90, "cold"}}, 5);
  format::GpuModuleT &cold = *artifact.gpu_modules[1];
  std::string text(cold.bytes.begin(), cold.bytes.end()), entry = "frit_add_entry";
  text.replace(text.find(entry), entry.size(), "frit_add_u");
  if (!isApart) {
    // As one module with both entries.
    format::GpuModuleT &hot = *artifact.gpu_modules[0];
    text = text.substr(text.find(".visible"));
    hot.bytes.insert(hot.bytes.end(), text.begin(), text.end());
    hot.entries.push_back("frit_add_u");
    artifact.gpu_modules.pop_back();
  } else {
    cold.bytes.assign(text.begin(), text.end());
    cold.entries = {"frit_add_u"};
  }
  return packArtifact(artifact);
}

struct CudaVariants : testing::Test {
  void SetUp() override {
    fake = FakeDriver();
    fake.kernel = addOnHost;
    fake.pointers = 3;
  }
  /// x + 2 w for an x whose address is `shift` numbers after a multiple of 64 bytes.
  static Status run(Session &session, int64_t shift) {
    std::vector<float> numbers = {9, 1, 2, 3};
    InputValue inputs[2];
    inputs[0].kind = inputs[1].kind = InputValue::Kind::Tensor;
    auto *x = newTensor(numbers);
    x->data += 4 * shift, x->offset = shift, x->sizes = {4 - shift};
    inputs[0].handle = x;
    inputs[1].handle = newTensor(std::vector<float>(static_cast<size_t>(4 - shift), 10));
    session.inner->held += 2;
    OutputValue output;
    Status status = session.executor->run(inputs, {&output, 1});
    if (status.isOk()) {
      auto *values = reinterpret_cast<float *>(static_cast<HostTensor *>(output.handle)->data);
      for (int64_t at = shift; at < 4; ++at) {
        EXPECT_EQ(values[at - shift], numbers[static_cast<size_t>(at)] + 20);
      }
      session.inner->releaseTensor(output.handle);
    }
    return status;
  }
  static uint64_t completed(Session &session) { return session.backend->counters().back().second; }
};

TEST_F(CudaVariants, ColdCodeIsLoadedWhenItRuns) {
  auto owner = std::make_unique<Session>(twoVariants());
  Session &session = *owner;
  ASSERT_TRUE(run(session, 0).isOk());
  ASSERT_TRUE(run(session, 0).isOk());
  EXPECT_EQ(count("load"), 1);
  EXPECT_EQ(count("load hot"), 1);
  EXPECT_EQ(completed(session), 0u);
  ASSERT_TRUE(run(session, 1).isOk());
  ASSERT_TRUE(run(session, 1).isOk());
  ASSERT_TRUE(run(session, 0).isOk());
  EXPECT_EQ(count("load"), 2) << "each once";
  EXPECT_EQ(count("load cold"), 1);
  EXPECT_EQ(session.backend->counters().back(),
            (std::pair<std::string, uint64_t>("modules_completed", 1)));
  // The first kernel of the chain reads x; the second reads a temporary of the runtime, which is
  // aligned.
  EXPECT_EQ(count("launch 1 x 64"), 2);
  EXPECT_EQ(count("launch 1 x 128"), 8);
  fake.context = reinterpret_cast<void *>(0x2000);
  ASSERT_TRUE(run(session, 1).isOk());
  EXPECT_EQ(count("load"), 4) << "of the second context";
  EXPECT_EQ(completed(session), 2u);
  owner.reset();
  EXPECT_EQ(count("unload"), 4);
}

TEST_F(CudaVariants, AModuleWithBothIsLoadedOnce) {
  Session session(twoVariants(/*isApart=*/false));
  ASSERT_TRUE(run(session, 0).isOk());
  ASSERT_TRUE(run(session, 1).isOk());
  EXPECT_EQ(count("load"), 1);
  EXPECT_EQ(completed(session), 0u);
}

TEST_F(CudaVariants, WhatCannotBeLoadedFailsForTheCallsThatNeedIt) {
  fake.loadCodes["cold"] = 218;
  Session session(twoVariants());
  Status first = run(session, 1);
  EXPECT_EQ(first.kind(), ErrorKind::Unsupported);
  EXPECT_NE(first.message().find("loading the PTX for sm_90 (line 3: syntax error)"),
            std::string::npos)
      << first.message();
  EXPECT_NE(first.message().find("; compile the graph again for sm_90, or run it on the CPU"),
            std::string::npos)
      << first.message();
  for (int again = 0; again < 2; ++again) {
    EXPECT_TRUE(run(session, 0).isOk());
    EXPECT_EQ(run(session, 1).message(), first.message());
  }
  EXPECT_EQ(count("load cold"), 1) << "not offered again";
  EXPECT_EQ(session.host().held.load(), 0);
}

TEST_F(CudaVariants, WithoutMemoryItIsTriedAgain) {
  Session session(twoVariants());
  ASSERT_TRUE(run(session, 0).isOk());
  fake.memoryCalls = 0, fake.failMemoryAt = 0;
  EXPECT_TRUE(run(session, 1).isOk()) << "torch's cache was given back";
  EXPECT_EQ(session.host().releases, 1);
  Session other(twoVariants());
  fake.failMemoryAt = -1;
  ASSERT_TRUE(run(other, 0).isOk());
  fake.memoryCalls = 0, fake.failMemoryAt = 0;
  other.host().hasCache = false;
  EXPECT_EQ(run(other, 1).kind(), ErrorKind::OutOfMemory);
  EXPECT_TRUE(run(other, 0).isOk());
  EXPECT_TRUE(run(other, 1).isOk());
  EXPECT_EQ(other.host().held.load(), 0);
}

TEST_F(CudaVariants, NothingIsLoadedInsideOfACapture) {
  Session session(twoVariants());
  ASSERT_TRUE(run(session, 0).isOk());
  fake.capturing = 1;
  EXPECT_TRUE(run(session, 0).isOk());
  Status status = run(session, 1);
  EXPECT_EQ(status.kind(), ErrorKind::Runtime);
  EXPECT_NE(status.message().find("call it once with such arguments before capturing"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(count("load"), 1);
  fake.capturing = 0;
  EXPECT_TRUE(run(session, 1).isOk());
  fake.capturing = 1;
  EXPECT_TRUE(run(session, 1).isOk());
}

TEST_F(CudaVariants, ThreadsMayNeedItAtOnce) {
  for (int round = 0; round < 20; ++round) {
    SetUp();
    Session session(twoVariants());
    ASSERT_TRUE(run(session, 0).isOk());
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; ++number) {
      threads.emplace_back([&, number] { EXPECT_TRUE(run(session, number % 2).isOk()); });
    }
    for (std::thread &thread : threads) {
      thread.join();
    }
    EXPECT_EQ(count("load cold"), 1);
  }
}

} // namespace
