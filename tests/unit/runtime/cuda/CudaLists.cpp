// Kernels over lists with the scripted driver: the table that a launch passes by value, its grid,
// and its copy in a graph.

#include "tests/unit/runtime/cuda/FakeDriver.h"

using namespace fakecuda;

namespace {

constexpr size_t kRoom = 4, kWords = 5;

/// y = k(x, size, 0.5) for each of `blocks` items, in one launch; x and y of an item are one
/// tensor.
std::string listOf(const std::vector<int64_t> &blocks) {
  format::ArtifactT artifact;
  artifact.graph = "step";
  artifact.sources = {"optimizer.py:6 in step: torch._foreach_add_(xs, ys)"};
  PlanBuilder plan(format::Target::Gpu);
  uint32_t four = plan.intConstant(4), one = plan.intConstant(1), half = plan.floatConstant(0.5);
  auto kernel = addKernel();
  kernel->variants[0]->launches[0]->list_items = kRoom;
  plan.plan.kernels.push_back(std::move(kernel));
  format::LaunchT use;
  use.items = static_cast<uint32_t>(blocks.size());
  auto &sizes = *use.variants.emplace_back(std::make_unique<format::VariantSizesT>());
  for (int64_t grid : blocks) {
    uint32_t tensor = plan.newTensor(format::Dtype::F32, {one}, {one}, format::Device::Cuda);
    auto &alloc = plan.step<format::AllocT>();
    alloc.tensor = tensor, alloc.bytes = four;
    use.tensors.insert(use.tensors.end(), {tensor, tensor});
    use.ints.push_back(plan.intConstant(100 + grid));
    use.floats.push_back(half);
    sizes.launches.emplace_back(std::make_unique<format::LaunchSizesT>())->x =
        plan.intConstant(grid);
  }
  plan.step<format::LaunchT>() = std::move(use);
  artifact.plans.push_back(plan.take());
  addCode(artifact, {{kCubin, 90, "cubin90"}}, 1, 8 * kRoom * kWords);
  return packArtifact(artifact);
}

struct CudaLists : testing::Test {
  void SetUp() override {
    fake = FakeDriver();
    fake.tableWords = kRoom * kWords;
  }
};

} // namespace

TEST_F(CudaLists, OneLaunchOfAllItemsThatHaveBlocks) {
  Session session(listOf({3, 0, 40}));
  Status status = session.run();
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(count("launch 43 x 128"), 1);
  EXPECT_EQ(fake.launches, 1);
  const Parameters &table = fake.parameters;
  ASSERT_EQ(table.size(), kRoom * kWords);
  EXPECT_EQ((std::vector<uint64_t>{table[0], table[5], table[10], table[15]}),
            (std::vector<uint64_t>{0, 3, 0x7fffffff, 0x7fffffff}));
  EXPECT_EQ(table[1], table[2]);
  EXPECT_NE(table[1], 0u);
  EXPECT_NE(table[1], table[6]);
  EXPECT_EQ((std::vector<uint64_t>{table[3], table[8]}), (std::vector<uint64_t>{103, 140}));
  EXPECT_EQ(table[4], 0x3fe0000000000000u);
  EXPECT_EQ(session.executor->counters().kernelLaunches, 1u);
}

TEST_F(CudaLists, NothingToDoIsNoLaunch) {
  Session session(listOf({0, 0}));
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(count("launch"), 0);
}

TEST_F(CudaLists, MoreBlocksThanAGridIsAnErrorThatNamesTheKernel) {
  constexpr int64_t most = 0x7fffffff;
  Session whole(listOf({most - 1, 1}));
  EXPECT_TRUE(whole.run().isOk());
  Session more(listOf({most - 1, 2, 5}));
  Status status = more.run();
  EXPECT_NE(status.message().find("the grid is larger than a device takes"), std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("optimizer.py:6"), std::string::npos);
  EXPECT_EQ(fake.launches, 1);
}

TEST_F(CudaLists, AFailureIsSaidAsOfAnyKernel) {
  fake.launchCode = 700;
  Session session(listOf({1, 2}));
  EXPECT_NE(session.run().message().find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos);
}
