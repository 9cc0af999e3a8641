// nvJitLink between the cubin of a file and the driver's own compiler: a scripted table shows what is tried in which order and kept, and
// the real library, where it is installed, makes cubins of PTX without a GPU.

#include "runtime/artifact/GpuCode.h"
#include "tests/unit/runtime/cuda/FakeDriver.h"

#include <thread>

using namespace fakecuda;

namespace {

struct FakeLinker {
  int createCode = 0, completeCode = 0, links = 0, open = 0;
  /// Of an older library: more it refuses, as ptxas does, when the link is completed.
  size_t mostOptions = 2;
  std::vector<std::string> options;
  std::string text;
};
FakeLinker linking;

JitLinkerTable linkerTable() {
  JitLinkerTable table;
  table.nvJitLinkCreate = [](LinkHandle *handle, uint32_t count, const char **options) {
    linking.options.assign(options, options + count);
    if (linking.createCode == 0) {
      ++linking.open;
      *handle = &linking;
    }
    return linking.createCode;
  };
  table.nvJitLinkDestroy = [](LinkHandle *handle) { return --linking.open, *handle = nullptr, 0; };
  table.nvJitLinkAddData = [](LinkHandle, int kind, const void *data, size_t size, const char *) {
    linking.text.assign(static_cast<const char *>(data), size);
    return kind == 2 ? 0 : 3;
  };
  table.nvJitLinkComplete = [](LinkHandle) { return ++linking.links, linking.options.size() > linking.mostOptions ? 4 : linking.completeCode; };
  table.nvJitLinkGetLinkedCubinSize = [](LinkHandle, size_t *size) { return *size = codeOf(kCubin, 90, "linked").size() + 1, 0; };
  table.nvJitLinkGetLinkedCubin = [](LinkHandle, void *cubin) {
    std::string bytes = codeOf(kCubin, 90, "linked");
    std::memcpy(cubin, bytes.c_str(), bytes.size() + 1);
    return 0;
  };
  table.nvJitLinkGetErrorLogSize = [](LinkHandle, size_t *size) { return *size = 14, 0; };
  table.nvJitLinkGetErrorLog = [](LinkHandle, char *log) { return std::memcpy(log, "line 7:\nsyntax", 14), 0; };
  table.nvJitLinkVersion = [](unsigned *major, unsigned *minor) { return *major = 13, *minor = 0, 0; };
  return table;
}

const JitLinker *scripted() {
  static const JitLinker linker(linkerTable(), "fake");
  return &linker;
}

struct JitLink : testing::Test {
  void SetUp() override {
    fake = FakeDriver();
    linking = FakeLinker();
  }
};

TEST_F(JitLink, PtxBecomesACubinOnceADeviceArchitecture) {
  fake.minor = 3; // sm_93: the cubin is for the device, not for what the PTX names
  Session session(artifactWith({{kPtx, 90, "ptx90"}}), scripted);
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(linking.options, std::vector<std::string>{"-arch=sm_93"});
  EXPECT_EQ(linking.text.find('\0'), std::string::npos);
  EXPECT_EQ(fake.log[0], "load linked");
  fake.context = reinterpret_cast<void *>(0x2000);
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(count("load linked"), 2);
  EXPECT_EQ(linking.links, 1) << "kept in memory for the second context";
  fake.context = reinterpret_cast<void *>(0x3000);
  fake.devices[fake.context] = {1, 10, 0};
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(linking.links, 2);
  EXPECT_EQ(linking.open, 0);
  EXPECT_EQ(session.host().notes.front(), "graph 'layer' on sm_93: PTX for sm_90, made a cubin by nvJitLink 13.0 (fake)");
  EXPECT_EQ(session.backend->counters()[1], (std::pair<std::string, uint64_t>("modules_linked", 3)));
}

TEST_F(JitLink, SeveralKernelsShareTheThreadsOfTheMachine) {
  unsigned threads = std::min(std::thread::hardware_concurrency(), 16u);
  if (threads < 2) {
    GTEST_SKIP() << "needs a machine of two processors";
  }
  ASSERT_TRUE(scripted()->link(".entry one() {}", 90).isOk());
  EXPECT_EQ(linking.options, std::vector<std::string>{"-arch=sm_90"});
  std::string two = ".entry one() {}\n.visible .entry two() {}";
  ASSERT_TRUE(scripted()->link(two, 90).isOk());
  EXPECT_EQ(linking.options, (std::vector<std::string>{"-arch=sm_90", "-Xptxas=-split-compile=" + std::to_string(threads)}));
  EXPECT_EQ(linking.links, 2);
  EXPECT_EQ(scripted()->name(), "nvJitLink 13.0 (fake)");
  linking.completeCode = 4;
  EXPECT_FALSE(scripted()->link(two, 90).isOk());
  EXPECT_EQ(linking.links, 4) << "bad PTX is refused either way, which says nothing about the library";
  EXPECT_EQ(linking.open, 0);
}

TEST_F(JitLink, ALibraryThatCannotShareKernelsIsAskedOnce) {
  if (std::thread::hardware_concurrency() < 2) {
    GTEST_SKIP() << "needs a machine of two processors";
  }
  JitLinker old(linkerTable(), "old");
  std::string two = ".entry one() {}\n.visible .entry two() {}";
  linking.mostOptions = 1;
  ASSERT_TRUE(old.link(two, 90).isOk());
  EXPECT_EQ(linking.links, 2);
  EXPECT_EQ(linking.options, std::vector<std::string>{"-arch=sm_90"});
  ASSERT_TRUE(old.link(two, 90).isOk());
  EXPECT_EQ(linking.links, 3);
  EXPECT_EQ(old.name(), "nvJitLink 13.0 (old), on one thread") << "so that the log of each load says it";
  EXPECT_EQ(linking.open, 0);
}

TEST_F(JitLink, ACubinOfTheFileNeedsNoLinking) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}, {kCubin, 90, "cubin90"}}), scripted);
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(linking.links, 0);
  EXPECT_EQ(count("load cubin90"), 1);
}

TEST_F(JitLink, WhatItRefusesTheDriverCompiles) {
  for (auto [create, complete] : {std::pair(1, 0), {0, 4}}) {
    SetUp();
    linking.createCode = create;
    linking.completeCode = complete;
    Session session(artifactWith({{kPtx, 90, "ptx90"}}), scripted);
    ASSERT_TRUE(session.run().isOk());
    EXPECT_EQ(count("load ptx90"), 1);
    EXPECT_EQ(linking.open, 0);
    std::string log = complete ? ": line 7: syntax" : "";
    EXPECT_EQ(session.host().notes.front(), "graph 'layer' on sm_90: PTX for sm_90, compiled by the driver: nvJitLink 13.0 (fake) refuses "
                                            "PTX for sm_90 (error " + std::to_string(create + complete) + ")" + log);
  }
}

TEST_F(JitLink, ACubinTheDriverRefusesIsCompiledByTheDriver) {
  fake.loadCodes["linked"] = 209;
  Session session(artifactWith({{kPtx, 90, "ptx90"}}), scripted);
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(fake.log[0], "load linked");
  EXPECT_EQ(fake.log[1], "load ptx90");
}

TEST_F(JitLink, WithoutItTheDriverCompilesAndSaysSo) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}), [] { return static_cast<const JitLinker *>(nullptr); });
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(session.host().notes.front(), "graph 'layer' on sm_90: PTX for sm_90, compiled by the driver: no nvJitLink was found");
}

TEST_F(JitLink, LibrariesThatAreNone) {
  EXPECT_EQ(JitLinker::open("libnvJitLink-hidden.so").status().message(), "libnvJitLink-hidden.so cannot be opened");
  EXPECT_EQ(JitLinker::open("libm.so.6").status().message(), "libm.so.6 has no nvJitLinkCreate");
}

/// With the library of the wheel nvidia-nvjitlink or of a toolkit, where the build has found one.
TEST_F(JitLink, TheRealLibraryMakesCubinsOfPtx) {
  auto table = JitLinker::open(FRIT_NVJITLINK_LIBRARY);
  if (!table.isOk()) {
    GTEST_SKIP() << "needs libnvJitLink (pip install nvidia-nvjitlink): " << table.status().message();
  }
  JitLinker linker(*table, "real");
  for (uint32_t arch : {80u, 86u, 90u, 100u}) {
    auto cubin = linker.link(codeOf(kPtx, 80, "add"), arch);
    ASSERT_TRUE(cubin.isOk()) << cubin.status().message();
    auto entries = readCubin({reinterpret_cast<const uint8_t *>(cubin->data()), cubin->size()});
    ASSERT_TRUE(entries.isOk()) << entries.status().message();
    ASSERT_EQ(entries->size(), 1u);
    EXPECT_EQ(entries->front().name, "frit_add_entry");
    EXPECT_EQ(entries->front().parameters, "nnn");
    EXPECT_EQ(entries->front().threads, 128u);
    EXPECT_EQ(entries->front().cluster, 1u);
  }
  // What PTX declares is read out of its cubin too: a list's table, a cluster, no parameters, what no launch could pass.
  constexpr const char *kPtx90 = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry list(.param .align 8 .b8 p[120]) .explicitcluster .reqnctapercluster 4, 1, 1 .reqntid 32, 2, 1 { ret; }
.visible .entry none() { ret; }
)";
  for (uint32_t arch : {90u, 100u}) {
    auto cubin = linker.link(kPtx90, arch);
    ASSERT_TRUE(cubin.isOk()) << cubin.status().message();
    auto entries = readCubin({reinterpret_cast<const uint8_t *>(cubin->data()), cubin->size()});
    ASSERT_TRUE(entries.isOk()) << entries.status().message();
    std::map<std::string_view, GpuEntry> byName;
    for (const GpuEntry &entry : *entries) {
      byName[entry.name] = entry;
    }
    ASSERT_EQ(byName.size(), 2u);
    EXPECT_EQ(byName["list"].parameters, "t");
    EXPECT_EQ(byName["list"].tableBytes, 120u);
    EXPECT_EQ(byName["list"].threads, 64u);
    EXPECT_EQ(byName["list"].cluster, 4u);
    EXPECT_EQ(byName["none"].parameters, "");
  }
  auto narrow = linker.link(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 a, .param .u64 b) { ret; }", 80);
  ASSERT_TRUE(narrow.isOk()) << narrow.status().message();
  EXPECT_FALSE(readCubin({reinterpret_cast<const uint8_t *>(narrow->data()), narrow->size()}).isOk());
  // No byte of a real one leads outside of it.
  for (size_t at = 0; at < narrow->size(); ++at) {
    std::string altered = narrow->substr(0, at) + static_cast<char>(~(*narrow)[at]) + narrow->substr(at + 1);
    (void)readCubin({reinterpret_cast<const uint8_t *>(altered.data()), altered.size()});
    (void)readCubin({reinterpret_cast<const uint8_t *>(altered.data()), at});
  }
  auto wrong = linker.link(".version 8.0\n.target sm_80\n.address_size 64\n.entry broken() { no.such.instruction; }", 80);
  ASSERT_FALSE(wrong.isOk());
  EXPECT_NE(wrong.status().message().find("Not a name of any known instruction: 'no'"), std::string::npos) << wrong.status().message();
}

} // namespace
