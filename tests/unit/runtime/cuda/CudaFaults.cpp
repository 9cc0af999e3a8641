// The rows of the table "GPU faults" in tests/README.md: the messages, what is retried, and that
// nothing leaks, hangs or makes forbidden calls.

#include "tests/unit/runtime/cuda/FakeDriver.h"

#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fakecuda;

namespace {

struct CudaFaults : testing::Test {
  void SetUp() override { fake = FakeDriver(); }
  static bool says(const Status &status, const std::string &part) {
    return !status.isOk() && status.message().find(part) != std::string::npos;
  }
  /// The exit status of `body` in a forked child.
  template <typename F> static int inChild(F body) {
    pid_t child = fork();
    if (child == 0) {
      ::alarm(20); // kills a child that waits for a lock forever
      _exit(body() ? 0 : 1);
    }
    int code = -1;
    waitpid(child, &code, 0);
    return code;
  }
};

void useAdd() {
  fake.kernel = addOnHost;
  fake.pointers = 3;
}

TEST_F(CudaFaults, Row01NoDriverStubOrTooOld) {
  for (auto [code, part] : {std::pair(34, "toolkit's stub"),
                            {100, "CUDA_VISIBLE_DEVICES"},
                            {3, "too old"},
                            {35, "too old"},
                            {999, "(999)"}}) {
    fake.initCode = code;
    Status status = Driver::create(fakeTable()).status();
    EXPECT_EQ(status.kind(), ErrorKind::Unsupported);
    EXPECT_TRUE(says(status, "no usable CUDA driver: CUDA_ERROR")) << status.message();
    EXPECT_TRUE(says(status, part)) << status.message();
    EXPECT_TRUE(says(status, "compile for the CPU")) << status.message();
  }
  fake.initCode = 0;
  fake.version = 11040;
  EXPECT_TRUE(says(Driver::create(fakeTable()).status(), "supports CUDA 11.4, frit needs 12.0"));
}

TEST_F(CudaFaults, Row01ALibraryThatIsNotThereOrNoDriver) {
  EXPECT_TRUE(says(Driver::open("libcuda-hidden.so.1").status(),
                   "libcuda-hidden.so.1 cannot be opened; compile for the CPU"));
  EXPECT_TRUE(says(Driver::open("libm.so.6").status(), "older than CUDA 12.0"));
}

TEST_F(CudaFaults, Row02RefusedCubinFallsBackToPtx) {
  for (DriverCode code : {200, 209}) {
    fake = FakeDriver();
    fake.loadCodes["cubin90"] = code;
    Session session(artifactWith({{kCubin, 90, "cubin90"}, {kPtx, 90, "ptx90"}}));
    ASSERT_TRUE(session.run().isOk());
    EXPECT_EQ(fake.log[0], "load cubin90");
    EXPECT_EQ(fake.log[1], "load ptx90");
    EXPECT_EQ(session.backend->counters(),
              (std::vector<std::pair<std::string, uint64_t>>{{"modules_cubin", 0},
                                                             {"modules_linked", 0},
                                                             {"modules_compiled", 1},
                                                             {"modules_refused", 1},
                                                             {"modules_kept", 0},
                                                             {"modules_completed", 0}}));
  }
}

TEST_F(CudaFaults, Row02PtxThatIsTooNewOrBadFallsBackToOlderPtx) {
  for (DriverCode code : {218, 222}) {
    fake = FakeDriver();
    fake.loadCodes["ptx90"] = code;
    Session session(artifactWith({{kPtx, 90, "ptx90"}, {kPtx, 80, "ptx80"}}));
    ASSERT_TRUE(session.run().isOk());
    EXPECT_EQ(count("load ptx80"), 1);
  }
}

TEST_F(CudaFaults, Row02WhatNoWayLoadsIsSaidOnceLoadedNeverAgain) {
  for (DriverCode code : {209, 218, 221, 222}) {
    fake = FakeDriver();
    fake.loadCodes["ptx90"] = code;
    Session session(artifactWith({{kPtx, 90, "ptx90"}}));
    Status first = session.run();
    EXPECT_EQ(first.kind(), ErrorKind::Unsupported);
    EXPECT_TRUE(
        says(first, "loading the PTX for sm_90 (line 3: syntax error) (graph 'layer'): CUDA_ERROR"))
        << first.message();
    EXPECT_TRUE(says(first, "(" + std::to_string(code) + ")"));
    EXPECT_TRUE(says(first, "; compile the graph again for sm_90, or run it on the CPU"));
    EXPECT_EQ(session.run().message(), first.message());
    EXPECT_EQ(count("load"), 1);
    EXPECT_EQ(session.host().held.load(), 0);
    // Another context tries again.
    fake.loadCodes.clear();
    fake.context = reinterpret_cast<void *>(0x2000);
    EXPECT_TRUE(session.run().isOk());
  }
}

TEST_F(CudaFaults, Row03MalformedCubinsNeverReachTheDriver) {
  std::string good = artifactWith({{kCubin, 90, "cubin90"}});
  auto loads = [](const std::string &bytes) {
    auto artifact =
        Artifact::fromBytes({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
    return artifact.isOk()
               ? DecodedPlan::decode(*artifact, *(*artifact)->plan(format::Target::Gpu)).status()
               : artifact.status();
  };
  EXPECT_TRUE(loads(good).isOk());
  for (const std::string &cubin :
       {std::string("not an ELF file at all"), codeOf(kCubin, 90, "").substr(0, 40),
        std::string("\x7f"
                    "ELF\1\1") +
            std::string(80, '\0'),
        codeOf(kCubin, 90, "x").replace(41, 1, "\xff"), codeOf(kCubin, 90, "x", 4),
        cubinWith(std::vector<std::pair<std::string, std::string>>(), "x")}) {
    format::ArtifactT artifact;
    auto read = *Artifact::fromBytes({reinterpret_cast<const uint8_t *>(good.data()), good.size()});
    read->root().UnPackTo(&artifact);
    artifact.gpu_modules[0]->bytes.assign(cubin.begin(), cubin.end());
    EXPECT_TRUE(says(loads(packArtifact(artifact)), "not a usable .frit artifact")) << cubin;
  }
  EXPECT_TRUE(fake.log.empty());
}

TEST_F(CudaFaults, Row04NoMemoryAtModuleLoadOrLaunchIsAskedForTwice) {
  std::string bytes = artifactWith({{kPtx, 90, "ptx90"}});
  for (int failAt = 0; failAt < 2; ++failAt) {
    fake = FakeDriver();
    fake.failMemoryAt = failAt;
    Session session(bytes);
    EXPECT_TRUE(session.run().isOk()) << failAt;
    EXPECT_EQ(session.host().releases, 1);
    fake.memoryCalls = 0;
    fake.failMemoryAt = 0;
    session.host().hasCache = false;
    Status status = session.run();
    EXPECT_EQ(status.kind(), ErrorKind::OutOfMemory);
    EXPECT_TRUE(says(status, "kernel frit_add"));
    fake.failMemoryAt = -1;
    EXPECT_TRUE(session.run().isOk());
    EXPECT_EQ(session.host().held.load(), 0);
  }
}

TEST_F(CudaFaults, Row04NoMemoryAtTheKthAllocationForAllK) {
  Session session(chainOf(4));
  useAdd();
  ASSERT_TRUE(session.chain({1, 2, 3}, {10, 20, 30}).isOk());
  int most = session.host().requests;
  // An arena, the first temporary, a workspace for each launch, a result.
  EXPECT_EQ(most, 1 + 1 + 4 + 1);
  for (int failAt = 0; failAt < most; ++failAt) {
    session.host().requests = 0;
    session.host().failAt = failAt;
    auto failed = session.chain({1, 2, 3}, {10, 20, 30});
    ASSERT_FALSE(failed.isOk()) << failAt;
    EXPECT_EQ(failed.status().kind(), ErrorKind::OutOfMemory);
    EXPECT_TRUE(says(failed.status(), "out of memory"));
    EXPECT_EQ(session.host().held.load(), 0) << "of allocation " << failAt;
    session.host().failAt = -1;
    auto next = session.chain({1, 2, 3}, {10, 20, 30});
    ASSERT_TRUE(next.isOk()) << next.status().message();
    EXPECT_EQ(*next, (std::vector<float>{41, 82, 123}));
    EXPECT_EQ(session.host().held.load(), 0);
  }
}

TEST_F(CudaFaults, Row05StickyErrorsNameTheKernelAndAreNeverRetried) {
  for (DriverCode code : {700, 716, 710, 214}) {
    fake = FakeDriver();
    Session session(artifactWith({{kPtx, 90, "ptx90"}}));
    session.backend->synchronous = true;
    fake.launchCode = code;
    Status first = session.run();
    EXPECT_TRUE(says(first, "kernel frit_add, grid (40, 1, 1), block (128, 1, 1), from model.py:6 "
                            "in forward: return x + y (graph 'layer'): "))
        << first.message();
    EXPECT_TRUE(says(first, "(" + std::to_string(code) +
                                "): as scripted; the process's GPU state is lost: restart it"));
    fake.launchCode = 0;
    int launches = count("launch"), requests = session.host().requests;
    EXPECT_EQ(session.run().message(), first.message());
    EXPECT_EQ(count("launch"), launches);
    EXPECT_EQ(session.host().requests.load(), requests)
        << "memory was taken for a call that cannot run";
    EXPECT_EQ(session.host().releases.load(), 0);
  }
}

TEST_F(CudaFaults, Row05AnIndexOutOfRangeIsSaidToBeOne) {
  for (DriverCode code : {715, 719}) {
    fake = FakeDriver();
    Session session(artifactWith({{kPtx, 90, "ptx90"}}));
    fake.launchCode = code;
    EXPECT_TRUE(says(session.run(), "index out of range (run the graph on the CPU"));
  }
}

TEST_F(CudaFaults, Row05DestructorsLeaveALostDriverAlone) {
  {
    Session session(artifactWith({{kPtx, 90, "ptx90"}}));
    ASSERT_TRUE(session.run().isOk());
    fake.launchCode = 700;
    ASSERT_FALSE(session.run().isOk());
  }
  EXPECT_EQ(count("unload"), 0);
}

TEST_F(CudaFaults, Row05AnErrorOfAnEarlierKernelAtModuleLoadIsNotBlamedOnTheCode) {
  fake.loadCodes["cubin90"] = 700;
  Session session(artifactWith({{kCubin, 90, "cubin90"}, {kPtx, 90, "ptx90"}}));
  EXPECT_TRUE(says(session.run(),
                   "a kernel launched before has destroyed the process's GPU state: restart it"));
  EXPECT_EQ(count("load ptx90"), 0);
}

TEST_F(CudaFaults, Row06LateErrorsMayStemFromAnEarlierKernel) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}, 40, 0, 3));
  fake.lateAfter = 2;
  fake.lateCode = 700;
  Status status = session.run();
  EXPECT_EQ(count("launch"), 3);
  EXPECT_TRUE(says(status, "it may stem from a kernel launched before this one, FRIT_CUDA_SYNC=1 "
                           "names the one at fault; the process's GPU "
                           "state is lost: restart it"))
      << status.message();
}

TEST_F(CudaFaults, Row06SynchronousModeFindsTheCulprit) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}, 40, 0, 3));
  fake.queryCode = 700;
  EXPECT_TRUE(session.run().isOk());
  EXPECT_EQ(count("query"), 0);
  session.backend->synchronous = true;
  Status status = session.run();
  EXPECT_TRUE(says(status, "kernel frit_add"));
  EXPECT_FALSE(says(status, "may stem from"));
  EXPECT_EQ(count("launch"), 4) << "the first launch of the second call is at fault";
}

TEST_F(CudaFaults, Row07AKernelThatNeverEndsIsGivenUp) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}));
  session.backend->synchronous = true;
  session.backend->patience = std::chrono::milliseconds(30);
  fake.queryCode = 600;
  Status status = session.run();
  EXPECT_TRUE(says(status, "kernel frit_add, grid (40, 1, 1)"));
  EXPECT_TRUE(
      says(status, " ms: the kernel or the device hangs (see dmesg for Xid); restart the process"))
      << status.message();
  EXPECT_LT(count("query"), 30) << "it waits, it does not spin";
  EXPECT_EQ(session.run().message(), status.message());
}

TEST_F(CudaFaults, Row08ForkedChildrenAreTold) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}));
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(inChild([&] {
              bool told =
                  says(session.run(),
                       "forked and cannot be used in it; start workers with the 'spawn' method");
              int requests = session.host().requests;
              told &= says(session.run(), "forked") && session.host().requests == requests;
              session.executor.reset();
              session.backend.reset();
              return told && count("unload") == 0;
            }),
            0);
}

TEST_F(CudaFaults, Row08LocksHeldAtTheForkDoNotHangTheChild) {
  ForkSafeLock lock;
  ASSERT_TRUE(lock.lock());
  EXPECT_EQ(inChild([&] { return !lock.lock(); }), 0);
  lock.unlock();
  EXPECT_EQ(inChild([&] { return lock.lock(); }), 0);

  // A thread is loading a module, and so holds the backend's lock, while another one forks.
  static std::atomic<bool> isInside, mayLeave;
  isInside = mayLeave = false;
  Session session(artifactWith({{kPtx, 90, "ptx90"}}), [] {
    isInside = true;
    while (!mayLeave) {
      ::usleep(100);
    }
    return nullptr;
  });
  std::thread loading([&] { EXPECT_TRUE(session.run().isOk()); });
  while (!isInside) {
    ::usleep(100);
  }
  EXPECT_EQ(inChild([&] { return says(session.run(), "forked"); }), 0);
  mayLeave = true;
  loading.join();
}

TEST_F(CudaFaults, Row09EachContextHasItsModules) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}));
  for (uintptr_t context : {0x1000, 0x2000, 0x1000, 0x2000}) {
    fake.context = reinterpret_cast<void *>(context);
    ASSERT_TRUE(session.run().isOk());
  }
  EXPECT_EQ(count("load"), 2);
}

TEST_F(CudaFaults, AThreadWithoutAContextGetsThePrimaryOne) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}));
  fake.context = nullptr;
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(fake.context, reinterpret_cast<void *>(0x1000));
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(count("load"), 1);
  EXPECT_EQ(count("retain"), 1);
  EXPECT_EQ(count("release"), 1);
}

TEST_F(CudaFaults, Row09EachDeviceGetsCodeOfItsArchitecture) {
  void *second = reinterpret_cast<void *>(0x2000);
  fake.devices[second] = {1, 8, 0};
  Session session(artifactWith({{kCubin, 90, "cubin90"}, {kCubin, 80, "cubin80"}}));
  ASSERT_TRUE(session.run().isOk());
  fake.context = second;
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(count("load cubin90"), 1);
  EXPECT_EQ(count("load cubin80"), 1);
  EXPECT_EQ(session.host().notes,
            (std::vector<std::string>{"graph 'layer' on sm_90: the file's cubin for sm_90",
                                      "graph 'layer' on sm_80: the file's cubin for sm_80"}));
}

TEST_F(CudaFaults, Row09MixedDevicesAreRefused) {
  Session session(chainOf(1));
  useAdd();
  InputValue inputs[2];
  inputs[0].kind = inputs[1].kind = InputValue::Kind::Tensor;
  inputs[0].handle = newTensor({1, 2});
  inputs[1].handle = newTensor({3, 4});
  session.host().places[inputs[1].handle] = 1;
  session.host().held += 2;
  OutputValue output;
  Status status = session.executor->run(inputs, {&output, 1});
  EXPECT_EQ(status.kind(), ErrorKind::BadInput);
  EXPECT_TRUE(
      says(status, "input 1 ('w'): it lies on cuda:1, others on cuda:0; move all to one device"))
      << status.message();
  EXPECT_EQ(session.host().held.load(), 0);
  EXPECT_TRUE(fake.log.empty());
}

TEST_F(CudaFaults, Row10LaunchesOnTheCurrentStreamAndNothingWaits) {
  Session session(chainOf(3));
  useAdd();
  ASSERT_TRUE(session.chain({1}, {1}).isOk());
  fake.log.clear();
  for (uintptr_t stream : {0x77, 0x88, 0}) {
    session.host().stream = reinterpret_cast<void *>(stream);
    ASSERT_TRUE(session.chain({1}, {1}).isOk());
    EXPECT_EQ(fake.stream, session.host().stream);
  }
  // This is the fake's only function that waits; others are null and would crash.
  EXPECT_EQ(count("query"), 0);
  EXPECT_EQ(count("launch"), 9);
  EXPECT_EQ(fake.log.size(), 9u) << "nothing but launches once the code is loaded";
}

TEST_F(CudaFaults, Row11FirstCallInsideACaptureIsRefusedBeforeItBreaksTheCapture) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}));
  fake.capturing = 1;
  EXPECT_TRUE(says(session.run(), "call it once before capturing"));
  EXPECT_EQ(count("load"), 0);
  fake.capturing = 0;
  EXPECT_TRUE(session.run().isOk());
  fake.capturing = 1;
  EXPECT_TRUE(session.run().isOk());
}

TEST_F(CudaFaults, Row11NothingWaitsOrGivesMemoryBackDuringACapture) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}));
  ASSERT_TRUE(session.run().isOk());
  fake.capturing = 1;
  session.backend->synchronous = true;
  EXPECT_TRUE(session.run().isOk());
  EXPECT_EQ(count("query"), 0);
  fake.memoryCalls = fake.failMemoryAt = 0;
  EXPECT_EQ(session.run().kind(), ErrorKind::OutOfMemory);
  EXPECT_EQ(session.host().releases.load(), 0);
}

TEST_F(CudaFaults, Row12ManyThreadsLoadOnceAndGetTheirOwnResults) {
  Session session(chainOf(4));
  useAdd();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 64; ++number) {
    threads.emplace_back([&, number] {
      for (int turn = 0; turn < 200; ++turn) {
        auto start = static_cast<float>(number * 1000 + turn);
        auto result = session.chain({start, start + 1, start + 2}, {1, 2, 3});
        wrong += !result.isOk() || *result != std::vector<float>{start + 4, start + 9, start + 14};
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(count("load"), 1);
  EXPECT_EQ(session.host().held.load(), 0);
  EXPECT_EQ(session.executor->counters().kernelLaunches.load(), 64u * 200 * 4);
}

TEST_F(CudaFaults, Row13ModulesThatOutliveTheProcessAreNotUnloaded) {
  // Runs in a separate process, so that exit handlers are registered in the order of a program.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        // Made before the driver is opened, so they are destroyed after the driver's end.
        static std::unique_ptr<Session> kept;
        static struct Watch {
          ~Watch() {
            std::fprintf(stderr, "%d unloads while the process lived, ", count("unload"));
            kept.reset();
            std::fprintf(stderr, "%d at its end", count("unload"));
          }
        } watch;
        kept = std::make_unique<Session>(artifactWith({{kPtx, 90, "ptx90"}}));
        if (!kept->run().isOk()) {
          std::exit(3);
        }
        { // one that is destroyed before the process ends unloads its modules
          Session early(artifactWith({{kPtx, 90, "ptx90"}}));
          if (!early.run().isOk()) {
            std::exit(3);
          }
        }
        std::exit(0);
      },
      testing::ExitedWithCode(0), "1 unloads while the process lived, 1 at its end");
}

} // namespace
