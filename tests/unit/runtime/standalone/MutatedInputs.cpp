// A plan that writes to one of its arguments, called with arguments that share memory.

#include "runtime/artifact/ArtifactBuilder.h"
#include "runtime/standalone/StandaloneHost.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace frit;

namespace {

/// y += x from the first element to the last, which shows whether x is read after y was written.
class AccumulateBackend : public KernelBackend {
public:
  Status launch(const KernelArguments &arguments, TensorHost &) override {
    auto *x = static_cast<float *>(arguments.pointers[0]),
         *y = static_cast<float *>(arguments.pointers[1]);
    for (int64_t at = 0; at < arguments.registers[arguments.variant->launches[0][0]]; ++at) {
      y[at * stride] += x[at * stride];
    }
    return Status::ok();
  }
  int64_t stride = 1;
};

/// Inputs x and y, each of `count` elements with a stride; y is written and, if `returned`,
/// returned as a view of itself.
std::string accumulate(int64_t count, int64_t stride, bool returned) {
  format::ArtifactT artifact;
  artifact.graph = "accumulate";
  PlanBuilder plan;
  uint32_t size = plan.intConstant(count), step = plan.intConstant(stride);
  for (bool mutated : {false, true}) {
    auto input = std::make_unique<format::InputT>();
    input->reg = plan.newTensor(format::Dtype::F32, {size}, {step});
    input->mutated = mutated;
    plan.plan.inputs.push_back(std::move(input));
  }
  auto kernel = std::make_unique<format::KernelT>();
  kernel->variants.push_back(std::make_unique<format::KernelVariantT>());
  kernel->variants.back()->launches.push_back(std::make_unique<format::KernelLaunchT>());
  kernel->variants.back()->launches.back()->entry = "k";
  plan.plan.kernels.push_back(std::move(kernel));
  auto &launch = plan.step<format::LaunchT>();
  launch.tensors = {0, 1};
  launch.variants.push_back(std::make_unique<format::VariantSizesT>());
  launch.variants.back()->launches.push_back(std::make_unique<format::LaunchSizesT>());
  launch.variants.back()->launches.back()->x = size;
  plan.step<format::FreeT>().tensor = 0;
  if (returned) {
    auto &view = plan.step<format::ViewT>();
    view.tensor = plan.newTensor(format::Dtype::F32, {size}, {step});
    view.source = 1;
    auto output = std::make_unique<format::OutputT>();
    output->reg = view.tensor;
    plan.plan.outputs.push_back(std::move(output));
  } else {
    plan.step<format::FreeT>().tensor = 1;
  }
  artifact.plans.push_back(plan.take());
  return packArtifact(artifact);
}

struct AccumulateSession {
  explicit AccumulateSession(const std::string &bytes) {
    auto artifact =
        Artifact::fromBytes({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
    auto decoded = DecodedPlan::decode(*artifact, *(*artifact)->plan(format::Target::Cpu));
    EXPECT_TRUE(decoded.isOk()) << decoded.status().message();
    host = std::move(*StandaloneHost::create(**decoded, 1));
    executor = std::make_unique<PlanExecutor>(*decoded, *host, backend);
  }
  /// Runs on views of `memory` that begin at elements `x` and `y`.
  Status run(const std::shared_ptr<char> &memory, int64_t x, int64_t y, int64_t count,
             int64_t stride = 1) {
    std::vector<InputValue> inputs(2);
    for (auto [input, first] : {std::pair(&inputs[0], x), {&inputs[1], y}}) {
      input->kind = InputValue::Kind::Tensor;
      input->handle = new HostTensor{memory,   memory.get() + 4 * first, first, {count},
                                     {stride}, format::Dtype::F32};
    }
    return executor->run(inputs, outputs);
  }
  AccumulateBackend backend;
  std::unique_ptr<StandaloneHost> host;
  std::unique_ptr<PlanExecutor> executor;
  std::vector<OutputValue> outputs;
};

std::shared_ptr<char> numbers(size_t count) {
  std::shared_ptr<char> memory(
      static_cast<char *>(std::aligned_alloc(64, (count * 4 + 63) / 64 * 64)), std::free);
  auto *values = reinterpret_cast<float *>(memory.get());
  std::iota(values, values + count, 1.0f);
  return memory;
}

std::vector<float> valuesOf(const std::shared_ptr<char> &memory, size_t count) {
  auto *values = reinterpret_cast<float *>(memory.get());
  return {values, values + count};
}

} // namespace

TEST(MutatedInputs, OverlappingArgumentsAreReadAsTheyWere) {
  AccumulateSession session(accumulate(4, 1, false));
  auto memory = numbers(8);
  ASSERT_TRUE(session.run(memory, 0, 4, 4).isOk());
  EXPECT_EQ(valuesOf(memory, 8), (std::vector<float>{1, 2, 3, 4, 6, 8, 10, 12}));
  EXPECT_EQ(session.executor->counters().overlapCopies.load(), 0u);
  memory = numbers(5);
  ASSERT_TRUE(session.run(memory, 0, 1, 4).isOk());
  EXPECT_EQ(valuesOf(memory, 5), (std::vector<float>{1, 3, 5, 7, 9}));
  memory = numbers(5);
  ASSERT_TRUE(session.run(memory, 1, 0, 4).isOk());
  EXPECT_EQ(valuesOf(memory, 5), (std::vector<float>{3, 5, 7, 9, 5}));
  memory = numbers(4);
  ASSERT_TRUE(session.run(memory, 0, 0, 4).isOk());
  EXPECT_EQ(valuesOf(memory, 4), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(session.executor->counters().overlapCopies.load(), 3u);
  EXPECT_GE(session.executor->counters().temporaryBytes.load(), 16u);
}

TEST(MutatedInputs, InterleavedArgumentsAreNotCopied) {
  AccumulateSession session(accumulate(4, 2, false));
  session.backend.stride = 2;
  auto memory = numbers(8);
  ASSERT_TRUE(session.run(memory, 0, 1, 4, 2).isOk());
  EXPECT_EQ(valuesOf(memory, 8), (std::vector<float>{1, 3, 3, 7, 5, 11, 7, 15}));
  EXPECT_EQ(session.executor->counters().overlapCopies.load(), 0u);
}

TEST(MutatedInputs, ResultsLookAtTheArgumentAndNotAtTheCopy) {
  AccumulateSession session(accumulate(4, 1, true));
  session.outputs.resize(1);
  auto memory = numbers(5);
  ASSERT_TRUE(session.run(memory, 0, 1, 4).isOk());
  EXPECT_EQ(session.executor->counters().overlapCopies.load(), 1u);
  EXPECT_EQ(static_cast<HostTensor *>(session.outputs[0].handle)->data, memory.get() + 4);
  session.host->releaseTensor(session.outputs[0].handle);
}

TEST(MutatedInputs, WritingToAnExpandedTensorIsRefusedAsEagerDoes) {
  AccumulateSession session(accumulate(4, 0, false));
  auto memory = numbers(2);
  Status status = session.run(memory, 0, 1, 4, 0);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.kind(), ErrorKind::Runtime);
  EXPECT_EQ(status.message().find(
                "unsupported operation: more than one element of the written-to tensor"),
            0u);
  EXPECT_EQ(valuesOf(memory, 2), (std::vector<float>{1, 2}));
}
