// nvJitLink, which is tried after the cubins of a file and before the driver's compiler. A scripted
// table tests the order and the cached cubins; the real library, if it is installed, makes cubins
// of PTX without a GPU.

#include "tests/unit/runtime/cuda/FakeLinker.h"

using namespace fakecuda;

namespace {

constexpr const char *kHead = "// ptx90\n.version 8.0\n.target sm_90\n.address_size 64\n.extern "
                              ".shared .align 16 .b8 shared[];\n";

std::string kernelText(const std::string &entry, size_t length = 0) {
  return ".visible .entry " + entry +
         "(.param .u64 p0, .param .u64 p1, .param .u64 p2)\n.maxntid 128, 1, 1\n{ ret;" +
         std::string(length, ' ') + "}\n";
}

/// The text that joinPtx makes of kernels.
std::string marked(const std::vector<std::string> &kernels) {
  std::string text = kHead;
  for (const std::string &kernel : kernels) {
    text += std::string(kPtxKernelMark) + kernel;
  }
  return text;
}

/// artifactWith with several kernels k0, k1, ..., each launched once.
std::string artifactOf(size_t kernels) {
  format::ArtifactT artifact;
  std::string bytes = artifactWith({{kPtx, 90, "ptx90"}}, 40, 0, static_cast<int>(kernels));
  (*Artifact::fromBytes({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}))
      ->root()
      .UnPackTo(&artifact);
  std::vector<std::string> texts;
  format::PlanT &plan = *artifact.plans[0];
  format::GpuModuleT &code = *artifact.gpu_modules[0];
  plan.kernels.clear();
  code.entries.clear();
  for (size_t number = 0; number < kernels; ++number) {
    std::string entry = "k" + std::to_string(number);
    // More shared memory than a launch may use unless its function allows it, different for each.
    plan.kernels.push_back(addKernel(static_cast<uint32_t>((64 + number) * 1024)));
    plan.kernels.back()->variants[0]->launches[0]->entry = entry;
    code.entries.push_back(entry);
    texts.push_back(kernelText(entry));
  }
  uint32_t number = 0;
  for (const auto &step : plan.steps) {
    if (auto *launch = step->action.AsLaunch()) {
      launch->kernel = number++;
    }
  }
  std::string text = marked(texts);
  code.bytes.assign(text.begin(), text.end());
  return packArtifact(artifact);
}

struct JitLink : testing::Test {
  void SetUp() override {
    fake = FakeDriver();
    linking = FakeLinker();
  }
};

TEST_F(JitLink, PtxBecomesACubinOnceADeviceArchitecture) {
  fake.minor = 3; // sm_93: the cubin is for the device, not for the target that the PTX names
  Session session(artifactWith({{kPtx, 90, "ptx90"}}), scripted);
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(linking.options, std::vector(1, std::vector<std::string>{"-arch=sm_93"}));
  EXPECT_EQ(linking.texts.at(0).find('\0'), std::string::npos);
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
  EXPECT_EQ(session.host().notes.front(),
            "graph 'layer' on sm_93: PTX for sm_90, made a cubin by nvJitLink 13.0 (fake)");
  EXPECT_EQ(session.backend->counters()[1],
            (std::pair<std::string, uint64_t>("modules_linked", 3)));
}

TEST(SplitPtx, PartsHaveTheKernelsBetweenThemInOrderOfTheFirstOfEach) {
  std::string text =
      marked({kernelText("a"), kernelText("b", 100), kernelText("c0") + kernelText("c1"),
              kernelText("d", 1000), kernelText("e")});
  std::vector<PtxPart> parts = splitPtx(text, 3);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].entries, (std::vector<std::string>{"a", "c0", "c1"}));
  EXPECT_EQ(parts[1].entries, (std::vector<std::string>{"b", "e"}));
  EXPECT_EQ(parts[2].entries, std::vector<std::string>{"d"}) << "the longest has a part of its own";
  EXPECT_EQ(parts[0].text, marked({kernelText("a"), kernelText("c0") + kernelText("c1")}));
  for (const PtxPart &part : parts) {
    auto entries = readPtx(part.text, 90);
    ASSERT_TRUE(entries.isOk()) << entries.status().message();
    ASSERT_EQ(entries->size(), part.entries.size());
    EXPECT_EQ(entries->front().parameters, "iii");
    EXPECT_NE(part.text.find(".extern .shared"), std::string::npos);
  }
  EXPECT_EQ(splitPtx(text, 99).size(), 5u);
}

TEST(SplitPtx, ATextWithoutSeveralMarkedKernelsIsOnePart) {
  std::string unmarked = kHead + kernelText("a") + kernelText("b"), one = marked({kernelText("a")}),
              two = marked({kernelText("a"), kernelText("b")});
  for (const auto &[text, most] :
       {std::pair(unmarked, 16), {one, 16}, {two, 1}, {two, 0}, {std::string(), 16}}) {
    std::vector<PtxPart> parts = splitPtx(text, static_cast<size_t>(most));
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].text, text);
  }
  EXPECT_EQ(splitPtx(unmarked, 16)[0].entries, (std::vector<std::string>{"a", "b"}));
  // Entries in comments and bodies are ignored.
  EXPECT_EQ(splitPtx("// .entry x\n.visible .entry y() { .entry z }\n", 16)[0].entries,
            std::vector<std::string>{"y"});
}

TEST_F(JitLink, SeveralKernelsAreLinkedOnThreadsOfTheirOwn) {
  auto cubins = scriptedOnFour()->link(
      marked({kernelText("a"), kernelText("b"), kernelText("c"), kernelText("d"), kernelText("e")}),
      90);
  ASSERT_TRUE(cubins.isOk()) << cubins.status().message();
  ASSERT_EQ(cubins->size(), 4u) << "no more than threads";
  EXPECT_EQ(linking.threads.size(), 4u);
  EXPECT_EQ(linking.threads.count(std::this_thread::get_id()), 1u);
  EXPECT_EQ(linking.options, std::vector(4, std::vector<std::string>{"-arch=sm_90"}));
  EXPECT_EQ(cubins->at(0).entries, (std::vector<std::string>{"a", "e"}));
  EXPECT_EQ(cubins->at(1).entries, std::vector<std::string>{"b"});
  EXPECT_EQ(cubins->at(3).entries, std::vector<std::string>{"d"});
  for (const LinkedCubin &cubin : *cubins) {
    EXPECT_EQ(labelOf(cubin.bytes.data()), "linked: " + listed(cubin.entries));
  }
  EXPECT_EQ(linking.open, 0);
}

TEST_F(JitLink, OneKernelOrOneProcessorNeedsNoThreads) {
  for (const std::string &text : {marked({kernelText("a")}), kHead + kernelText("a"),
                                  kHead + kernelText("a") + kernelText("b")}) {
    SetUp();
    auto cubins = scriptedOnFour()->link(text, 90);
    ASSERT_TRUE(cubins.isOk());
    EXPECT_EQ(linking.texts, std::vector<std::string>{text});
    EXPECT_EQ(linking.threads, std::set{std::this_thread::get_id()});
  }
  SetUp();
  auto cubins =
      JitLinker(linkerTable(), "fake", 1).link(marked({kernelText("a"), kernelText("b")}), 90);
  ASSERT_TRUE(cubins.isOk());
  ASSERT_EQ(cubins->size(), 1u);
  EXPECT_EQ(cubins->at(0).entries, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(linking.threads, std::set{std::this_thread::get_id()});
}

TEST_F(JitLink, EachKernelIsTakenFromTheModuleThatHasIt) {
  {
    Session session(artifactOf(6), scriptedOnFour);
    ASSERT_TRUE(session.run().isOk());
    EXPECT_EQ(count("load linked: "), 4);
    EXPECT_EQ(count("function "), 6);
    EXPECT_EQ(fake.launched, (std::vector<std::string>{"k0", "k1", "k2", "k3", "k4", "k5"}));
    EXPECT_EQ(fake.broken, "");
    for (int number = 0; number < 6; ++number) {
      EXPECT_EQ(count("attribute 8 = " + std::to_string((64 + number) * 1024)), 1);
    }
    EXPECT_EQ(session.host().notes,
              std::vector<std::string>{
                  "graph 'layer' on sm_90: PTX for sm_90, made 4 cubins by nvJitLink 13.0 (fake)"});
    EXPECT_EQ(session.backend->counters()[1],
              (std::pair<std::string, uint64_t>("modules_linked", 1)))
        << "one piece of code";
    ASSERT_TRUE(session.run().isOk());
    EXPECT_EQ(count("load"), 4);
    fake.context = reinterpret_cast<void *>(0x2000);
    ASSERT_TRUE(session.run().isOk());
    EXPECT_EQ(count("load linked: "), 8);
    EXPECT_EQ(linking.links, 4) << "kept in memory for the second context";
  }
  EXPECT_EQ(count("unload"), 8);
  EXPECT_TRUE(fake.modules.empty());
  EXPECT_EQ(linking.open, 0);
}

TEST_F(JitLink, APartThatIsRefusedIsNamedAndTheDriverCompilesTheWholeText) {
  linking.refused = ".entry k2(";
  Session session(artifactOf(6), scriptedOnFour);
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(linking.links, 4);
  EXPECT_EQ(linking.open, 0);
  EXPECT_EQ(count("load"), 1);
  EXPECT_EQ(count("load ptx90"), 1);
  EXPECT_EQ(fake.launched.size(), 6u);
  EXPECT_EQ(session.host().notes.front(), "graph 'layer' on sm_90: PTX for sm_90, compiled by the "
                                          "driver: nvJitLink 13.0 (fake) refuses "
                                          "PTX of k2 for sm_90 (error 4): line 7: syntax");
}

TEST_F(JitLink, OfSeveralPartsThatAreRefusedTheFirstInTheTextIsNamed) {
  linking.completeCode = 4;
  for (int round = 0; round < 50; ++round) {
    auto cubins = scriptedOnFour()->link(
        marked({kernelText("a"), kernelText("b"), kernelText("c"), kernelText("d", 9)}), 90);
    ASSERT_FALSE(cubins.isOk());
    EXPECT_EQ(cubins.status().message(),
              "nvJitLink 13.0 (fake) refuses PTX of a for sm_90 (error 4): line 7: syntax");
  }
  EXPECT_EQ(linking.open, 0);
}

TEST_F(JitLink, NoMemoryAtTheKthModuleUnloadsTheOthers) {
  std::string bytes = artifactOf(6);
  for (int failAt = 0; failAt < 4; ++failAt) {
    SetUp();
    Session session(bytes, scriptedOnFour);
    session.host().hasCache = false;
    fake.failMemoryAt = failAt;
    Status status = session.run();
    EXPECT_EQ(status.kind(), ErrorKind::OutOfMemory) << status.message();
    EXPECT_EQ(count("unload"), failAt);
    EXPECT_TRUE(fake.modules.empty());
    EXPECT_EQ(count("function"), 0);
    fake.failMemoryAt = -1;
    ASSERT_TRUE(session.run().isOk());
    EXPECT_EQ(fake.modules.size(), 4u);
    EXPECT_EQ(linking.links, 4) << "once made they are kept";
  }
}

TEST_F(JitLink, AModuleOfSeveralThatTheDriverRefusesIsNamedAndTheWholeTextCompiled) {
  fake.loadCodes["linked: k2"] = 209;
  Session session(artifactOf(6), scriptedOnFour);
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(count("unload"), 2);
  ASSERT_EQ(fake.modules.size(), 1u);
  EXPECT_EQ(fake.modules.begin()->second, "ptx90");
  EXPECT_NE(
      session.host().notes.front().find(
          "loading the cubin of nvJitLink 13.0 (fake) for sm_90 with k2 (line 3: syntax error)"),
      std::string::npos)
      << session.host().notes.front();
}

TEST_F(JitLink, AnErrorOfAnEarlierKernelAtTheSecondModuleLeavesTheLostDriverAlone) {
  fake.loadCodes["linked: k1, k5"] = 700;
  Session session(artifactOf(6), scriptedOnFour);
  Status status = session.run();
  EXPECT_FALSE(status.isOk());
  EXPECT_EQ(count("load"), 2);
  EXPECT_EQ(count("unload"), 0);
}

TEST_F(JitLink, SeveralKernelsWithoutItAreOneTextForTheDriver) {
  Session session(artifactOf(6), [] { return static_cast<const JitLinker *>(nullptr); });
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(count("load"), 1);
  EXPECT_EQ(fake.launched, (std::vector<std::string>{"k0", "k1", "k2", "k3", "k4", "k5"}));
}

TEST_F(JitLink, GraphsOfSeveralThreadsLinkAtOnce) {
  std::string text = marked({kernelText("a"), kernelText("b"), kernelText("c")});
  std::vector<std::jthread> callers;
  for (int number = 0; number < 8; ++number) {
    callers.emplace_back([&] {
      auto cubins = scriptedOnFour()->link(text, 90);
      ASSERT_TRUE(cubins.isOk());
      ASSERT_EQ(cubins->size(), 3u);
      EXPECT_EQ(labelOf(cubins->at(1).bytes.data()), "linked: b");
    });
  }
  callers.clear();
  EXPECT_EQ(linking.links, 24);
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
    EXPECT_EQ(session.host().notes.front(), "graph 'layer' on sm_90: PTX for sm_90, compiled by "
                                            "the driver: nvJitLink 13.0 (fake) refuses "
                                            "PTX for sm_90 (error " +
                                                std::to_string(create + complete) + ")" + log);
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
  Session session(artifactWith({{kPtx, 90, "ptx90"}}),
                  [] { return static_cast<const JitLinker *>(nullptr); });
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(
      session.host().notes.front(),
      "graph 'layer' on sm_90: PTX for sm_90, compiled by the driver: no nvJitLink was found");
}

TEST_F(JitLink, LibrariesThatAreNone) {
  EXPECT_EQ(JitLinker::open("libnvJitLink-hidden.so").status().message(),
            "libnvJitLink-hidden.so cannot be opened");
  EXPECT_EQ(JitLinker::open("libm.so.6").status().message(), "libm.so.6 has no nvJitLinkCreate");
}

Result<std::string> linkOne(const JitLinker &linker, const std::string &ptx, uint32_t arch) {
  auto cubins = linker.link(ptx, arch);
  if (!cubins.isOk()) {
    return cubins.status();
  }
  EXPECT_EQ(cubins->size(), 1u);
  return std::move(cubins->front().bytes);
}

/// With the library of the wheel nvidia-nvjitlink or of a toolkit, if the build has found one.
TEST_F(JitLink, TheRealLibraryMakesCubinsOfPtx) {
  auto table = JitLinker::open(FRIT_NVJITLINK_LIBRARY);
  if (!table.isOk()) {
    GTEST_SKIP() << "needs libnvJitLink (pip install nvidia-nvjitlink): "
                 << table.status().message();
  }
  JitLinker linker(*table, "real");
  for (uint32_t arch : {80u, 86u, 90u, 100u}) {
    auto cubin = linkOne(linker, codeOf(kPtx, 80, "add"), arch);
    ASSERT_TRUE(cubin.isOk()) << cubin.status().message();
    auto entries = readCubin({reinterpret_cast<const uint8_t *>(cubin->data()), cubin->size()});
    ASSERT_TRUE(entries.isOk()) << entries.status().message();
    ASSERT_EQ(entries->size(), 1u);
    EXPECT_EQ(entries->front().name, "frit_add_entry");
    EXPECT_EQ(entries->front().parameters, "nnn");
    EXPECT_EQ(entries->front().threads, 128u);
    EXPECT_EQ(entries->front().cluster, 1u);
  }
  // The declarations in a cubin are those of its PTX: a list's table, a cluster, no parameters, and
  // parameters that no launch could pass.
  constexpr const char *kPtx90 = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry list(.param .align 8 .b8 p[120]) .explicitcluster .reqnctapercluster 4, 1, 1 .reqntid 32, 2, 1 { ret; }
.visible .entry none() { ret; }
)";
  for (uint32_t arch : {90u, 100u}) {
    auto cubin = linkOne(linker, kPtx90, arch);
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
  auto narrow = linkOne(linker,
                        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param "
                        ".u32 a, .param .u64 b) { ret; }",
                        80);
  ASSERT_TRUE(narrow.isOk()) << narrow.status().message();
  EXPECT_FALSE(
      readCubin({reinterpret_cast<const uint8_t *>(narrow->data()), narrow->size()}).isOk());
  // No changed byte of a real cubin leads to a read outside of it.
  for (size_t at = 0; at < narrow->size(); ++at) {
    std::string altered =
        narrow->substr(0, at) + static_cast<char>(~(*narrow)[at]) + narrow->substr(at + 1);
    (void)readCubin({reinterpret_cast<const uint8_t *>(altered.data()), altered.size()});
    (void)readCubin({reinterpret_cast<const uint8_t *>(altered.data()), at});
  }
  auto wrong = linker.link(
      ".version 8.0\n.target sm_80\n.address_size 64\n.entry broken() { no.such.instruction; }",
      80);
  ASSERT_FALSE(wrong.isOk());
  EXPECT_NE(wrong.status().message().find("Not a name of any known instruction: 'no'"),
            std::string::npos)
      << wrong.status().message();
}

/// Parallel links give the same cubins as single ones, repeatedly, and an error in one does not
/// affect others.
TEST_F(JitLink, TheRealLibraryMakesCubinsBesideEachOther) {
  auto table = JitLinker::open(FRIT_NVJITLINK_LIBRARY);
  if (!table.isOk()) {
    GTEST_SKIP() << "needs libnvJitLink (pip install nvidia-nvjitlink): "
                 << table.status().message();
  }
  std::vector<std::string> kernels;
  for (int number = 0; number < 8; ++number) {
    std::string add = "add.u64 %r, %r, " + std::to_string(number) + "; mul.lo.u64 %r, %r, %r; ";
    std::string body = "ld.param.u64 %r, [p0]; st.u64 [%r], %r; ";
    for (int time = 0; time <= number; ++time) {
      body += add;
    }
    kernels.push_back(".visible .entry k" + std::to_string(number) +
                      "(.param .u64 p0)\n{ .reg .b64 %r; " + body + "st.u64 [%r], %r; ret; }\n");
  }
  JitLinker several(*table, "real", 8), one(*table, "real", 1);
  std::vector<std::string> alone;
  for (const std::string &kernel : kernels) {
    auto cubin = linkOne(one, marked({kernel}), 90);
    ASSERT_TRUE(cubin.isOk()) << cubin.status().message();
    alone.push_back(std::move(*cubin));
  }
  for (int round = 0; round < 3; ++round) {
    auto cubins = several.link(marked(kernels), 90);
    ASSERT_TRUE(cubins.isOk()) << cubins.status().message();
    ASSERT_EQ(cubins->size(), 8u);
    for (size_t number = 0; number < 8; ++number) {
      EXPECT_EQ(cubins->at(number).entries, std::vector<std::string>{"k" + std::to_string(number)});
      EXPECT_TRUE(cubins->at(number).bytes == alone[number]) << number;
    }
  }
  kernels[3] = ".visible .entry k3() { no.such.instruction; }\n";
  auto wrong = several.link(marked(kernels), 90);
  ASSERT_FALSE(wrong.isOk());
  EXPECT_NE(wrong.status().message().find("PTX of k3 for sm_90"), std::string::npos)
      << wrong.status().message();
}

} // namespace
