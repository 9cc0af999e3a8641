// The emulator must detect errors that a GPU would hide. The kernels here are written by hand for
// the callback table, each with and without one planted bug.

#include "runtime/simt/SimtGrid.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include <sys/mman.h>

using namespace frit;

namespace {

float loadFloat(const SimtContext *c, const float *p) {
  c->operations->access(c, p, 4, 0);
  return *p;
}
void storeFloat(const SimtContext *c, float *p, float value) {
  c->operations->access(c, p, 4, kSimtStore);
  *p = value;
}
float loadShared(const SimtContext *c, int index) {
  auto *p = static_cast<float *>(c->shared) + index;
  c->operations->access(c, p, 4, kSimtShared);
  return *p;
}
void storeShared(const SimtContext *c, int index, float value) {
  auto *p = static_cast<float *>(c->shared) + index;
  c->operations->access(c, p, 4, kSimtStore | kSimtShared);
  *p = value;
}

struct Example {
  std::vector<float> x = std::vector<float>(256), y = std::vector<float>(256, -1.f);
  SimtArguments arguments;
  Example() {
    std::iota(x.begin(), x.end(), 0.f);
    arguments.buffers = {{"operand 0", x.data(), x.size() * 4},
                         {"result 0", y.data(), y.size() * 4, true, false}};
    arguments.ints = {256};
  }
  Status operator()(SimtFunction entry, uint32_t grid = 2, uint32_t block = 128,
                    uint32_t shared = 512) {
    return runSimtKernel(arguments, {{"frit_test", entry, {grid, 1, 1}, {block, 1, 1}, shared}});
  }
};

int global(const SimtContext *c) { return c->blockId[0] * c->blockDim[0] + c->threadId[0]; }
const float *input(const SimtContext *c) { return static_cast<const float *>(c->pointers[0]); }
float *output(const SimtContext *c) { return static_cast<float *>(c->pointers[1]); }

/// Reverses each block through shared memory.
template <bool WithBarrier> void reverse(const SimtContext *c) {
  int t = c->threadId[0];
  storeShared(c, t, loadFloat(c, input(c) + global(c)));
  if (WithBarrier) {
    c->operations->barrier(c, 0);
  }
  storeFloat(c, output(c) + global(c), loadShared(c, c->blockDim[0] - 1 - t));
}

#define EXPECT_ERROR(status, ...)                                                                  \
  do {                                                                                             \
    Status result = (status);                                                                      \
    ASSERT_FALSE(result.isOk());                                                                   \
    for (const char *part : {__VA_ARGS__}) {                                                       \
      EXPECT_NE(result.message().find(part), std::string::npos) << result.message();               \
    }                                                                                              \
  } while (false)

} // namespace

/// Compiled code stores vectors on the stack and assumes 16-byte alignment at every call.
TEST(SimtGrid, stacksAreAligned) {
  Example run;
  Status status = run([](const SimtContext *c) {
    auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    storeFloat(c, output(c) + global(c), float(frame % 16));
  });
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(run.y[0], 0.f);
  EXPECT_EQ(run.y[255], 0.f);
}

TEST(SimtGrid, sharedMemoryAndBarrier) {
  Example run;
  Status status = run(reverse<true>);
  ASSERT_TRUE(status.isOk()) << status.message();
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(run.y[i], float(127 - i % 128 + (i - i % 128)));
  }
}

TEST(SimtGrid, missingBarrier) {
  Example run;
  // The first thread reads an element that the last one has not written yet.
  EXPECT_ERROR(run(reverse<false>), "frit_test", "block (0, 0, 0)", "thread (0, 0, 0)",
               "shared memory", "nobody has written");
}

TEST(SimtGrid, raceOnSharedMemory) {
  Example run;
  // All elements are initialised, so only the order of accesses shows the race.
  EXPECT_ERROR(run([](const SimtContext *c) {
                 int t = c->threadId[0];
                 storeShared(c, t, 0.f);
                 c->operations->barrier(c, 0);
                 storeShared(c, t, 1.f);
                 storeFloat(c, output(c) + global(c), loadShared(c, (t + 127) % 128));
               }),
               "thread (1, 0, 0)", "races with a store by thread 0 of block 0", "shared memory");
}

TEST(SimtGrid, readBeforeForeignStoreRaces) {
  Example run;
  EXPECT_ERROR(run([](const SimtContext *c) {
                 int t = c->threadId[0];
                 storeShared(c, t, 0.f);
                 c->operations->barrier(c, 0);
                 float other = loadShared(c, (t + 1) % 128);
                 storeShared(c, t, other);
               }),
               "thread (1, 0, 0)", "store of 4 bytes at offset 4", "races with a load by thread 0");
}

TEST(SimtGrid, blocksAreNotOrdered) {
  Example run;
  EXPECT_ERROR(run([](const SimtContext *c) { storeFloat(c, output(c) + c->threadId[0], 1.f); }),
               "block (1, 0, 0)", "races with a store by thread 0 of block 0", "result 0");
}

TEST(SimtGrid, outOfBounds) {
  Example run;
  EXPECT_ERROR(run([](const SimtContext *c) {
                 storeFloat(c, output(c) + global(c), loadFloat(c, input(c) + global(c) + 1));
               }),
               "kernel frit_test, block (1, 0, 0), thread (127, 0, 0)",
               "load of 4 bytes at offset 1024 of operand 0 (1024 bytes)", "out of bounds");
  EXPECT_ERROR(run([](const SimtContext *c) { storeFloat(c, output(c) + global(c) - 1, 0.f); }),
               "thread (0, 0, 0)", "store of 4 bytes at offset -4 of result 0", "out of bounds");
  EXPECT_ERROR(run([](const SimtContext *c) { storeShared(c, global(c), 0.f); }), "block (1, 0, 0)",
               "offset 512 of shared memory (512 bytes)", "out of bounds");
}

TEST(SimtGrid, hugeBuffersAreRefused) {
  Example run;
  run.arguments.buffers[0].bytes = uint64_t(1) << 34;
  EXPECT_ERROR(run(reverse<true>), "17179870208 bytes", "run it on smaller tensors");
}

/// Elements far apart: memory is allocated only for accessed parts of a buffer's span.
TEST(SimtGrid, sparseBuffers) {
  constexpr uint64_t kSpan = uint64_t(1) << 36;
  void *memory = mmap(nullptr, kSpan, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto *x = static_cast<float *>(memory);
  constexpr uint64_t kStride = kSpan / 4 / 256;
  for (uint64_t i = 0; i < 256; ++i) {
    x[i * kStride] = float(i);
  }
  Example run;
  run.arguments.buffers[0] = {"operand 0", memory, 255 * kStride * 4 + 4, false, true,
                              false,       256 * 4};
  SimtTraffic traffic;
  run.arguments.traffic = &traffic;
  Status status = run([](const SimtContext *c) {
    storeFloat(c, output(c) + global(c),
               loadFloat(c, input(c) + uint64_t(global(c)) * kStride) + 1);
  });
  ASSERT_TRUE(status.isOk()) << status.message();
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(run.y[i], float(i + 1));
  }
  EXPECT_EQ(traffic.mandatory, 2048u);
  EXPECT_EQ(traffic.read.size(), 256u);
  ASSERT_EQ(traffic.written.size(), 1u);
  EXPECT_EQ(traffic.written[0].begin, reinterpret_cast<uintptr_t>(run.y.data()));
  EXPECT_EQ(traffic.written[0].end - traffic.written[0].begin, 1024u);
  // A 32-bit index wraps around, and is out of bounds.
  EXPECT_ERROR(run([](const SimtContext *c) {
                 storeFloat(c, output(c) + global(c),
                            loadFloat(c, input(c) + int32_t(global(c) * kStride)));
               }),
               "load of 4 bytes", "is out of bounds");
  munmap(memory, kSpan);
}

TEST(SimtGrid, whatIsReadBackWasWrittenHere) {
  Example run;
  SimtTraffic traffic;
  run.arguments.traffic = &traffic;
  Status status = run([](const SimtContext *c) {
    storeFloat(c, output(c) + global(c), loadFloat(c, input(c) + global(c)));
    storeFloat(c, output(c) + global(c), loadFloat(c, output(c) + global(c)) + 1);
  });
  ASSERT_TRUE(status.isOk()) << status.message();
  // The second load and the second store exceed the minimum.
  EXPECT_EQ(traffic.mandatory, 2048u);
  EXPECT_EQ(traffic.moved, 4096u);
  ASSERT_EQ(traffic.read.size(), 1u);
  EXPECT_EQ(traffic.read[0].begin, reinterpret_cast<uintptr_t>(run.x.data()));
}

TEST(SimtGrid, operandsAreReadOnly) {
  Example run;
  EXPECT_ERROR(run([](const SimtContext *c) { storeFloat(c, const_cast<float *>(input(c)), 0.f); }),
               "operand 0", "may only read");
}

TEST(SimtGrid, misalignedAccess) {
  Example run;
  EXPECT_ERROR(run([](const SimtContext *c) {
                 c->operations->access(c, reinterpret_cast<const char *>(input(c)) + 4, 16, 0);
               }),
               "offset 4 of operand 0", "not aligned");
}

TEST(SimtGrid, resultsAreNotReadBeforeTheyAreWritten) {
  Example run;
  EXPECT_ERROR(run([](const SimtContext *c) { loadFloat(c, output(c)); }), "result 0",
               "nobody has written");
}

TEST(SimtGrid, divergentBarrier) {
  Example run;
  EXPECT_ERROR(run([](const SimtContext *c) {
                 if (c->threadId[0] < 64) {
                   c->operations->barrier(c, 0);
                 }
               }),
               "thread (0, 0, 0) waits at barrier 0, but thread (64, 0, 0) has returned");
  EXPECT_ERROR(run([](const SimtContext *c) { c->operations->barrier(c, c->threadId[0] % 2); }),
               "waits at barrier 0, but thread (1, 0, 0) waits at barrier 1");
}

TEST(SimtGrid, shuffles) {
  Example run;
  auto sum = [](const SimtContext *c) {
    float value = loadFloat(c, input(c) + global(c));
    for (int offset = 16, site = 0; offset; offset /= 2, ++site) {
      uint32_t bits;
      std::memcpy(&bits, &value, 4);
      bits = c->operations->shuffle(c, bits, int(SimtShuffle::Xor), offset, 32, site);
      float other;
      std::memcpy(&other, &bits, 4);
      value += other;
    }
    storeFloat(c, output(c) + global(c), value);
  };
  Status status = run(sum);
  ASSERT_TRUE(status.isOk()) << status.message();
  for (int i = 0; i < 256; ++i) {
    int first = i / 32 * 32;
    EXPECT_EQ(run.y[i], float(32 * first + 31 * 16));
  }
}

TEST(SimtGrid, shuffleInADivergentWarp) {
  Example run;
  EXPECT_ERROR(run([](const SimtContext *c) {
                 if (c->threadId[0] != 40) {
                   c->operations->shuffle(c, 0, int(SimtShuffle::Xor), 1, 32, 0);
                 }
               }),
               "thread (32, 0, 0) waits at shuffle 0, but thread (40, 0, 0) has returned");
}

TEST(SimtGrid, launchesAreOrderedAndShareTheWorkspace) {
  Example run;
  run.arguments.workspaceBytes = 1024;
  SimtLaunch first{"frit_test",
                   [](const SimtContext *c) {
                     storeFloat(c, static_cast<float *>(c->workspace) + global(c),
                                loadFloat(c, input(c) + global(c)));
                   },
                   {2, 1, 1},
                   {128, 1, 1}};
  SimtLaunch second{"frit_test",
                    [](const SimtContext *c) {
                      storeFloat(
                          c, output(c) + global(c),
                          loadFloat(c, static_cast<float *>(c->workspace) + 255 - global(c)));
                    },
                    {2, 1, 1},
                    {128, 1, 1}};
  Status status = runSimtKernel(run.arguments, {first, second});
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(run.y[0], 255.f);
  EXPECT_ERROR(runSimtKernel(run.arguments, {second}), "workspace", "nobody has written");
}

TEST(SimtGrid, aKernelMayWorkInPlace) {
  Example run;
  run.arguments.buffers[1] = {"result 0", run.x.data(), 1024, true, false};
  Status status = run([](const SimtContext *c) {
    storeFloat(c, output(c) + global(c), loadFloat(c, input(c) + global(c)) + 1.f);
  });
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(run.x[255], 256.f);
  EXPECT_ERROR(run([](const SimtContext *c) {
                 storeFloat(c, output(c) + global(c),
                            loadFloat(c, input(c) + (global(c) + 1) % 256));
               }),
               "operand 0 = result 0", "races with");
}

TEST(SimtGrid, aFailureLeavesTheBuffersAlone) {
  Example run;
  Status status = run([](const SimtContext *c) { storeFloat(c, output(c) + global(c) + 1, 0.f); });
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(run.y[1], -1.f);
}

TEST(SimtGrid, errorsOfDataReadAsInEager) {
  Example run;
  Status status = run([](const SimtContext *c) { c->operations->fail(c, 1, 0, 7, 3); });
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.kind(), ErrorKind::Index);
  EXPECT_EQ(status.message(), "index 7 is out of bounds for dimension 0 with size 3");
}

namespace {

float *partnerShared(const SimtContext *c, int index, int block) {
  return static_cast<float *>(
      c->operations->mapShared(c, static_cast<float *>(c->shared) + index, block));
}
void storePartner(const SimtContext *c, int index, int block, float value) {
  float *p = partnerShared(c, index, block);
  c->operations->access(c, p, 4, kSimtStore | kSimtShared);
  *p = value;
}

/// Each block gets the first element of every block of its cluster.
template <bool Begin, bool End> void gatherFirst(const SimtContext *c) {
  int t = c->threadId[0], rank = c->blockId[0] % 2;
  if (Begin) {
    c->operations->clusterBarrier(c, 0);
  }
  if (t < 2) {
    storePartner(c, rank, t, loadFloat(c, input(c) + c->blockId[0] * c->blockDim[0]));
  }
  if (End) {
    c->operations->clusterBarrier(c, 1);
  } else {
    c->operations->barrier(c, 2);
  }
  storeFloat(c, output(c) + global(c), loadShared(c, t % 2));
}

Status runClusters(Example &run, SimtFunction entry, uint32_t grid = 4, uint32_t cluster = 2) {
  return runSimtKernel(run.arguments,
                       {{"frit_test", entry, {grid, 1, 1}, {64, 1, 1}, 512, cluster}});
}

} // namespace

TEST(SimtGrid, blocksOfAClusterShareTheirMemory) {
  Example run;
  Status status = runClusters(run, gatherFirst<true, true>);
  ASSERT_TRUE(status.isOk()) << status.message();
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(run.y[i], float(i - i % 128 + i % 2 * 64));
  }
}

TEST(SimtGrid, aBlockThatMayNotHaveBegun) {
  Example run;
  EXPECT_ERROR(runClusters(run, gatherFirst<false, true>), "block (0, 0, 0), thread (1, 0, 0)",
               "shared memory of block (1, 0, 0)", "may not have begun");
}

TEST(SimtGrid, aBarrierOfTheBlockOrdersNoOtherBlock) {
  Example run;
  EXPECT_ERROR(runClusters(run, gatherFirst<true, false>), "shared memory");
  // Both blocks write to the same element.
  EXPECT_ERROR(runClusters(run,
                           [](const SimtContext *c) {
                             c->operations->clusterBarrier(c, 0);
                             if (c->threadId[0] == 0) {
                               storePartner(c, 5, 1, 1.f);
                             }
                             c->operations->barrier(c, 1);
                             c->operations->clusterBarrier(c, 2);
                           }),
               "races with a store by thread 0 of block 0", "shared memory");
  // One block reads what another writes, with only a barrier of the block between.
  EXPECT_ERROR(runClusters(run,
                           [](const SimtContext *c) {
                             storeShared(c, c->threadId[0], 0.f);
                             c->operations->clusterBarrier(c, 0);
                             if (c->blockId[0] % 2 == 0) {
                               loadShared(c, c->threadId[0]);
                             }
                             c->operations->barrier(c, 1);
                             if (c->blockId[0] % 2 == 1) {
                               storePartner(c, c->threadId[0], 0, 1.f);
                             }
                             c->operations->clusterBarrier(c, 2);
                           }),
               "races with a load by thread 0 of block 0", "shared memory");
}

TEST(SimtGrid, memoryOfABlockThatHasReturned) {
  Example run;
  EXPECT_ERROR(runClusters(run,
                           [](const SimtContext *c) {
                             c->operations->clusterBarrier(c, 0);
                             if (c->blockId[0] % 2 == 1) {
                               storePartner(c, c->threadId[0], 0, 1.f);
                             }
                           }),
               "block (1, 0, 0)", "shared memory of block (0, 0, 0), which has returned");
}

TEST(SimtGrid, aClusterThatDoesNotMeet) {
  Example run;
  EXPECT_ERROR(runClusters(run,
                           [](const SimtContext *c) {
                             if (c->blockId[0] % 2 == 0) {
                               c->operations->clusterBarrier(c, 0);
                             }
                           }),
               "block (0, 0, 0)",
               "waits at cluster barrier 0, but block (1, 0, 0) of its cluster has returned");
  EXPECT_ERROR(runClusters(run,
                           [](const SimtContext *c) {
                             if (c->threadId[0] != 3) {
                               c->operations->clusterBarrier(c, 0);
                             }
                           }),
               "waits at cluster barrier 0, but thread (3, 0, 0) has returned");
  EXPECT_ERROR(
      runClusters(
          run, [](const SimtContext *c) { c->operations->clusterBarrier(c, c->blockId[0] % 2); }),
      "waits at cluster barrier 0, but block (1, 0, 0) of its cluster waits at cluster barrier 1");
}

/// Each block sends its number to its partner, which waits for it, unless a part is left out.
template <bool Expects, bool Meets, bool Waits, int Bytes = 4>
void exchangeNumbers(const SimtContext *c) {
  const SimtOperations &operations = *c->operations;
  auto *words = static_cast<uint64_t *>(c->shared);
  int partner = 1 - c->blockId[0] % 2;
  if (Expects && c->threadId[0] == 0) {
    operations.expect(c, words + 1, Bytes);
  }
  if (Meets) {
    operations.clusterBarrier(c, 0);
  }
  if (c->threadId[0] == 0) {
    auto *theirs = static_cast<uint64_t *>(operations.mapShared(c, words, partner));
    operations.send(c, theirs, c->blockId[0] + 1, 4, theirs + 1);
  }
  if (Waits) {
    operations.await(c, words + 1, 1);
  }
  operations.access(c, words, 4, kSimtShared);
  storeFloat(c, output(c) + global(c), static_cast<float>(static_cast<uint32_t>(*words)));
}

TEST(SimtGrid, exchangesOfACluster) {
  Example run;
  Status status = runClusters(run, exchangeNumbers<true, true, true>);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(run.y[0], 2.f);
  EXPECT_EQ(run.y[64], 1.f);
  EXPECT_ERROR(runClusters(run, exchangeNumbers<true, true, false>), "which nobody has written");
  EXPECT_ERROR(runClusters(run, exchangeNumbers<true, false, true>),
               "before any barrier of the cluster: it may not have begun");
  EXPECT_ERROR(runClusters(run, exchangeNumbers<false, true, true>),
               "sends to an address that is not beside its barrier object");
  EXPECT_ERROR(runClusters(run, exchangeNumbers<true, true, true, 8>),
               "waits for an exchange at barrier 1 and cannot go on");
  EXPECT_ERROR(runClusters(run, exchangeNumbers<true, true, true, 2>),
               "sends more bytes than the 2 that the barrier object waits for");
}

TEST(SimtGrid, clustersThatNoDeviceTakes) {
  Example run;
  EXPECT_ERROR(runClusters(run, gatherFirst<true, true>, 3), "a grid of 3 blocks in clusters of 2");
  EXPECT_ERROR(runClusters(run, gatherFirst<true, true>, 16, 16), "in clusters of 16");
  EXPECT_ERROR(runClusters(run, [](const SimtContext *c) { partnerShared(c, 0, 2); }),
               "block 2 of a cluster of 2");
}

/// A barrier of the cluster orders accesses to global memory only between its blocks.
TEST(SimtGrid, globalMemoryOfACluster) {
  auto exchange = [](const SimtContext *c) {
    int t = c->threadId[0], n = c->blockDim[0], partner = c->blockId[0] ^ 1;
    storeFloat(c, output(c) + global(c), 1.f);
    c->operations->clusterBarrier(c, 0);
    float other = loadFloat(c, output(c) + partner * n + t);
    c->operations->clusterBarrier(c, 1);
    storeFloat(c, output(c) + global(c), other + 1.f);
  };
  Example run;
  Status status = runClusters(run, exchange);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(run.y[17], 2.f);
  Example unordered;
  EXPECT_ERROR(runClusters(unordered, exchange, 4, 1), "block (0, 0, 0)", "result 0",
               "which nobody has written");
}
