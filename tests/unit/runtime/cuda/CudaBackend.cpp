// The CUDA executor against a driver that follows a script: which code it loads, how it launches, and what it says and does for
// each thing that can go wrong. No GPU, no driver, no CUDA headers.

#include "runtime/artifact/ArtifactBuilder.h"
#include "runtime/cuda/CudaBackend.h"
#include "runtime/plan/PlanExecutor.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

using namespace frit;

namespace {

struct FakeDriver {
  int version = 13000, major = 9, minor = 0;
  void *context = reinterpret_cast<void *>(0x1000);
  int capturing = 0;
  DriverCode initCode = 0, launchCode = 0, syncCode = 0;
  /// Answer to loading an image, by its first bytes.
  std::map<std::string, DriverCode> loadCodes;
  /// The k-th call that may fail for lack of memory does.
  int failMemoryAt = -1, memoryCalls = 0;
  std::vector<std::string> log;
  std::vector<int64_t> lastInts;
  std::vector<void *> lastPointers;
  unsigned grid[3] = {};
  void *stream = nullptr;
};
FakeDriver fake;

constexpr size_t kElfHeader = 64;

/// What pieces of code are told apart by: the first comment of PTX, what stands behind the header of a cubin.
std::string labelOf(const char *image) {
  return *image == '\x7f' ? image + kElfHeader : std::string(image + 3, std::strchr(image, '\n'));
}

/// Code that a reader lets through: PTX with one entry for three parameters, or an ELF header of a GPU without sections.
std::string codeOf(format::GpuCodeKind kind, uint32_t arch, const std::string &label) {
  if (kind == format::GpuCodeKind::Ptx) {
    return "// " + label + "\n.version 8.0\n.target sm_" + std::to_string(arch) +
           "\n.visible .entry frit_add_entry(.param .u64 .ptr .global .align 1 a, .param .u64 b, .param .u64 n)\n.maxntid 128, 1, 1\n{ ret; }\n";
  }
  std::string elf(kElfHeader, '\0');
  elf.replace(0, 6, "\x7f" "ELF\2\1");
  elf[18] = static_cast<char>(190);
  return elf + label;
}

bool noMemory() { return fake.memoryCalls++ == fake.failMemoryAt; }

DriverTable fakeTable() {
  DriverTable table;
  table.cuInit = [](unsigned) { return fake.initCode; };
  table.cuDriverGetVersion = [](int *version) { return *version = fake.version, 0; };
  table.cuGetErrorName = [](DriverCode code, const char **text) {
    *text = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : code == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU" : "CUDA_ERROR";
    return 0;
  };
  table.cuGetErrorString = [](DriverCode, const char **text) { return *text = "as scripted", 0; };
  table.cuCtxGetCurrent = [](DriverContext *context) { return *context = fake.context, 0; };
  table.cuCtxGetDevice = [](int *device) { return *device = 0, 0; };
  table.cuDeviceGetAttribute = [](int *value, int attribute, int) {
    return *value = attribute == 75 ? fake.major : fake.minor, 0;
  };
  table.cuModuleLoadDataEx = [](DriverModule *module, const void *image, unsigned, int *, void **values) -> DriverCode {
    std::string text = labelOf(static_cast<const char *>(image));
    fake.log.push_back("load " + text);
    if (noMemory()) {
      return 2;
    }
    auto found = fake.loadCodes.find(text);
    if (found != fake.loadCodes.end() && found->second != 0) {
      std::strcpy(static_cast<char *>(values[0]), "line 3: syntax\nerror");
      return found->second;
    }
    *module = reinterpret_cast<DriverModule>(fake.log.size());
    return 0;
  };
  table.cuModuleUnload = [](DriverModule) { return fake.log.push_back("unload"), 0; };
  table.cuModuleGetFunction = [](DriverFunction *function, DriverModule module, const char *name) -> DriverCode {
    fake.log.push_back(std::string("function ") + name);
    *function = module;
    return 0;
  };
  table.cuFuncSetAttribute = [](DriverFunction, int attribute, int value) {
    return fake.log.push_back("attribute " + std::to_string(attribute) + " = " + std::to_string(value)), 0;
  };
  table.cuLaunchKernel = [](DriverFunction, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned, unsigned, unsigned shared,
                            DriverStream stream, void **parameters, void **) -> DriverCode {
    fake.log.push_back("launch " + std::to_string(x) + " x " + std::to_string(bx) + " shared " + std::to_string(shared));
    fake.grid[0] = x, fake.grid[1] = y, fake.grid[2] = z;
    fake.stream = stream;
    fake.lastPointers = {*static_cast<void **>(parameters[0]), *static_cast<void **>(parameters[1])};
    fake.lastInts = {*static_cast<int64_t *>(parameters[2])};
    return noMemory() ? 2 : fake.launchCode;
  };
  table.cuStreamSynchronize = [](DriverStream) { return fake.syncCode; };
  table.cuStreamIsCapturing = [](DriverStream, int *status) { return *status = fake.capturing, 0; };
  return table;
}

/// Memory of the "device" is the host's; only what the executor needs for a plan without ATen calls.
class DeviceHost : public TensorHost {
public:
  void *allocateRaw(format::Device, uint64_t bytes) override { return std::malloc(bytes + 1); }
  void freeRaw(format::Device, void *memory) override { std::free(memory); }
  Status allocateTensor(const TensorShape &, TensorSlot &) override { return Status::ok(); }
  Status viewTensor(const TensorSlot &, const TensorShape &, int64_t, TensorSlot &) override { return Status::ok(); }
  void releaseTensor(void *) override {}
  void retainTensor(void *) override {}
  TensorView look(void *) override { return {}; }
  Status copyInto(const TensorSlot &, const TensorSlot &) override { return Status::ok(); }
  void bumpVersion(const TensorSlot &) override {}
  Status readItem(const TensorSlot &, int64_t *, double *) override { return Status::ok(); }
  Status wrapScalar(format::Dtype, int64_t, double, TensorSlot &) override { return Status::ok(); }
  Status callAten(uint32_t, RunState &) override { return Status::ok(); }
  void parallelFor(int64_t, int64_t, RangeBody, void *) override {}
  void *currentStream() override { return reinterpret_cast<void *>(0x77); }
  bool releaseCachedMemory() override { return ++releases, hasCache; }
  int releases = 0;
  bool hasCache = true;
};

struct Code {
  format::GpuCodeKind kind;
  uint32_t arch;
  const char *text;
};

/// Two temporaries and one kernel of `blocks` blocks over them.
std::string artifactWith(std::vector<Code> codes, int64_t blocks = 40, uint32_t shared = 0) {
  format::ArtifactT artifact;
  artifact.graph = "layer";
  PlanBuilder plan(format::Target::Gpu);
  uint32_t four = plan.intConstant(4), one = plan.intConstant(1), grid = plan.intConstant(blocks);
  uint32_t x = plan.newTensor(format::Dtype::F32, {one}, {one}, format::Device::Cuda);
  uint32_t y = plan.newTensor(format::Dtype::F32, {one}, {one}, format::Device::Cuda);
  auto kernel = std::make_unique<format::KernelT>();
  kernel->name = "frit_add";
  kernel->variants.push_back(std::make_unique<format::KernelVariantT>());
  auto launch = std::make_unique<format::KernelLaunchT>();
  launch->entry = "frit_add_entry";
  launch->block_x = 128;
  launch->shared_bytes = shared;
  kernel->variants[0]->launches.push_back(std::move(launch));
  plan.plan.kernels.push_back(std::move(kernel));
  for (uint32_t tensor : {x, y}) {
    auto &alloc = plan.step<format::AllocT>();
    alloc.tensor = tensor;
    alloc.bytes = four;
  }
  auto &step = plan.step<format::LaunchT>();
  step.tensors = {x, y};
  step.ints = {four};
  step.variants.push_back(std::make_unique<format::VariantSizesT>());
  step.variants[0]->launches.push_back(std::make_unique<format::LaunchSizesT>());
  step.variants[0]->launches[0]->x = grid;
  artifact.plans.push_back(plan.take());
  for (const Code &code : codes) {
    auto module = std::make_unique<format::GpuModuleT>();
    module->kind = code.kind;
    module->arch = code.arch;
    module->entries = {"frit_add_entry"};
    std::string text = codeOf(code.kind, code.arch, code.text);
    module->bytes.assign(text.begin(), text.end());
    artifact.gpu_modules.push_back(std::move(module));
  }
  return packArtifact(artifact);
}

constexpr auto kPtx = format::GpuCodeKind::Ptx;
constexpr auto kCubin = format::GpuCodeKind::Cubin;

struct Session {
  explicit Session(const std::string &bytes) {
    auto artifact = *Artifact::fromBytes({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
    auto decoded = DecodedPlan::decode(artifact, *artifact->plan(format::Target::Gpu));
    EXPECT_TRUE(decoded.isOk()) << decoded.status().message();
    driver = *Driver::create(fakeTable());
    backend = std::move(*CudaBackend::create(*decoded, driver));
    executor = std::make_unique<PlanExecutor>(*decoded, host, *backend);
  }
  Status run() { return executor->run({}, {}); }
  DeviceHost host;
  std::shared_ptr<Driver> driver;
  std::unique_ptr<CudaBackend> backend;
  std::unique_ptr<PlanExecutor> executor;
};

struct Cuda : testing::Test {
  void SetUp() override { fake = FakeDriver(); }
  static int count(const std::string &start) {
    int found = 0;
    for (const std::string &line : fake.log) {
      found += line.rfind(start, 0) == 0;
    }
    return found;
  }
};

} // namespace

TEST_F(Cuda, LoadsOnceAndLaunchesOnTheCurrentStream) {
  {
    Session session(artifactWith({{kPtx, 80, "ptx80"}, {kPtx, 90, "ptx90"}, {kCubin, 90, "cubin90"}, {kCubin, 80, "cubin80"}}));
    EXPECT_TRUE(fake.log.empty());
    ASSERT_TRUE(session.run().isOk());
    ASSERT_TRUE(session.run().isOk());
  }
  EXPECT_EQ(fake.log, (std::vector<std::string>{"load cubin90", "function frit_add_entry", "launch 40 x 128 shared 0",
                                                "launch 40 x 128 shared 0", "unload"}));
  EXPECT_EQ(fake.stream, reinterpret_cast<void *>(0x77));
  EXPECT_EQ(fake.lastInts, std::vector<int64_t>{4});
  EXPECT_EQ(fake.grid[1], 1u);
}

TEST_F(Cuda, NewerDeviceTakesTheNewestPtxItCanRun) {
  fake.major = 12;
  Session session(artifactWith({{kPtx, 80, "ptx80"}, {kPtx, 100, "ptx100"}, {kPtx, 90, "ptx90"}, {kCubin, 100, "cubin100"}}));
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(fake.log[0], "load ptx100");
}

TEST_F(Cuda, RefusedCubinFallsBackToPtx) {
  fake.loadCodes["cubin90"] = 209;
  Session session(artifactWith({{kCubin, 90, "cubin90"}, {kPtx, 90, "ptx90"}}));
  ASSERT_TRUE(session.run().isOk());
  EXPECT_EQ(fake.log[0], "load cubin90");
  EXPECT_EQ(fake.log[1], "load ptx90");
}

TEST_F(Cuda, BadPtxSaysWhere) {
  fake.loadCodes["ptx90"] = 218;
  Session session(artifactWith({{kPtx, 90, "ptx90"}}));
  Status status = session.run();
  EXPECT_EQ(status.message(), "loading the PTX for sm_90 (line 3: syntax error) (graph 'layer'): CUDA_ERROR (218): as scripted");
}

TEST_F(Cuda, NoCodeForTheDevice) {
  fake.major = 7;
  fake.minor = 5;
  Session session(artifactWith({{kCubin, 90, "cubin90"}, {kPtx, 80, "ptx80"}}));
  Status status = session.run();
  EXPECT_EQ(status.kind(), ErrorKind::Unsupported);
  EXPECT_NE(status.message().find("(sm_90, sm_80) has no kernel 'frit_add_entry' for this device of sm_75"), std::string::npos);
}

TEST_F(Cuda, MemoryIsAskedForTwice) {
  std::string bytes = artifactWith({{kPtx, 90, "ptx90"}});
  for (int failAt = 0; failAt < 2; ++failAt) {
    fake = FakeDriver();
    fake.failMemoryAt = failAt;
    Session session(bytes);
    EXPECT_TRUE(session.run().isOk()) << failAt;
    EXPECT_EQ(session.host.releases, 1);
    fake.memoryCalls = 0;
    fake.failMemoryAt = 0;
    session.host.hasCache = false;
    Status status = session.run();
    EXPECT_EQ(status.kind(), ErrorKind::OutOfMemory);
    fake.failMemoryAt = -1;
    EXPECT_TRUE(session.run().isOk());
  }
}

TEST_F(Cuda, StickyErrorsNameTheKernelAndAreNeverRetried) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}));
  fake.launchCode = 700;
  Status first = session.run();
  EXPECT_EQ(first.message(), "kernel frit_add, grid (40, 1, 1), block (128, 1, 1) (graph 'layer'): CUDA_ERROR_ILLEGAL_ADDRESS "
                             "(700): as scripted; the process's GPU state is lost, restart it (FRIT_CUDA_SYNC=1 names the "
                             "kernel at fault)");
  fake.launchCode = 0;
  int launches = count("launch");
  EXPECT_EQ(session.run().message(), first.message());
  EXPECT_EQ(count("launch"), launches);
}

TEST_F(Cuda, AnIndexOutOfRangeIsSaidToBeOne) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}));
  fake.launchCode = 715;
  EXPECT_NE(session.run().message().find("index out of range"), std::string::npos);
}

TEST_F(Cuda, SynchronousModeFindsLateErrors) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}));
  fake.syncCode = 719;
  EXPECT_TRUE(session.run().isOk());
  session.backend->synchronous = true;
  EXPECT_NE(session.run().message().find("kernel frit_add"), std::string::npos);
}

TEST_F(Cuda, FirstCallInsideACaptureIsRefusedBeforeItBreaksTheCapture) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}));
  fake.capturing = 1;
  EXPECT_NE(session.run().message().find("call it once before capturing"), std::string::npos);
  EXPECT_EQ(count("load"), 0);
  fake.capturing = 0;
  EXPECT_TRUE(session.run().isOk());
  fake.capturing = 1;
  EXPECT_TRUE(session.run().isOk());
}

TEST_F(Cuda, EachContextHasItsModules) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}));
  for (uintptr_t context : {0x1000, 0x2000, 0x1000, 0x2000}) {
    fake.context = reinterpret_cast<void *>(context);
    ASSERT_TRUE(session.run().isOk());
  }
  EXPECT_EQ(count("load"), 2);
  fake.context = nullptr;
  EXPECT_NE(session.run().message().find("no CUDA context"), std::string::npos);
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

TEST_F(Cuda, ForkedChildrenAreTold) {
  Session session(artifactWith({{kPtx, 90, "ptx90"}}));
  ASSERT_TRUE(session.run().isOk());
  pid_t child = fork();
  if (child == 0) {
    Status status = session.run();
    _exit(!status.isOk() && status.message().find("forked") != std::string::npos ? 0 : 1);
  }
  int code = 1;
  waitpid(child, &code, 0);
  EXPECT_EQ(code, 0);
}

TEST_F(Cuda, DriversThatCannotBeUsed) {
  fake.initCode = 100;
  EXPECT_NE(Driver::create(fakeTable()).status().message().find("no usable CUDA driver"), std::string::npos);
  fake.initCode = 0;
  fake.version = 11040;
  EXPECT_NE(Driver::create(fakeTable()).status().message().find("supports CUDA 11.4, frit needs 12.0"), std::string::npos);
}
