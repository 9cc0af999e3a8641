// The CUDA backend with a scripted driver: the code that it loads, its launches, and its errors. It
// needs no GPU, no driver and no CUDA headers.

#include "tests/unit/runtime/cuda/FakeDriver.h"

using namespace fakecuda;

namespace {

struct Cuda : testing::Test {
  void SetUp() override { fake = FakeDriver(); }
};

} // namespace

TEST_F(Cuda, LoadsOnceAndLaunchesOnTheCurrentStream) {
  {
    Session session(artifactWith({{kPtx, 80, "ptx80"},
                                  {kPtx, 90, "ptx90"},
                                  {kCubin, 90, "cubin90"},
                                  {kCubin, 80, "cubin80"}}));
    EXPECT_TRUE(fake.log.empty());
    ASSERT_TRUE(session.run().isOk());
    ASSERT_TRUE(session.run().isOk());
  }
  EXPECT_EQ(fake.log, (std::vector<std::string>{"load cubin90", "function frit_add_entry",
                                                "launch 40 x 128 shared 0",
                                                "launch 40 x 128 shared 0", "unload"}));
  EXPECT_EQ(fake.stream, reinterpret_cast<void *>(0x77));
  EXPECT_EQ(fake.parameters.back(), 4u);
  EXPECT_EQ(fake.grid[1], 1u);
}

TEST_F(Cuda, NewerDeviceTakesTheNewestPtxItCanRun) {
  fake.major = 12;
  Session session(artifactWith({{kPtx, 80, "ptx80"},
                                {kPtx, 100, "ptx100"},
                                {kPtx, 90, "ptx90"},
                                {kCubin, 100, "cubin100"}}));
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(fake.log[0], "load ptx100");
}

TEST_F(Cuda, NoCodeForTheDevice) {
  fake.major = 7;
  fake.minor = 5;
  Session session(artifactWith({{kCubin, 90, "cubin90"}, {kPtx, 80, "ptx80"}}));
  Status status = session.run();
  EXPECT_EQ(status.kind(), ErrorKind::Unsupported);
  EXPECT_NE(status.message().find(
                "(sm_90, sm_80) has no kernel 'frit_add_entry' for this device of sm_75"),
            std::string::npos);
}

TEST_F(Cuda, LargeSharedMemoryIsReservedAndGridsAreChecked) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}, 40, 100 * 1024));
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(count("attribute 8 = 102400"), 1);
  Session huge(artifactWith({{kPtx, 90, "ptx90"}}, int64_t(1) << 31));
  EXPECT_NE(huge.run().message().find("grid is larger"), std::string::npos);
  Session empty(artifactWith({{kPtx, 90, "ptx90"}}, 0));
  int launches = count("launch");
  EXPECT_TRUE(empty.run().isOk());
  EXPECT_EQ(count("launch"), launches);
}
