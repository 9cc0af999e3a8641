// The numbered rules of docs/Artifact.md for plans.

#include "tests/unit/runtime/Cubin.h"
#include "tests/unit/runtime/standalone/BrokenArtifact.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace frit;

TEST(ArtifactConstraint, A15_APlanSaysNoMoreThanItsBytesHold) {
  expectRefused("registers are more than", [](Small &s) { s.plan().int_count = 1 << 20; });
  expectRefused("registers are more than", [](Small &s) { s.plan().float_count = 0xffffffff; });
  // FlatBuffers lets all tensors of a plan share one list of sizes, and all programs of a plan one
  // program.
  flatbuffers::FlatBufferBuilder builder;
  auto sizes = builder.CreateVector(std::vector<uint32_t>(60, 0));
  std::vector<flatbuffers::Offset<format::Tensor>> tensors(
      2000,
      format::CreateTensor(builder, format::Dtype::F32, format::Device::Cpu, 60, sizes, sizes));
  auto list = builder.CreateVector(tensors);
  format::PlanBuilder plan(builder);
  plan.add_int_count(1);
  plan.add_tensors(list);
  auto plans = builder.CreateVector(std::vector{plan.Finish()});
  format::ArtifactBuilder artifact(builder);
  artifact.add_plans(plans);
  format::FinishArtifactBuffer(builder, artifact.Finish());
  expectError(use(frameArtifact(
                  {reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()})),
              "says more than its");
  // Parts may share texts.
  auto calls = [](size_t number, size_t bytes) {
    Small small;
    for (size_t at = 0; at < number; ++at) {
      auto &call = small.builder.step<format::AtenT>();
      call.name = "aten::a_long_name_of_an_operator", call.reason = std::string(bytes, 'r');
      auto &text = *call.arguments.emplace_back(std::make_unique<format::ValueT>());
      text.kind = format::ValueKind::String, text.string = std::string(bytes, 't');
    }
    return use(small.pack());
  };
  expectError(calls(100, 5000), "needs libtorch", ErrorKind::Unsupported);
  expectError(calls(100, 1 << 20), "texts of its calls have more than");
  // A long text is no name, although it was checked as a text.
  expectRefused("a name has 5000 bytes", [](Small &s) {
    s.builder.step<format::AtenT>().reason = std::string(5000, 'r');
    s.builder.step<format::AtenT>().name = std::string(5000, 'r');
  });
}

TEST(ArtifactConstraint, A16_WhatIsNamedExists) {
  expectRefused("tensor register 9 is not one of the plan's 4",
                [](Small &s) { s.step<format::AllocT>(0).tensor = 9; });
  expectRefused("int register 99 is not one of",
                [](Small &s) { s.step<format::AllocT>(0).bytes = 99; });
  expectRefused("float register 7 is not one of the plan's 1",
                [](Small &s) { s.step<format::LaunchT>(1).floats = {7}; });
  expectRefused("outside of its file", [](Small &s) {
    s.plan().programs[0]->code[0] = {format::Op::Mul, s.holds, 99, s.four, 0};
  });
  expectRefused("unknown operation 999", [](Small &s) {
    s.plan().programs[0]->code[0] = {static_cast<format::Op>(999), 0, 0, 0, 0};
  });
  expectRefused("size program 3", [](Small &s) { s.plan().size_program = 3; });
  expectRefused("kernel 5 is not there", [](Small &s) { s.step<format::LaunchT>(1).kernel = 5; });
  expectRefused("an input that is not there", [](Small &s) { s.plan().symbols[0]->input = 3; });
  expectRefused("no such size", [](Small &s) { s.plan().symbols[0]->dim = 1; });
  expectRefused("no such size",
                [](Small &s) { s.plan().symbols[0]->dim = 1, s.plan().symbols[0]->stride = true; });
  expectRefused("no such size", [](Small &s) {
    s.plan().inputs[0]->kind = format::InputKind::Int, s.plan().inputs[0]->reg = s.s0;
    s.plan().symbols[0]->dim = -1, s.plan().symbols[0]->stride = true;
  });
  expectRefused("its base has 1 sizes and 0 strides",
                [](Small &s) { s.plan().outputs[0]->base_sizes = {s.four}; });
  expectRefused("int register 99 is not one of", [](Small &s) {
    s.plan().outputs[0]->base_sizes = {s.four}, s.plan().outputs[0]->base_strides = {99};
  });
  expectRefused("scale 0", [](Small &s) { s.plan().symbols[0]->scale = 0; });
  expectRefused("source line 4 is not there", [](Small &s) { s.plan().kernels[0]->sources = {4}; });
  expectRefused("unknown kind",
                [](Small &s) { s.plan().inputs[0]->kind = static_cast<format::InputKind>(44); });
  expectRefused("unknown kind",
                [](Small &s) { s.plan().outputs[0]->kind = static_cast<format::OutputKind>(44); });
  expectRefused("unknown kind",
                [](Small &s) { s.plan().guards[0]->kind = static_cast<format::GuardKind>(44); });
  expectRefused("unknown dtype",
                [](Small &s) { s.plan().outputs[0]->dtype = static_cast<format::Dtype>(44); });
  expectRefused("unknown dtype",
                [](Small &s) { s.plan().tensors[0]->dtype = static_cast<format::Dtype>(44); });
  expectRefused("unknown storage class", [](Small &s) {
    s.step<format::AllocT>(0).storage = static_cast<format::StorageClass>(3);
  });
  expectRefused("neither r, w nor u", [](Small &s) { s.plan().kernels[0]->access = "rx"; });
}

TEST(ArtifactConstraint, A17_ConstantsStayAsTheyAre) {
  expectRefused("constant in int register", [](Small &s) {
    s.plan().programs[0]->code[0] = {format::Op::Mul, s.four, s.s0, s.four, 0};
  });
  expectRefused("constant in int register", [](Small &s) { s.plan().symbols[0]->reg = s.one; });
  expectRefused("constant in float register",
                [](Small &s) { s.builder.emitTo(s.program, s.half, format::Op::FNeg, s.half); });
  expectRefused("constant in int register", [](Small &s) {
    auto &step = s.builder.step<format::DimT>();
    step.tensor = s.y, step.dst = s.four;
  });
}

TEST(ArtifactConstraint, A18_RankSizesAndStridesFitEachOther) {
  expectRefused("do not fit each other", [](Small &s) { s.plan().tensors[s.y]->rank = 2; });
  expectRefused("do not fit each other",
                [](Small &s) { s.plan().tensors[s.y]->strides = {s.one, s.one}; });
  expectRefused("do not fit each other", [](Small &s) {
    format::TensorT &tensor = *s.plan().tensors[s.y];
    tensor.rank = 65, tensor.sizes.assign(65, s.one), tensor.strides.assign(65, s.one);
  });
  expectRefused("has no sizes or strides",
                [](Small &s) { s.plan().tensors[s.y]->strides.clear(); });
}

TEST(ArtifactConstraint, A19_ATensorIsWrittenOnceAndReadWhileItIsThere) {
  expectRefused("is read before it is written",
                [](Small &s) { std::swap(s.plan().steps[0], s.plan().steps[1]); });
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
  expectRefused("is not there any more",
                [](Small &s) { s.builder.step<format::FreeT>().tensor = s.y; });
}

TEST(ArtifactConstraint, A20_NoLookOutlivesItsMemory) {
  auto look = [](Small &s, uint32_t &t, uint32_t &v) {
    t = s.builder.newTensor(format::Dtype::F32, {s.one}, {s.one}),
    v = s.builder.newTensor(format::Dtype::F32, {s.one}, {s.one});
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
  expectRefused("a result lies in the arena", [](Small &s) {
    s.plan().arena_bytes = s.four, s.step<format::AllocT>(0).arena_offset = s.one;
  });
  expectRefused("has no arena", [](Small &s) {
    auto &alloc = s.step<format::AllocT>(0);
    alloc.storage = format::StorageClass::Temporary, alloc.arena_offset = s.one;
  });
  expectRefused("begins inside of its storage", [](Small &s) {
    auto &alloc = s.step<format::AllocT>(0);
    alloc.storage = format::StorageClass::Temporary, alloc.offset = s.one;
  });
  expectRefused("a result has a capacity",
                [](Small &s) { s.step<format::AllocT>(0).capacity = s.four; });
}

TEST(ArtifactConstraint, A22_BucketsAscendAndAreFew) {
  auto bucket = [](const std::vector<int64_t> &sizes, uint32_t count = 1) {
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
  expectRefused("the size -1", bucket({-1, 4}));
  expectRefused("more than 64 sizes", bucket({1, 2, 3, 4}, 17));
  expectRefused("is no symbol that it can round up",
                [&](Small &s) { bucket({4})(s), s.plan().buckets[0]->symbol = s.holds; });
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
  expectRefused("bytes of shared memory", [](Small &s) {
    s.plan().kernels[0]->variants[0]->launches[0]->shared_bytes = (227 << 10) + 1;
  });
  for (uint32_t blocks : {0u, 3u, 16u}) {
    expectRefused("a cluster of " + std::to_string(blocks) + " blocks", [=](Small &s) {
      s.plan().kernels[0]->variants[0]->launches[0]->cluster_x = blocks;
    });
  }
  expectRefused("a grain of 0 units",
                [](Small &s) { s.plan().kernels[0]->variants[0]->launches[0]->grain = 0; });
  expectRefused("no variant", [](Small &s) { s.plan().kernels[0]->variants.clear(); });
  expectRefused("a launch has no entry",
                [](Small &s) { s.plan().kernels[0]->variants[0]->launches[0]->entry.clear(); });
  expectRefused("1 variants, its use 0",
                [](Small &s) { s.step<format::LaunchT>(1).variants.clear(); });
  expectRefused("number of launches",
                [](Small &s) { s.step<format::LaunchT>(1).variants[0]->launches.clear(); });
  expectRefused("the last variant must run always",
                [](Small &s) { s.step<format::LaunchT>(1).variants[0]->guard = s.holds; });
  // Two items: k(x) and k(w).
  auto list =
      [](const std::function<void(Small &, format::LaunchT &, format::KernelLaunchT &)> &damage) {
        return [=](Small &s) {
          auto &use = s.step<format::LaunchT>(1);
          use.items = 2, use.tensors = {s.x, s.y, s.w, s.y}, use.ints = {s.s0, s.four},
          use.floats = {s.half, s.half};
          use.variants[0]->launches.emplace_back(std::make_unique<format::LaunchSizesT>())->x =
              s.four;
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
  auto onGpu = [&](std::string_view part, const auto &damage) {
    expectRefused(part, list(damage), format::Target::Gpu);
  };
  onGpu("2 items for a kernel that takes 1",
        [](Small &, auto &, auto &launch) { launch.list_items = 1; });
  onGpu("2 items for a kernel that takes 0",
        [](Small &, auto &, auto &launch) { launch.list_items = 0; });
  onGpu("0 items for a kernel that takes 3", [](Small &, auto &use, auto &) { use.items = 0; });
  onGpu("a table of 100000 items of 40 bytes (limit 32760 bytes)",
        [](Small &, auto &, auto &launch) { launch.list_items = 100000; });
  onGpu("takes a table of 120 bytes, a launch passes 160",
        [](Small &, auto &, auto &launch) { launch.list_items = 4; });
  expectRefused("do not share the registers of a launch evenly",
                list([](Small &s, auto &use, auto &) { use.ints.push_back(s.s0); }));
  expectRefused("number of launches",
                list([](Small &, auto &use, auto &) { use.variants[0]->launches.pop_back(); }));
  expectRefused("a list of items has a workspace",
                list([](Small &s, auto &use, auto &) { use.variants[0]->workspace = s.s0; }));
  expectRefused("items for a kernel of several launches", list([](Small &s, auto &, auto &) {
                  auto &launches = s.plan().kernels[0]->variants[0]->launches;
                  launches.push_back(std::make_unique<format::KernelLaunchT>(*launches[0]));
                }));
}

TEST(ArtifactConstraint, A25_HostCodeIsThereForThisMachine) {
  expectRefused("entry 'k' is missing", [](Small &s) { s.artifact.images[0]->entries.clear(); });
  Small other;
  other.artifact.images[0]->level = "x86-64-v9";
  expectError(use(other.pack()), "cannot run the artifact's code (x86-64-v9: it lacks x86-64-v9)",
              ErrorKind::Unsupported);
  Small newer;
  newer.artifact.images[0]->features = {"avx2", "avx9000", "qubits"};
  expectError(use(newer.pack()),
              "(x86-64-v3,+avx2,+avx9000,+qubits: it lacks avx9000, qubits); compile it again with "
              "--target=cpu:x86-64-v3",
              ErrorKind::Unsupported);
  // Of several images, the first that the machine can run is used; others are never mapped. Their
  // code would report an error.
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
  // A plan for an image does not use entries of another.
  Small apart;
  apart.addImage("x86-64-v3");
  apart.artifact.images[0]->entries[0]->name = "other";
  apart.plan().image = 0;
  expectError(use(apart.pack()), "entry 'k' is missing");
}

TEST(ArtifactConstraint, A26_GpuCodeTakesWhatLaunchesPass) {
  auto gpu = [](std::string_view part, const std::function<void(Small &)> &damage) {
    expectRefused(part, damage, format::Target::Gpu);
  };
  auto replaced = [](std::string_view what, std::string_view with) {
    return [=](Small &s) {
      std::string text = kSmallPtx;
      text.replace(text.find(what), what.size(), with);
      s.setCode(text);
    };
  };
  gpu("takes the parameters 'iiiif', a launch passes 'iiif'",
      replaced(".param .f64", ".param .u64 more, .param .f64"));
  gpu("takes the parameters 'iiii', a launch passes 'iiif'", replaced(".f64", ".u64"));
  gpu("no number of 8 bytes", replaced(".u64 k_param_2", ".u32 k_param_2"));
  gpu("takes the parameters 'iitf', a launch passes 'iiif'",
      replaced(".u64 k_param_2", ".align 8 .b8 k_param_2[4000]"));
  gpu("no table of numbers of 8 bytes", replaced(".u64 k_param_2", ".align 4 .b8 k_param_2[4000]"));
  gpu("no table of numbers of 8 bytes", replaced(".u64 k_param_2", ".align 8 .b8 k_param_2[4001]"));
  gpu("no table of numbers of 8 bytes", replaced(".u64 k_param_2", ".align 8 .b8 k_param_2"));
  gpu("holds an array", replaced("k_param_2,", "k_param_2[500],"));
  gpu("runs with 64 threads a block, a launch has 128", replaced("128, 1, 1", "64, 1, 1"));
  gpu("runs in clusters of 4 blocks, a launch has 1",
      replaced(".maxntid", ".explicitcluster .reqnctapercluster 2, 2, 1 .maxntid"));
  gpu("runs in clusters of 1 blocks, a launch has 2",
      [](Small &s) { s.plan().kernels[0]->variants[0]->launches[0]->cluster_x = 2; });
  gpu("has no entry 'k'", replaced(".entry k(", ".entry other("));
  gpu("is not for sm_90", replaced("sm_90", "sm_80"));
  gpu("does not begin with .version", replaced(".version", ".verse"));
  gpu("holds a zero byte", replaced("made by hand", std::string_view("made\0by hand", 12)));
  gpu("has no body", replaced("{ { ret; } }", ""));
  // Cubins, which do not distinguish integers from floats.
  auto cubin = [](const CubinEntry &entry, const std::function<void(std::string &)> &damage = {}) {
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
    return [=](Small &s) {
      s.artifact.gpu_modules[0]->kind = format::GpuCodeKind::Cubin, s.setCode(cubinWith(entries));
    };
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
  gpu("of an unknown form or that does not end",
      infos({{"k", info + std::string("\4\x17\x08\0", 4) + std::string(8, '\0')}}));
  gpu("of an unknown form or that does not end", infos({{"k", info.substr(0, info.size() - 1)}}));
  auto numberAt = [](size_t at, uint64_t value, size_t bytes) {
    return [=](std::string &elf) { std::memcpy(elf.data() + at, &value, bytes); };
  };
  gpu("no ELF file for a GPU", cubin(fitting, numberAt(18, 62, 2)));
  gpu("lie outside", cubin(fitting, numberAt(60, 40, 2)));
  gpu("lie outside", cubin(fitting, numberAt(40, UINT64_MAX, 8)));
  gpu("the names of its cubin's sections are not there", cubin(fitting, numberAt(62, 9, 2)));
  gpu("section 1 of its cubin lies outside of it", cubin(fitting, [](std::string &elf) {
        uint64_t table, huge = UINT64_MAX - 8;
        std::memcpy(&table, elf.data() + 40, 8);
        std::memcpy(elf.data() + table + 64 + 24, &huge, 8);
      }));
  gpu("no ELF file for a GPU",
      [](Small &s) { s.artifact.gpu_modules[0]->kind = format::GpuCodeKind::Cubin; });
}
