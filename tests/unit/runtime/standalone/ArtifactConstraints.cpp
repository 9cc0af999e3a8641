// The numbered rules of docs/Artifact.md, one test per number (tests/lint/test_artifact_rules.py
// checks that none is missing); those for weights are in WeightConstraints.cpp, those for calls in
// CallConstraints.cpp. Each test damages one field of a file that can be loaded, decoded and run.

#include "tests/unit/runtime/Cubin.h"
#include "tests/unit/runtime/standalone/BrokenArtifact.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace frit;

TEST(ArtifactConstraint, WhatTheyStartFromIsAccepted) {
  EXPECT_EQ(use(Small().pack()).isOk() ? "" : use(Small().pack()).message(), "");
  Small gpu(format::Target::Gpu);
  Status status = use(gpu.pack());
  EXPECT_TRUE(status.isOk()) << status.message();
}

TEST(ArtifactConstraint, A1_MagicVersionAndSizeOfTheHeader) {
  std::string file = Small().pack();
  expectError(use(withHeader(file, [](Header &h) { h.magic[0] = 'P'; })), "magic");
  for (uint32_t version : {kFormatVersion - 1, kFormatVersion + 1, 0xffffffffu}) {
    expectError(use(withHeader(file, [&](Header &h) { h.version = version; })),
                "format version is " + std::to_string(version) + ", this runtime reads " +
                    std::to_string(kFormatVersion));
  }
  expectError(use(withHeader(file, [](Header &h) { h.headerBytes = 64; })),
              "its header is said to be 64 bytes");
  expectError(use(file.substr(0, 127)), "127 bytes are too few");
}

TEST(ArtifactConstraint, A2_NothingInTheReservedBytes) {
  std::string file = Small().pack();
  for (size_t at = 0; at < sizeof(Header::reserved); ++at) {
    expectError(use(withHeader(file, [&](Header &h) { h.reserved[at] = 1; })),
                "mean nothing in this version");
  }
}

TEST(ArtifactConstraint, A3_TheBodyIsAsLongAsItSays) {
  Small small;
  small.artifact.weights.clear();
  small.plan().constants.clear();
  std::string file = small.pack({});
  for (uint64_t bytes :
       {uint64_t(0), headerOf(file).bodyBytes + 1, kMaxBodyBytes + 1, UINT64_MAX}) {
    std::string altered = file;
    std::memcpy(altered.data() + offsetof(Header, bodyBytes), &bytes, sizeof(bytes));
    expectError(use(altered), "its body is said to be");
  }
  expectError(use(file + "x"), "does not fit the file");
  for (size_t length = 0; length < file.size(); ++length) {
    expectError(use(std::string_view(file).substr(0, length)), "not a usable .frit artifact");
  }
  // A real body of more than 64 MiB, and a sparse file of more than 1 TiB.
  constexpr uint64_t kBeyond = (uint64_t(64) << 20) + 1;
  std::string large = withHeader(file.substr(0, sizeof(Header)) + std::string(kBeyond, 'x'),
                                 [](Header &h) { h.bodyBytes = kBeyond; });
  expectError(use(large),
              "its body is said to be 67108865 bytes, the file has 67108865 (limit 67108864)");
  TemporaryFile sparse("x");
  constexpr off_t kTerabyte = off_t(1) << 40;
  for (auto [bytes, message] :
       {std::pair(kTerabyte + 1, "has 1099511627777 bytes"), std::pair(off_t(0), "has 0 bytes")}) {
    if (truncate(sparse.path.c_str(), bytes) == 0) {
      expectError(Artifact::fromFile(sparse.path).status(), message);
    } else {
      EXPECT_EQ(errno, EFBIG) << "this file system has no files of that size";
    }
  }
  if (truncate(sparse.path.c_str(), kTerabyte) == 0) {
    expectError(Artifact::fromFile(sparse.path).status(), "does not start with the magic bytes");
  }
}

TEST(ArtifactConstraint, A4_WeightsBeginAtTheNextPageAndEndTheFile) {
  std::string file = Small().pack();
  uint64_t offset = headerOf(file).weightsOffset;
  ASSERT_EQ(offset % kWeightsAlignment, 0u);
  for (uint64_t other : {uint64_t(0), offset - 1, offset + kWeightsAlignment, UINT64_MAX}) {
    expectError(use(withHeader(file, [&](Header &h) { h.weightsOffset = other; })),
                "weights section does not fit");
  }
  for (uint64_t other : {uint64_t(0), kSmallWeights.size() + 1, UINT64_MAX}) {
    expectError(use(withHeader(file, [&](Header &h) { h.weightsBytes = other; })),
                "weights section does not fit");
  }
  expectError(use(file + "x"), "weights section does not fit");
  for (size_t at = sizeof(Header) + headerOf(file).bodyBytes; at < offset; ++at) {
    std::string altered = file;
    altered[at] = 1;
    expectError(use(altered), "between its body and its weights");
  }
  for (size_t length = sizeof(Header) + headerOf(file).bodyBytes; length < file.size(); ++length) {
    expectError(use(std::string_view(file).substr(0, length)), "weights section does not fit");
  }
}

TEST(ArtifactConstraint, A5_EveryByteOfHeaderAndBodyIsUnderTheDigest) {
  std::string file = Small().pack();
  size_t end = sizeof(Header) + headerOf(file).bodyBytes;
  for (size_t at = 0; at < end; ++at) {
    std::string altered = file;
    altered[at] = static_cast<char>(altered[at] ^ (1 << at % 8));
    expectError(use(altered),
                at < sizeof(Header) ? "not a usable .frit artifact" : "SHA-256 does not match");
  }
}

TEST(ArtifactConstraint, A6_TheBodyPassesTheVerifier) {
  auto nested = [](int levels) {
    Small small;
    auto value = std::make_unique<format::ValueT>();
    for (int level = 0; level < levels; ++level) {
      auto list = std::make_unique<format::ValueT>();
      list->kind = format::ValueKind::List;
      list->items.push_back(std::move(value));
      value = std::move(list);
    }
    auto &call = small.builder.step<format::AtenT>();
    call.name = "aten::add";
    call.arguments.push_back(std::move(value));
    return use(small.pack());
  };
  expectError(nested(8), "needs libtorch", ErrorKind::Unsupported);
  expectError(nested(100), "its body is malformed");
  expectError(use(frameArtifact(std::string(64, '\xff'))), "its body is malformed");
  // The verifier does not check where the structs of a list begin (found by scripts/fuzz).
  unsigned refused = 0;
  for (bool shifted : {false, true}) {
    flatbuffers::FlatBufferBuilder builder;
    if (shifted) {
      builder.PushElement(uint32_t(0));
    }
    builder.StartVector(8, sizeof(uint32_t));
    for (int word = 0; word < 8; ++word) {
      builder.PushElement(uint32_t(0));
    }
    flatbuffers::Offset<flatbuffers::Vector<const format::IntConstant *>> constants(
        builder.EndVector(2));
    auto plans = builder.CreateVector(
        std::vector{format::CreatePlan(builder, format::Target::Cpu, 1, constants)});
    format::ArtifactBuilder artifact(builder);
    artifact.add_plans(plans);
    format::FinishArtifactBuffer(builder, artifact.Finish());
    Status status = use(frameArtifact(
        {reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()}));
    refused +=
        !status.isOk() && status.message().find("begins inside of a number") != std::string::npos;
  }
  EXPECT_GE(refused, 1u);
  // Tables are counted even if they share bytes: the body below refers to one module many times.
  auto modules = [](size_t count) {
    flatbuffers::FlatBufferBuilder builder;
    std::vector<flatbuffers::Offset<format::GpuModule>> list(count,
                                                             format::CreateGpuModule(builder));
    auto shared = builder.CreateVector(list);
    format::ArtifactBuilder artifact(builder);
    artifact.add_gpu_modules(shared);
    format::FinishArtifactBuffer(builder, artifact.Finish());
    return use(frameArtifact(
        {reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()}));
  };
  expectError(modules(7'999'000), "GPU module 0 is of an unknown kind or empty");
  expectError(modules(8'001'000), "its body is malformed");
  // With a valid digest, no changed byte of the body leads to a read outside of it.
  std::string body = Small().pack({}).substr(sizeof(Header));
  for (size_t at = 0; at < body.size(); ++at) {
    for (int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string altered = body;
      altered[at] = static_cast<char>(value);
      auto artifact = Artifact::fromBytes(bytesOfString(frameArtifact(altered)));
      if (artifact.isOk() && (*artifact)->plan(format::Target::Cpu)) {
        auto decoded = DecodedPlan::decode(*artifact, *(*artifact)->plan(format::Target::Cpu));
        if (decoded.isOk()) {
          (void)signatureOf(**decoded);
        } else {
          EXPECT_EQ(decoded.status().kind(), ErrorKind::BadArtifact);
        }
      }
    }
  }
}

TEST(ArtifactConstraint, A7_OnlyTheFileThatWasNamedIsOpened) {
  TemporaryFile file(Small().pack());
  EXPECT_TRUE(Artifact::fromFile(file.path).isOk());
  std::string link = file.path + "-link";
  ASSERT_EQ(symlink(file.path.c_str(), link.c_str()), 0);
  EXPECT_FALSE(Artifact::fromFile(link).isOk());
  unlink(link.c_str());
  expectError(Artifact::fromFile("/tmp").status(), "is not a regular file");
  expectError(Artifact::fromFile("/nonexistent/a.frit").status(), "cannot open");
  expectRefused("opens files",
                [](Small &s) { s.builder.step<format::AtenT>().name = "aten::from_file"; });
}

TEST(ArtifactConstraint, A8_OnePlanForATarget) {
  expectRefused("two plans for Cpu",
                [](Small &s) { s.artifact.plans.push_back(std::make_unique<format::PlanT>()); });
  expectRefused("unknown target 7", [](Small &s) {
    s.artifact.plans.push_back(std::make_unique<format::PlanT>());
    s.artifact.plans[0]->target = static_cast<format::Target>(7);
  });
  // There may be several plans for the CPU, each for a separate code image.
  auto plans = [](const std::vector<uint32_t> &images,
                  format::Target target = format::Target::Cpu) {
    return [=](Small &s) {
      s.addImage("x86-64-v3"), s.artifact.images[1]->kind = target == format::Target::Simt
                                                                ? format::ImageKind::Simt
                                                                : format::ImageKind::Cpu;
      s.plan().image = images[0];
      for (uint32_t image : std::span(images).subspan(1)) {
        auto &plan = *s.artifact.plans.emplace_back(std::make_unique<format::PlanT>());
        plan.target = target, plan.image = image;
      }
    };
  };
  Small two;
  plans({0, 1})(two);
  Status status = use(two.pack());
  EXPECT_TRUE(status.isOk()) << status.message();
  expectRefused("two plans for Cpu", plans({0, 0}));
  expectRefused("two plans for Cpu", plans({0, kNoRegister}));
  expectRefused("two plans for Cpu", plans({kNoRegister, 1}));
  expectRefused("plan for Cpu is of code image 2, which is not there or not for it", plans({2}));
  expectRefused("plan for Simt is of code image 0, which is not there or not for it",
                plans({kNoRegister, 0}, format::Target::Simt));
  expectRefused("plan for Cpu is of code image 1, which is not there or not for it", [](Small &s) {
    s.addImage("x86-64-v3"), s.artifact.images[1]->kind = format::ImageKind::Simt,
                             s.plan().image = 1;
  });
}

TEST(ArtifactConstraint, A9_EntriesLieInsideOfTheirCode) {
  expectRefused("entry 0 of code image 0 lies outside of its 3 bytes",
                [](Small &s) { s.artifact.images[0]->entries[0]->offset = 3; });
  expectRefused("lies outside",
                [](Small &s) { s.artifact.images[0]->entries[0]->offset = UINT64_MAX; });
  expectRefused("lies outside of its 0 bytes",
                [](Small &s) { s.artifact.images[0]->bytes.clear(); });
  expectRefused("an alignment of 3 bytes", [](Small &s) { s.artifact.images[0]->alignment = 3; });
  expectRefused("an alignment of 8192 bytes",
                [](Small &s) { s.artifact.images[0]->alignment = 8192; });
  expectRefused("unknown kind",
                [](Small &s) { s.artifact.images[0]->kind = static_cast<format::ImageKind>(9); });
  expectRefused("an alignment of 0 bytes", [](Small &s) { s.artifact.images[0]->alignment = 0; });
  expectRefused("code image 0 is of an unknown kind or for no machine",
                [](Small &s) { s.artifact.images[0]->level.clear(); });
  expectRefused("entry 0 of code image 0 has no name",
                [](Small &s) { s.artifact.images[0]->entries[0]->name.clear(); });
  expectRefused("feature 1 of code image 0 has no name",
                [](Small &s) { s.artifact.images[0]->features = {"avx2", ""}; });
  expectRefused("wants 65 features (limit 64)",
                [](Small &s) { s.artifact.images[0]->features.assign(65, "avx2"); });
}

TEST(ArtifactConstraint, A10_GpuModulesHaveCode) {
  expectRefused("of an unknown kind or empty", [](Small &s) { s.setCode(""); });
  expectRefused("of an unknown kind or empty", [](Small &s) {
    s.artifact.gpu_modules[0]->kind = static_cast<format::GpuCodeKind>(2);
  });
}

TEST(ArtifactConstraint, A12_TextsAreBoundedAndUtf8) {
  expectRefused("has 5000 bytes (limit 4096)",
                [](Small &s) { s.artifact.graph = std::string(5000, 'g'); });
  expectRefused("has 5000 bytes (limit 4096)",
                [](Small &s) { s.plan().symbols[0]->name = std::string(5000, 's'); });
  for (const char *bad :
       {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80"}) {
    expectRefused("no UTF-8", [&](Small &s) { s.artifact.graph = bad; });
    expectRefused("no UTF-8", [&](Small &s) { s.artifact.report = bad; });
    expectRefused("no UTF-8", [&](Small &s) { s.artifact.sources[0] = bad; });
    expectRefused("no UTF-8", [&](Small &s) { s.plan().inputs[0]->name = bad; });
    expectRefused("no UTF-8", [&](Small &s) { s.plan().guards[0]->requirement = bad; });
    expectRefused("no UTF-8", [&](Small &s) { s.plan().kernels[0]->name = bad; });
  }
  // Texts are checked in steps of eight bytes.
  for (size_t before = 0; before < 18; ++before) {
    for (size_t after : {0, 1, 7, 8, 9}) {
      std::string start(before, 'a'), end(after, 'z');
      expectRefused("no UTF-8", [&](Small &s) { s.artifact.graph = start + "\x80" + end; });
      Small accented;
      accented.artifact.graph = start + "\xc3\xa9" + end;
      EXPECT_TRUE(use(accented.pack()).isOk()) << before << " and " << after;
    }
  }
  Small named;
  named.artifact.graph = "\xc3\xa9t\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80";
  EXPECT_TRUE(use(named.pack()).isOk());
}

TEST(ArtifactConstraint, A14_HostCodeIsTakenFromFilesOthersCannotWrite) {
  TemporaryFile file(Small().pack());
  for (mode_t mode : {0620, 0602}) {
    chmod(file.path.c_str(), mode);
    auto artifact = Artifact::fromFile(file.path);
    ASSERT_TRUE(artifact.isOk());
    expectError(useCpu(*artifact, 3), "written by others", ErrorKind::Unsupported);
    EXPECT_TRUE(useCpu(*Artifact::fromFile(file.path, true), 3).isOk());
  }
  chmod(file.path.c_str(), 0600);
  EXPECT_TRUE(useCpu(*Artifact::fromFile(file.path), 3).isOk());
}
