// The numbered rules of docs/Artifact.md, one test a number (tests/lint/test_artifact_rules.py holds that none is missing); those about
// weights are in WeightConstraints.cpp, those about calls in CallConstraints.cpp. Each starts from a file that is loaded, decoded and run, and breaks one thing in it.

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
                "format version is " + std::to_string(version) + ", this runtime reads " + std::to_string(kFormatVersion));
  }
  expectError(use(withHeader(file, [](Header &h) { h.headerBytes = 64; })), "its header is said to be 64 bytes");
  expectError(use(file.substr(0, 127)), "127 bytes are too few");
}

TEST(ArtifactConstraint, A2_NothingInTheReservedBytes) {
  std::string file = Small().pack();
  for (size_t at = 0; at < sizeof(Header::reserved); ++at) {
    expectError(use(withHeader(file, [&](Header &h) { h.reserved[at] = 1; })), "mean nothing in this version");
  }
}

TEST(ArtifactConstraint, A3_TheBodyIsAsLongAsItSays) {
  Small small;
  small.artifact.weights.clear();
  small.plan().constants.clear();
  std::string file = small.pack({});
  for (uint64_t bytes : {uint64_t(0), headerOf(file).bodyBytes + 1, kMaxBodyBytes + 1, UINT64_MAX}) {
    std::string altered = file;
    std::memcpy(altered.data() + offsetof(Header, bodyBytes), &bytes, sizeof(bytes));
    expectError(use(altered), "its body is said to be");
  }
  expectError(use(file + "x"), "does not fit the file");
  for (size_t length = 0; length < file.size(); ++length) {
    expectError(use(std::string_view(file).substr(0, length)), "not a usable .frit artifact");
  }
  // A body of more than 64 MiB that is there, and a file of more than 1 TiB, of which no byte is.
  constexpr uint64_t kBeyond = (uint64_t(64) << 20) + 1;
  std::string large = withHeader(file.substr(0, sizeof(Header)) + std::string(kBeyond, 'x'), [](Header &h) { h.bodyBytes = kBeyond; });
  expectError(use(large), "its body is said to be 67108865 bytes, the file has 67108865 (limit 67108864)");
  TemporaryFile sparse("x");
  constexpr off_t kTerabyte = off_t(1) << 40;
  for (auto [bytes, message] : {std::pair(kTerabyte + 1, "has 1099511627777 bytes"), std::pair(off_t(0), "has 0 bytes")}) {
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
    expectError(use(withHeader(file, [&](Header &h) { h.weightsOffset = other; })), "weights section does not fit");
  }
  for (uint64_t other : {uint64_t(0), kSmallWeights.size() + 1, UINT64_MAX}) {
    expectError(use(withHeader(file, [&](Header &h) { h.weightsBytes = other; })), "weights section does not fit");
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
    expectError(use(altered), at < sizeof(Header) ? "not a usable .frit artifact" : "SHA-256 does not match");
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
  // The verifier does not look where the structs of a list begin (found by scripts/fuzz).
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
    flatbuffers::Offset<flatbuffers::Vector<const format::IntConstant *>> constants(builder.EndVector(2));
    auto plans = builder.CreateVector(std::vector{format::CreatePlan(builder, format::Target::Cpu, 1, constants)});
    format::ArtifactBuilder artifact(builder);
    artifact.add_plans(plans);
    format::FinishArtifactBuffer(builder, artifact.Finish());
    Status status = use(frameArtifact({reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()}));
    refused += !status.isOk() && status.message().find("begins inside of a number") != std::string::npos;
  }
  EXPECT_GE(refused, 1u);
  // Tables are counted however few bytes they share: the body below has one module, named again and again.
  auto modules = [](size_t count) {
    flatbuffers::FlatBufferBuilder builder;
    std::vector<flatbuffers::Offset<format::GpuModule>> list(count, format::CreateGpuModule(builder));
    auto shared = builder.CreateVector(list);
    format::ArtifactBuilder artifact(builder);
    artifact.add_gpu_modules(shared);
    format::FinishArtifactBuffer(builder, artifact.Finish());
    return use(frameArtifact({reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()}));
  };
  expectError(modules(7'999'000), "GPU module 0 is of an unknown kind or empty");
  expectError(modules(8'001'000), "its body is malformed");
  // Under a digest that fits no byte of the body leads outside of it.
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
  expectRefused("opens files", [](Small &s) { s.builder.step<format::AtenT>().name = "aten::from_file"; });
}

TEST(ArtifactConstraint, A8_OnePlanForATarget) {
  expectRefused("two plans for Cpu", [](Small &s) { s.artifact.plans.push_back(std::make_unique<format::PlanT>()); });
  expectRefused("unknown target 7", [](Small &s) {
    s.artifact.plans.push_back(std::make_unique<format::PlanT>());
    s.artifact.plans[0]->target = static_cast<format::Target>(7);
  });
  // Plans for the CPU may be several, each of a code image of its own.
  auto plans = [](std::vector<uint32_t> images, format::Target target = format::Target::Cpu) {
    return [=](Small &s) {
      s.addImage("x86-64-v3"), s.artifact.images[1]->kind = target == format::Target::Simt ? format::ImageKind::Simt : format::ImageKind::Cpu;
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
  expectRefused("plan for Simt is of code image 0, which is not there or not for it", plans({kNoRegister, 0}, format::Target::Simt));
  expectRefused("plan for Cpu is of code image 1, which is not there or not for it", [](Small &s) {
    s.addImage("x86-64-v3"), s.artifact.images[1]->kind = format::ImageKind::Simt, s.plan().image = 1;
  });
}

TEST(ArtifactConstraint, A9_EntriesLieInsideOfTheirCode) {
  expectRefused("entry 0 of code image 0 lies outside of its 3 bytes", [](Small &s) { s.artifact.images[0]->entries[0]->offset = 3; });
  expectRefused("lies outside", [](Small &s) { s.artifact.images[0]->entries[0]->offset = UINT64_MAX; });
  expectRefused("lies outside of its 0 bytes", [](Small &s) { s.artifact.images[0]->bytes.clear(); });
  expectRefused("an alignment of 3 bytes", [](Small &s) { s.artifact.images[0]->alignment = 3; });
  expectRefused("an alignment of 8192 bytes", [](Small &s) { s.artifact.images[0]->alignment = 8192; });
  expectRefused("unknown kind", [](Small &s) { s.artifact.images[0]->kind = static_cast<format::ImageKind>(9); });
  expectRefused("an alignment of 0 bytes", [](Small &s) { s.artifact.images[0]->alignment = 0; });
  expectRefused("code image 0 is of an unknown kind or for no machine", [](Small &s) { s.artifact.images[0]->level.clear(); });
  expectRefused("entry 0 of code image 0 has no name", [](Small &s) { s.artifact.images[0]->entries[0]->name.clear(); });
  expectRefused("feature 1 of code image 0 has no name", [](Small &s) { s.artifact.images[0]->features = {"avx2", ""}; });
  expectRefused("wants 65 features (limit 64)", [](Small &s) { s.artifact.images[0]->features.assign(65, "avx2"); });
}

TEST(ArtifactConstraint, A10_GpuModulesHaveCode) {
  expectRefused("of an unknown kind or empty", [](Small &s) { s.setCode(""); });
  expectRefused("of an unknown kind or empty", [](Small &s) { s.artifact.gpu_modules[0]->kind = static_cast<format::GpuCodeKind>(2); });
}

TEST(ArtifactConstraint, A12_TextsAreBoundedAndUtf8) {
  expectRefused("has 5000 bytes (limit 4096)", [](Small &s) { s.artifact.graph = std::string(5000, 'g'); });
  expectRefused("has 5000 bytes (limit 4096)", [](Small &s) { s.plan().symbols[0]->name = std::string(5000, 's'); });
  for (const char *bad : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80"}) {
    expectRefused("no UTF-8", [&](Small &s) { s.artifact.graph = bad; });
    expectRefused("no UTF-8", [&](Small &s) { s.artifact.report = bad; });
    expectRefused("no UTF-8", [&](Small &s) { s.artifact.sources[0] = bad; });
    expectRefused("no UTF-8", [&](Small &s) { s.plan().inputs[0]->name = bad; });
    expectRefused("no UTF-8", [&](Small &s) { s.plan().guards[0]->requirement = bad; });
    expectRefused("no UTF-8", [&](Small &s) { s.plan().kernels[0]->name = bad; });
  }
  // Texts are looked at in steps of eight bytes.
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

TEST(ArtifactConstraint, A15_APlanSaysNoMoreThanItsBytesHold) {
  expectRefused("registers are more than", [](Small &s) { s.plan().int_count = 1 << 20; });
  expectRefused("registers are more than", [](Small &s) { s.plan().float_count = 0xffffffff; });
  // FlatBuffers lets all tensors of a plan share one list of sizes, and all programs of a plan one program.
  flatbuffers::FlatBufferBuilder builder;
  auto sizes = builder.CreateVector(std::vector<uint32_t>(60, 0));
  std::vector<flatbuffers::Offset<format::Tensor>> tensors(2000, format::CreateTensor(builder, format::Dtype::F32, format::Device::Cpu, 60, sizes, sizes));
  auto list = builder.CreateVector(tensors);
  format::PlanBuilder plan(builder);
  plan.add_int_count(1);
  plan.add_tensors(list);
  auto plans = builder.CreateVector(std::vector{plan.Finish()});
  format::ArtifactBuilder artifact(builder);
  artifact.add_plans(plans);
  format::FinishArtifactBuffer(builder, artifact.Finish());
  expectError(use(frameArtifact({reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()})), "says more than its");
}

TEST(ArtifactConstraint, A16_WhatIsNamedExists) {
  expectRefused("tensor register 9 of 4", [](Small &s) { s.step<format::AllocT>(0).tensor = 9; });
  expectRefused("int register 99 of", [](Small &s) { s.step<format::AllocT>(0).bytes = 99; });
  expectRefused("float register 7 of 1", [](Small &s) { s.step<format::LaunchT>(1).floats = {7}; });
  expectRefused("outside of its file", [](Small &s) { s.plan().programs[0]->code[0] = {format::Op::Mul, s.holds, 99, s.four, 0}; });
  expectRefused("unknown operation 999", [](Small &s) { s.plan().programs[0]->code[0] = {static_cast<format::Op>(999), 0, 0, 0, 0}; });
  expectRefused("size program 3", [](Small &s) { s.plan().size_program = 3; });
  expectRefused("kernel 5 is not there", [](Small &s) { s.step<format::LaunchT>(1).kernel = 5; });
  expectRefused("an input that is not there", [](Small &s) { s.plan().symbols[0]->input = 3; });
  expectRefused("no such size", [](Small &s) { s.plan().symbols[0]->dim = 1; });
  expectRefused("scale 0", [](Small &s) { s.plan().symbols[0]->scale = 0; });
  expectRefused("source line 4 is not there", [](Small &s) { s.plan().kernels[0]->sources = {4}; });
  expectRefused("unknown kind", [](Small &s) { s.plan().inputs[0]->kind = static_cast<format::InputKind>(44); });
  expectRefused("unknown kind", [](Small &s) { s.plan().outputs[0]->kind = static_cast<format::OutputKind>(44); });
  expectRefused("unknown kind", [](Small &s) { s.plan().guards[0]->kind = static_cast<format::GuardKind>(44); });
  expectRefused("unknown dtype", [](Small &s) { s.plan().outputs[0]->dtype = static_cast<format::Dtype>(44); });
  expectRefused("unknown dtype", [](Small &s) { s.plan().tensors[0]->dtype = static_cast<format::Dtype>(44); });
  expectRefused("unknown storage class", [](Small &s) { s.step<format::AllocT>(0).storage = static_cast<format::StorageClass>(3); });
  expectRefused("neither r, w nor u", [](Small &s) { s.plan().kernels[0]->access = "rx"; });
}

TEST(ArtifactConstraint, A17_ConstantsStayAsTheyAre) {
  expectRefused("constant in int register", [](Small &s) { s.plan().programs[0]->code[0] = {format::Op::Mul, s.four, s.s0, s.four, 0}; });
  expectRefused("constant in int register", [](Small &s) { s.plan().symbols[0]->reg = s.one; });
  expectRefused("constant in float register", [](Small &s) { s.builder.emitTo(s.program, s.half, format::Op::FNeg, s.half); });
  expectRefused("constant in int register", [](Small &s) {
    auto &step = s.builder.step<format::DimT>();
    step.tensor = s.y, step.dst = s.four;
  });
}

TEST(ArtifactConstraint, A18_RankSizesAndStridesFitEachOther) {
  expectRefused("do not fit each other", [](Small &s) { s.plan().tensors[s.y]->rank = 2; });
  expectRefused("do not fit each other", [](Small &s) { s.plan().tensors[s.y]->strides = {s.one, s.one}; });
  expectRefused("do not fit each other", [](Small &s) {
    format::TensorT &tensor = *s.plan().tensors[s.y];
    tensor.rank = 65, tensor.sizes.assign(65, s.one), tensor.strides.assign(65, s.one);
  });
  expectRefused("has no sizes or strides", [](Small &s) { s.plan().tensors[s.y]->strides.clear(); });
}

TEST(ArtifactConstraint, A19_ATensorIsWrittenOnceAndReadWhileItIsThere) {
  expectRefused("is read before it is written", [](Small &s) { std::swap(s.plan().steps[0], s.plan().steps[1]); });
  expectRefused("is written twice", [](Small &s) { s.step<format::AllocT>(0).tensor = s.x; });
  expectRefused("is written twice", [](Small &s) { s.plan().constants[0]->tensor = s.x; });
  expectRefused("is written twice", [](Small &s) {
    s.plan().inputs.push_back(std::make_unique<format::InputT>());
    s.plan().inputs[1]->reg = s.x;
  });
  expectRefused("after it was freed", [](Small &s) {
    s.builder.step<format::FreeT>().tensor = s.x;
    s.builder.step<format::FreeT>().tensor = s.x;
  });
  expectRefused("is not there any more", [](Small &s) { s.builder.step<format::FreeT>().tensor = s.y; });
}

TEST(ArtifactConstraint, A20_NoLookOutlivesItsMemory) {
  auto look = [](Small &s, uint32_t &t, uint32_t &v) {
    t = s.builder.newTensor(format::Dtype::F32, {s.one}, {s.one}), v = s.builder.newTensor(format::Dtype::F32, {s.one}, {s.one});
    auto &alloc = s.builder.step<format::AllocT>();
    alloc.tensor = t, alloc.bytes = s.four;
    auto &view = s.builder.step<format::ViewT>();
    view.tensor = v, view.source = t;
  };
  auto launch = [](Small &s, uint32_t reads) {
    auto &again = s.builder.step<format::LaunchT>();
    again.tensors = {reads, s.y}, again.ints = {s.s0}, again.floats = {s.half};
    again.variants.push_back(std::make_unique<format::VariantSizesT>());
    again.variants[0]->launches.push_back(std::make_unique<format::LaunchSizesT>());
    again.variants[0]->launches[0]->x = s.one;
  };
  expectRefused("a view outlives the storage", [&](Small &s) {
    uint32_t t, v;
    look(s, t, v);
    s.builder.step<format::FreeT>().tensor = t;
    launch(s, v);
  });
  expectRefused("has no storage of its own to hand over", [&](Small &s) {
    uint32_t t, v, u = s.builder.newTensor(format::Dtype::F32, {s.one}, {s.one});
    look(s, t, v);
    auto &reuse = s.builder.step<format::ReuseT>();
    reuse.tensor = u, reuse.from = v;
    s.builder.step<format::FreeT>().tensor = t;
    launch(s, u);
  });
}

TEST(ArtifactConstraint, A21_ResultsHaveStorageOfTheirOwn) {
  expectRefused("cannot lie in the arena", [](Small &s) { s.plan().arena_bytes = s.four, s.step<format::AllocT>(0).arena_offset = s.one; });
  expectRefused("has no arena", [](Small &s) {
    auto &alloc = s.step<format::AllocT>(0);
    alloc.storage = format::StorageClass::Temporary, alloc.arena_offset = s.one;
  });
  expectRefused("only a result can begin inside", [](Small &s) {
    auto &alloc = s.step<format::AllocT>(0);
    alloc.storage = format::StorageClass::Temporary, alloc.offset = s.one;
  });
  expectRefused("only a temporary is larger", [](Small &s) { s.step<format::AllocT>(0).capacity = s.four; });
}

TEST(ArtifactConstraint, A22_BucketsAscendAndAreFew) {
  auto bucket = [](std::vector<int64_t> sizes, uint32_t count = 1) {
    return [=](Small &s) {
      for (uint32_t number = 0; number < count; ++number) {
        auto &one = *s.plan().buckets.emplace_back(std::make_unique<format::BucketT>());
        one.symbol = s.s0, one.dst = s.builder.newInt(), one.sizes = sizes;
      }
    };
  };
  Small good;
  bucket({1, 8, 64})(good);
  EXPECT_TRUE(use(good.pack()).isOk());
  expectRefused("do not ascend", bucket({8, 4}));
  expectRefused("do not ascend", bucket({}));
  expectRefused("a size of -1", bucket({-1, 4}));
  expectRefused("more than 64 sizes", bucket({1, 2, 3, 4}, 17));
  expectRefused("is of no symbol", [&](Small &s) { bucket({4})(s), s.plan().buckets[0]->symbol = s.holds; });
}

TEST(ArtifactConstraint, A23_GuardsLieSideBySide) {
  expectRefused("does not follow that of the guard before", [](Small &s) {
    s.plan().guards.push_back(std::make_unique<format::GuardT>());
    s.plan().guards[1]->holds = s.s0;
  });
  expectRefused("symbol 3 is not there", [](Small &s) { s.plan().guards[0]->symbols = {3}; });
  auto aligned = [](uint32_t bytes, uint32_t input) {
    return [=](Small &s) {
      auto &guard = *s.plan().guards[0];
      guard.kind = format::GuardKind::Aligned, guard.bytes = bytes, guard.input = input;
    };
  };
  expectRefused("no power of two", aligned(24, 0));
  expectRefused("no power of two", aligned(0, 0));
  expectRefused("input 5 is no tensor", aligned(16, 5));
}

TEST(ArtifactConstraint, A24_LaunchesAreSuchAsDevicesTake) {
  auto block = [](uint32_t x, uint32_t y, uint32_t z) {
    return [=](Small &s) {
      auto &launch = *s.plan().kernels[0]->variants[0]->launches[0];
      launch.block_x = x, launch.block_y = y, launch.block_z = z;
    };
  };
  expectRefused("a block of (0, 1, 1) threads", block(0, 1, 1));
  expectRefused("a block of (1025, 1, 1) threads", block(1025, 1, 1));
  expectRefused("a block of (64, 32, 1) threads", block(64, 32, 1));
  expectRefused("a block of (1, 1, 65) threads", block(1, 1, 65));
  expectRefused("a block of (65536, 65536, 1) threads", block(65536, 65536, 1));
  expectRefused("bytes of shared memory", [](Small &s) { s.plan().kernels[0]->variants[0]->launches[0]->shared_bytes = (227 << 10) + 1; });
  for (uint32_t blocks : {0u, 3u, 16u}) {
    expectRefused("a cluster of " + std::to_string(blocks) + " blocks",
                  [=](Small &s) { s.plan().kernels[0]->variants[0]->launches[0]->cluster_x = blocks; });
  }
  expectRefused("a grain of 0 units", [](Small &s) { s.plan().kernels[0]->variants[0]->launches[0]->grain = 0; });
  expectRefused("no variant", [](Small &s) { s.plan().kernels[0]->variants.clear(); });
  expectRefused("a launch without an entry", [](Small &s) { s.plan().kernels[0]->variants[0]->launches[0]->entry.clear(); });
  expectRefused("1 variants, its use 0", [](Small &s) { s.step<format::LaunchT>(1).variants.clear(); });
  expectRefused("number of launches", [](Small &s) { s.step<format::LaunchT>(1).variants[0]->launches.clear(); });
  expectRefused("the last variant must run always", [](Small &s) { s.step<format::LaunchT>(1).variants[0]->guard = s.holds; });
  // Two items: k(x) and k(w).
  auto list = [](const std::function<void(Small &, format::LaunchT &, format::KernelLaunchT &)> &damage) {
    return [=](Small &s) {
      auto &use = s.step<format::LaunchT>(1);
      use.items = 2, use.tensors = {s.x, s.y, s.w, s.y}, use.ints = {s.s0, s.four}, use.floats = {s.half, s.half};
      use.variants[0]->launches.emplace_back(std::make_unique<format::LaunchSizesT>())->x = s.four;
      auto &launch = *s.plan().kernels[0]->variants[0]->launches[0];
      launch.list_items = 3;
      if (s.plan().target == format::Target::Gpu) {
        s.setCode(kListPtx);
      }
      damage(s, use, launch);
    };
  };
  for (format::Target target : {format::Target::Cpu, format::Target::Gpu}) {
    Small good(target);
    list([](Small &, format::LaunchT &, format::KernelLaunchT &) {})(good);
    Status status = use(good.pack());
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  auto onGpu = [&](std::string_view part, const auto &damage) { expectRefused(part, list(damage), format::Target::Gpu); };
  onGpu("2 items for a kernel that takes 1", [](Small &, auto &, auto &launch) { launch.list_items = 1; });
  onGpu("2 items for a kernel that takes 0", [](Small &, auto &, auto &launch) { launch.list_items = 0; });
  onGpu("0 items for a kernel that takes 3", [](Small &, auto &use, auto &) { use.items = 0; });
  onGpu("a table of 100000 items of 40 bytes (limit 32760 bytes)", [](Small &, auto &, auto &launch) { launch.list_items = 100000; });
  onGpu("takes a table of 120 bytes, a launch passes 160", [](Small &, auto &, auto &launch) { launch.list_items = 4; });
  expectRefused("do not share the registers of a launch evenly", list([](Small &s, auto &use, auto &) { use.ints.push_back(s.s0); }));
  expectRefused("number of launches", list([](Small &, auto &use, auto &) { use.variants[0]->launches.pop_back(); }));
  expectRefused("a workspace for a list", list([](Small &s, auto &use, auto &) { use.variants[0]->workspace = s.s0; }));
  expectRefused("items for a kernel of several launches", list([](Small &s, auto &, auto &) {
                  auto &launches = s.plan().kernels[0]->variants[0]->launches;
                  launches.push_back(std::make_unique<format::KernelLaunchT>(*launches[0]));
                }));
}

TEST(ArtifactConstraint, A25_HostCodeIsThereForThisMachine) {
  expectRefused("entry 'k' is missing", [](Small &s) { s.artifact.images[0]->entries.clear(); });
  Small other;
  other.artifact.images[0]->level = "x86-64-v9";
  expectError(use(other.pack()), "cannot run the artifact's code (x86-64-v9: it lacks x86-64-v9)", ErrorKind::Unsupported);
  Small newer;
  newer.artifact.images[0]->features = {"avx2", "avx9000", "qubits"};
  expectError(use(newer.pack()), "(x86-64-v3,+avx2,+avx9000,+qubits: it lacks avx9000, qubits); compile it again with --target=cpu:x86-64-v3",
              ErrorKind::Unsupported);
  // Of several images the first that the machine can run; what it cannot run is never mapped. Its code would leave an error.
  for (bool withPlans : {false, true}) {
    Small several;
    several.addImage("x86-64-v3");
    several.artifact.images[0]->features = {"qubits"};
    several.artifact.images[0]->bytes = {0x0f, 0x0b};
    if (withPlans) {
      several.plan().image = 0;
      Small second;
      auto plan = second.builder.take();
      plan->image = 1;
      several.artifact.plans.push_back(std::move(plan));
    }
    Status status = use(several.pack());
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  // A plan of an image takes no other's entries.
  Small apart;
  apart.addImage("x86-64-v3");
  apart.artifact.images[0]->entries[0]->name = "other";
  apart.plan().image = 0;
  expectError(use(apart.pack()), "entry 'k' is missing");
}

TEST(ArtifactConstraint, A26_GpuCodeTakesWhatLaunchesPass) {
  auto gpu = [](std::string_view part, const std::function<void(Small &)> &damage) { expectRefused(part, damage, format::Target::Gpu); };
  auto replaced = [](std::string_view what, std::string_view with) {
    return [=](Small &s) {
      std::string text = kSmallPtx;
      text.replace(text.find(what), what.size(), with);
      s.setCode(text);
    };
  };
  gpu("takes the parameters 'iiiif', a launch passes 'iiif'", replaced(".param .f64", ".param .u64 more, .param .f64"));
  gpu("takes the parameters 'iiii', a launch passes 'iiif'", replaced(".f64", ".u64"));
  gpu("no number of 8 bytes", replaced(".u64 k_param_2", ".u32 k_param_2"));
  gpu("takes the parameters 'iitf', a launch passes 'iiif'", replaced(".u64 k_param_2", ".align 8 .b8 k_param_2[4000]"));
  gpu("no table of numbers of 8 bytes", replaced(".u64 k_param_2", ".align 4 .b8 k_param_2[4000]"));
  gpu("no table of numbers of 8 bytes", replaced(".u64 k_param_2", ".align 8 .b8 k_param_2[4001]"));
  gpu("no table of numbers of 8 bytes", replaced(".u64 k_param_2", ".align 8 .b8 k_param_2"));
  gpu("holds an array", replaced("k_param_2,", "k_param_2[500],"));
  gpu("runs with 64 threads a block, a launch has 128", replaced("128, 1, 1", "64, 1, 1"));
  gpu("runs in clusters of 4 blocks, a launch has 1", replaced(".maxntid", ".explicitcluster .reqnctapercluster 2, 2, 1 .maxntid"));
  gpu("runs in clusters of 1 blocks, a launch has 2", [](Small &s) { s.plan().kernels[0]->variants[0]->launches[0]->cluster_x = 2; });
  gpu("has no entry 'k'", replaced(".entry k(", ".entry other("));
  gpu("is not for sm_90", replaced("sm_90", "sm_80"));
  gpu("does not begin with .version", replaced(".version", ".verse"));
  gpu("holds a zero byte", replaced("made by hand", std::string_view("made\0by hand", 12)));
  gpu("has no body", replaced("{ { ret; } }", ""));
  // Cubins, which do not tell integers from floats.
  auto cubin = [](CubinEntry entry, const std::function<void(std::string &)> &damage = {}) {
    return [=](Small &s) {
      std::string bytes = cubinWith(entry);
      if (damage) {
        damage(bytes);
      }
      s.artifact.gpu_modules[0]->kind = format::GpuCodeKind::Cubin;
      s.setCode(bytes);
    };
  };
  auto infos = [](const std::vector<std::pair<std::string, std::string>> &entries) {
    return [=](Small &s) { s.artifact.gpu_modules[0]->kind = format::GpuCodeKind::Cubin, s.setCode(cubinWith(entries)); };
  };
  CubinEntry fitting{"k", {8, 8, 8, 8}};
  for (const CubinEntry &entry : {fitting, CubinEntry{"k", {8, 8}, 1024}, CubinEntry{"k", {}}}) {
    Small good(format::Target::Gpu);
    cubin(entry)(good);
    Status status = use(good.pack());
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  gpu("takes the parameters 'nnnnn', a launch passes 'iiif'", cubin({"k", {8, 8, 8, 8, 8}}));
  gpu("takes the parameters 't', a launch passes 'iiif'", cubin({"k", {120}}));
  gpu("takes a parameter of 4 bytes", cubin({"k", {8, 8, 4, 8}}));
  gpu("takes a parameter of 120 bytes", cubin({"k", {8, 120}}));
  gpu("runs with 64 threads a block, a launch has 128", cubin({"k", {8, 8, 8, 8}, 64}));
  gpu("runs in clusters of 4 blocks, a launch has 1", cubin({"k", {8, 8, 8, 8}, 128, 4}));
  gpu("the cubin for sm_90 has no entry 'k'", cubin({"other", {8, 8, 8, 8}}));
  gpu("the cubin for sm_90 has no entry 'k'", infos({}));
  std::string info = cubinInfo(fitting);
  gpu("has two entries 'k'", infos({{"k", info}, {"k", info}}));
  gpu("does not say of each parameter where it lies", infos({{"k", info.substr(16)}}));
  gpu("has 32 bytes of parameters, and says of 0", infos({{"k", info.substr(64)}}));
  gpu("has 0 bytes of parameters, and says of 32", infos({{"k", info.substr(0, 64)}}));
  gpu("ends inside of an attribute", infos({{"k", info + "\1"}}));
  gpu("of an unknown form or that does not end", infos({{"k", info + std::string("\5\0\0\0", 4)}}));
  gpu("of an unknown form or that does not end", infos({{"k", info + std::string("\4\x17\x08\0", 4) + std::string(8, '\0')}}));
  gpu("of an unknown form or that does not end", infos({{"k", info.substr(0, info.size() - 1)}}));
  auto numberAt = [](size_t at, uint64_t value, size_t bytes) { return [=](std::string &elf) { std::memcpy(elf.data() + at, &value, bytes); }; };
  gpu("no ELF file for a GPU", cubin(fitting, numberAt(18, 62, 2)));
  gpu("lie outside", cubin(fitting, numberAt(60, 40, 2)));
  gpu("lie outside", cubin(fitting, numberAt(40, UINT64_MAX, 8)));
  gpu("the names of its cubin's sections are not there", cubin(fitting, numberAt(62, 9, 2)));
  gpu("section 1 of its cubin lies outside of it", cubin(fitting, [](std::string &elf) {
        uint64_t table, huge = UINT64_MAX - 8;
        std::memcpy(&table, elf.data() + 40, 8);
        std::memcpy(elf.data() + table + 64 + 24, &huge, 8);
      }));
  gpu("no ELF file for a GPU", [](Small &s) { s.artifact.gpu_modules[0]->kind = format::GpuCodeKind::Cubin; });
}
