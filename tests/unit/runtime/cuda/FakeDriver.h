// A CUDA driver that follows a script, and what the tests around it share: a host whose "device" memory is the CPU's and that can
// run out of it, and artifacts with GPU plans. Launches run a loop in place of the kernel. No GPU, no driver, no CUDA headers.

#pragma once

#include "runtime/artifact/ArtifactBuilder.h"
#include "runtime/cuda/CudaBackend.h"
#include "runtime/plan/PlanExecutor.h"
#include "runtime/standalone/StandaloneHost.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <thread>

namespace fakecuda {

using namespace frit;

/// Parameters of a launch, copied when it was made: addresses, then numbers.
using Parameters = std::vector<uint64_t>;

/// A CUDA graph: what was launched and copied while a stream was captured.
using FakeGraph = std::vector<std::function<void()>>;

struct FakeDriver {
  int version = 13000, major = 9, minor = 0;
  void *context = reinterpret_cast<void *>(0x1000);
  /// Other contexts lie on devices of their own: number and compute capability.
  std::map<void *, std::array<int, 3>> devices;
  int capturing = 0;
  DriverCode initCode = 0, launchCode = 0;
  /// What a stream answers when it is asked, and after how many launches any launch fails with `lateCode`.
  DriverCode queryCode = 0, lateCode = 0;
  int lateAfter = -1;
  /// Answer to loading an image, by its label.
  std::map<std::string, DriverCode> loadCodes;
  /// The k-th call that may fail for lack of memory does.
  int failMemoryAt = -1, memoryCalls = 0;
  std::vector<std::string> log;
  int launches = 0;
  /// Of the last launch.
  Parameters parameters;
  unsigned grid[3] = {};
  void *stream = nullptr;
  /// What a kernel does; nothing where there is none.
  void (*kernel)(const Parameters &) = nullptr;
  /// Of every launch: addresses and then numbers.
  size_t pointers = 2, numbers = 1;
  /// The stream that is captured and what it got so far; answers to beginning, ending, making and launching.
  void *captured = nullptr;
  std::thread::id capturedBy;
  FakeGraph recorded;
  DriverCode beginCode = 0, endCode = 0, makeCode = 0, graphCode = 0;
  /// Something was done during a capture that would break it.
  std::string broken;
  /// What is captured is broken already: an operator waited. The capture has to be ended, and ends with an error.
  bool isInvalid = false;
  /// torch captures, and memory may be taken: it comes from a pool.
  bool hasPool = false;
  int liveGraphs = 0;
  /// For models without torch: GPUs, blocks of memory that are held, the answer to fetching.
  int deviceCount = 1;
  int blocks = 0;
  DriverCode fetchCode = 0;
};
inline FakeDriver fake;
inline std::mutex fakeLock;

inline void say(const std::string &line) {
  std::lock_guard<std::mutex> guard(fakeLock);
  fake.log.push_back(line);
}

inline bool isCaptured(void *stream) {
  std::lock_guard<std::mutex> guard(fakeLock);
  return stream && stream == fake.captured;
}

/// Other threads may: captures are those of a thread.
inline void notWhileCapturing(const char *what) {
  std::lock_guard<std::mutex> guard(fakeLock);
  if (fake.captured && fake.capturedBy == std::this_thread::get_id() && !fake.hasPool) {
    fake.broken = what;
  }
}

inline int count(const std::string &start) {
  std::lock_guard<std::mutex> guard(fakeLock);
  int found = 0;
  for (const std::string &line : fake.log) {
    found += line.rfind(start, 0) == 0;
  }
  return found;
}

constexpr size_t kElfHeader = 64;

/// What pieces of code are told apart by: the first comment of PTX, what stands behind the header of a cubin.
inline std::string labelOf(const char *image) {
  return *image == '\x7f' ? image + kElfHeader : std::string(image + 3, std::strchr(image, '\n'));
}

inline std::string cubinOf(const std::string &label) {
  std::string elf(kElfHeader, '\0');
  elf.replace(0, 6, "\x7f" "ELF\2\1");
  elf[18] = static_cast<char>(190);
  return elf + label;
}

/// Code that a reader lets through: PTX with one entry, or an ELF header of a GPU without sections.
inline std::string codeOf(format::GpuCodeKind kind, uint32_t arch, const std::string &label, size_t parameters = 3) {
  if (kind == format::GpuCodeKind::Cubin) {
    return cubinOf(label);
  }
  std::string list;
  for (size_t at = 0; at < parameters; ++at) {
    list += (at ? ", .param .u64 p" : ".param .u64 p") + std::to_string(at);
  }
  return "// " + label + "\n.version 8.0\n.target sm_" + std::to_string(arch) + "\n.address_size 64\n.visible .entry frit_add_entry(" + list +
         ")\n.maxntid 128, 1, 1\n{ ret; }\n";
}

inline bool noMemory() {
  std::lock_guard<std::mutex> guard(fakeLock);
  return fake.memoryCalls++ == fake.failMemoryAt;
}

inline DriverTable fakeTable() {
  DriverTable table;
  table.cuInit = [](unsigned) { return fake.initCode; };
  table.cuDriverGetVersion = [](int *version) { return *version = fake.version, 0; };
  table.cuGetErrorName = [](DriverCode code, const char **text) {
    *text = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : code == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU" : "CUDA_ERROR";
    return 0;
  };
  table.cuGetErrorString = [](DriverCode, const char **text) { return *text = "as scripted", 0; };
  table.cuCtxGetCurrent = [](DriverContext *context) { return *context = fake.context, 0; };
  table.cuCtxGetDevice = [](int *device) {
    auto own = fake.devices.find(fake.context);
    return *device = own == fake.devices.end() ? 0 : own->second[0], 0;
  };
  table.cuDeviceGetAttribute = [](int *value, int attribute, int device) {
    for (const auto &[context, own] : fake.devices) {
      if (own[0] == device) {
        return *value = own[attribute == 75 ? 1 : 2], 0;
      }
    }
    return *value = attribute == 75 ? fake.major : fake.minor, 0;
  };
  table.cuModuleLoadDataEx = [](DriverModule *module, const void *image, unsigned, int *, void **values) -> DriverCode {
    notWhileCapturing("a module is loaded");
    std::string text = labelOf(static_cast<const char *>(image));
    say("load " + text);
    if (noMemory()) {
      return 2;
    }
    auto found = fake.loadCodes.find(text);
    if (found != fake.loadCodes.end() && found->second != 0) {
      std::strcpy(static_cast<char *>(values[0]), "line 3: syntax\nerror");
      return found->second;
    }
    *module = reinterpret_cast<DriverModule>(0x5000);
    return 0;
  };
  table.cuModuleUnload = [](DriverModule) { return say("unload"), 0; };
  table.cuModuleGetFunction = [](DriverFunction *function, DriverModule module, const char *name) -> DriverCode {
    say(std::string("function ") + name);
    *function = module;
    return 0;
  };
  table.cuFuncSetAttribute = [](DriverFunction, int attribute, int value) {
    return say("attribute " + std::to_string(attribute) + " = " + std::to_string(value)), 0;
  };
  table.cuLaunchKernel = [](DriverFunction, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned, unsigned, unsigned shared,
                            DriverStream stream, void **parameters, void **) -> DriverCode {
    Parameters values;
    for (size_t at = 0; at < fake.pointers + fake.numbers; ++at) {
      values.push_back(*static_cast<uint64_t *>(parameters[at]));
    }
    if (isCaptured(stream)) {
      say("record " + std::to_string(x) + " x " + std::to_string(bx) + " shared " + std::to_string(shared));
      fake.recorded.push_back([values] { fake.kernel ? fake.kernel(values) : void(); });
      return fake.launchCode;
    }
    say("launch " + std::to_string(x) + " x " + std::to_string(bx) + " shared " + std::to_string(shared));
    if (noMemory()) {
      return 2;
    }
    {
      std::lock_guard<std::mutex> guard(fakeLock);
      fake.grid[0] = x, fake.grid[1] = y, fake.grid[2] = z;
      fake.stream = stream;
      fake.parameters = values;
      if (fake.lateAfter >= 0 && fake.launches >= fake.lateAfter) {
        return fake.lateCode;
      }
      ++fake.launches;
    }
    if (fake.kernel && fake.launchCode == 0) {
      fake.kernel(values);
    }
    return fake.launchCode;
  };
  table.cuDeviceGetCount = [](int *count) { return *count = fake.deviceCount, 0; };
  table.cuDeviceGet = [](int *device, int index) { return *device = index, 0; };
  table.cuDevicePrimaryCtxRetain = [](DriverContext *context, int) { return say("retain"), *context = reinterpret_cast<void *>(0x1000), 0; };
  table.cuDevicePrimaryCtxRelease = [](int) { return say("release"), 0; };
  table.cuCtxSetCurrent = [](DriverContext context) { return fake.context = context, 0; };
  table.cuMemAlloc = [](uint64_t *memory, size_t bytes) -> DriverCode {
    if (!fake.context || noMemory()) {
      return fake.context ? 2 : 201;
    }
    ++fake.blocks;
    *memory = reinterpret_cast<uint64_t>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    return 0;
  };
  table.cuMemFree = [](uint64_t memory) {
    --fake.blocks;
    std::free(reinterpret_cast<void *>(memory));
    return 0;
  };
  table.cuMemcpyHtoD = [](uint64_t to, const void *from, size_t bytes) {
    say("bring " + std::to_string(bytes));
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return fake.context ? 0 : 201;
  };
  table.cuMemcpyDtoH = [](void *to, uint64_t from, size_t bytes) -> DriverCode {
    say("fetch " + std::to_string(bytes));
    if (fake.fetchCode == 0) {
      std::memcpy(to, reinterpret_cast<void *>(from), bytes);
    }
    return fake.context ? fake.fetchCode : 201;
  };
  table.cuStreamQuery = [](DriverStream) { return notWhileCapturing("a stream is waited for"), say("query"), fake.queryCode; };
  table.cuStreamIsCapturing = [](DriverStream stream, int *status) {
    return *status = isCaptured(stream) && fake.isInvalid ? 2 : fake.capturing || isCaptured(stream), 0;
  };
  table.cuStreamCreate = [](DriverStream *stream, unsigned) {
    notWhileCapturing("a stream is made");
    return say("make stream"), *stream = reinterpret_cast<void *>(0x900), 0;
  };
  table.cuStreamDestroy = [](DriverStream) { return say("destroy stream"), 0; };
  table.cuStreamBeginCapture = [](DriverStream stream, int mode) -> DriverCode {
    say("begin " + std::to_string(mode));
    if (fake.beginCode == 0) {
      std::lock_guard<std::mutex> guard(fakeLock);
      fake.captured = stream;
      fake.capturedBy = std::this_thread::get_id();
      fake.recorded.clear();
    }
    return fake.beginCode;
  };
  table.cuStreamEndCapture = [](DriverStream, DriverGraph *graph) -> DriverCode {
    say("end");
    std::lock_guard<std::mutex> guard(fakeLock);
    fake.captured = nullptr;
    if (fake.endCode != 0 || fake.isInvalid) {
      return std::exchange(fake.isInvalid, false) ? 901 : fake.endCode;
    }
    ++fake.liveGraphs;
    *graph = new FakeGraph(std::move(fake.recorded));
    return 0;
  };
  table.cuGraphInstantiateWithFlags = [](DriverGraphExec *made, DriverGraph graph, unsigned long long) -> DriverCode {
    say("make graph");
    if (noMemory()) {
      return 2;
    }
    if (fake.makeCode == 0) {
      ++fake.liveGraphs;
      *made = new FakeGraph(*static_cast<FakeGraph *>(graph));
    }
    return fake.makeCode;
  };
  table.cuGraphLaunch = [](DriverGraphExec graph, DriverStream stream) -> DriverCode {
    say("graph");
    fake.stream = stream;
    if (noMemory()) {
      return 2;
    }
    for (const auto &node : fake.graphCode == 0 ? *static_cast<FakeGraph *>(graph) : FakeGraph()) {
      node();
    }
    return fake.graphCode;
  };
  table.cuGraphDestroy = [](DriverGraph graph) { return --fake.liveGraphs, delete static_cast<FakeGraph *>(graph), 0; };
  table.cuGraphExecDestroy = [](DriverGraphExec graph) {
    return say("destroy graph"), --fake.liveGraphs, delete static_cast<FakeGraph *>(graph), 0;
  };
  table.cuMemcpyDtoDAsync = [](uint64_t to, uint64_t from, size_t bytes, DriverStream stream) {
    auto copy = [=] { std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes); };
    if (isCaptured(stream)) {
      fake.recorded.push_back(copy);
    } else {
      say("copy " + std::to_string(bytes));
      copy();
    }
    return 0;
  };
  return table;
}

/// frit-run's host in the place of torch's: its memory is the device's, and the k-th request for memory can fail.
class DeviceHost : public TensorHost {
public:
  explicit DeviceHost(const DecodedPlan &plan) {
    // Calls of operators fail here when they are made and not before.
    DecodedPlan without = plan;
    without.atenCalls.clear();
    inner = std::move(*StandaloneHost::create(without, 1));
  }

  void *allocateRaw(format::Device where, uint64_t bytes) override {
    notWhileCapturing("memory is taken");
    if (requests++ == failAt) {
      return nullptr;
    }
    ++held;
    if (pool) {
      return fromPool(bytes);
    }
    return inner->allocateRaw(where, bytes);
  }
  void freeRaw(format::Device where, void *memory) override {
    notWhileCapturing("memory is given back");
    --held;
    if (pool && memory >= pool->data() && memory < pool->data() + pool->size()) {
      return;
    }
    inner->freeRaw(where, memory);
  }
  Status allocateTensor(const TensorShape &shape, TensorSlot &slot) override {
    notWhileCapturing("a tensor is made");
    if (requests++ == failAt) {
      return Status::error(ErrorKind::OutOfMemory, "out of memory");
    }
    ++held;
    if (pool) {
      int64_t elements = shape.offset + 1;
      for (size_t dim = 0; dim < shape.sizes.size(); ++dim) {
        elements += shape.sizes[dim] ? (shape.sizes[dim] - 1) * shape.strides[dim] : 0;
      }
      uint64_t bytes = static_cast<uint64_t>(elements) * bytesOf(shape.dtype);
      auto memory = std::shared_ptr<char>(pool, fromPool(bytes));
      char *first = memory.get() + static_cast<uint64_t>(shape.offset) * bytesOf(shape.dtype);
      slot.handle = new HostTensor{memory, first, shape.offset, {shape.sizes.begin(), shape.sizes.end()},
                                   {shape.strides.begin(), shape.strides.end()}, shape.dtype, bytes};
      slot.data = first;
      return Status::ok();
    }
    return inner->allocateTensor(shape, slot);
  }
  Status viewTensor(const TensorSlot &source, const TensorShape &shape, int64_t offset, TensorSlot &slot) override {
    ++held;
    return inner->viewTensor(source, shape, offset, slot);
  }
  void releaseTensor(void *handle) override { --held, inner->releaseTensor(handle); }
  void retainTensor(void *handle) override { ++held, inner->retainTensor(handle); }
  TensorView look(void *handle) override {
    TensorView view = inner->look(handle);
    view.device = view.rank == 0 ? format::Device::Cpu : format::Device::Cuda;
    auto placed = places.find(handle);
    view.deviceIndex = placed == places.end() ? 0 : placed->second;
    return view;
  }
  Status copyInto(const TensorSlot &to, const TensorSlot &from) override { return ++copies, inner->copyInto(to, from); }
  void bumpVersion(const TensorSlot &) override { ++bumps; }
  Status readItem(const TensorSlot &tensor, int64_t *integer, double *real) override { return inner->readItem(tensor, integer, real); }
  Status wrapScalar(format::Dtype dtype, int64_t integer, double real, TensorSlot &slot) override {
    return ++held, inner->wrapScalar(dtype, integer, real, slot);
  }
  Status callAten(uint32_t number, RunState &state) override {
    return aten ? aten(*this, number, state) : inner->callAten(number, state);
  }
  CallTraits traitsOf(uint32_t) const override { return traits; }
  void parallelFor(int64_t units, int64_t grain, RangeBody body, void *argument) override { inner->parallelFor(units, grain, body, argument); }
  void *currentStream() override { return stream; }
  bool releaseCachedMemory() override { return ++releases, hasCache; }
  void note(const std::string &text) override {
    std::lock_guard<std::mutex> guard(fakeLock);
    notes.push_back(text);
  }

  std::atomic<int> requests{0}, held{0}, copies{0}, bumps{0}, releases{0};
  int failAt = -1;
  bool hasCache = true;
  void *stream = reinterpret_cast<void *>(0x77);
  std::vector<std::string> notes;
  /// Tensors that lie on other devices than the first.
  std::map<void *, int> places;
  /// What operators do, and what is known of them.
  std::function<Status(DeviceHost &, uint32_t, RunState &)> aten;
  CallTraits traits;
  /// Where memory comes from while torch captures. It is used from its start by each capture.
  std::shared_ptr<std::vector<char>> pool;
  size_t poolUsed = 0;

private:
  char *fromPool(uint64_t bytes) {
    char *memory = pool->data() + poolUsed;
    poolUsed += (bytes + 64) / 64 * 64;
    EXPECT_LE(poolUsed, pool->size());
    return memory;
  }

  std::unique_ptr<StandaloneHost> inner;
};

inline HostTensor *newTensor(const std::vector<float> &values) {
  size_t count = values.size();
  auto storage = std::shared_ptr<char>(static_cast<char *>(std::aligned_alloc(64, (count * 4 + 64) / 64 * 64)), std::free);
  std::copy(values.begin(), values.end(), reinterpret_cast<float *>(storage.get()));
  return new HostTensor{storage, storage.get(), 0, {static_cast<int64_t>(count)}, {1}, format::Dtype::F32};
}

struct Code {
  format::GpuCodeKind kind;
  uint32_t arch;
  const char *text;
};
constexpr auto kPtx = format::GpuCodeKind::Ptx;
constexpr auto kCubin = format::GpuCodeKind::Cubin;

inline void addCode(format::ArtifactT &artifact, const std::vector<Code> &codes, size_t parameters = 3) {
  for (const Code &code : codes) {
    auto module = std::make_unique<format::GpuModuleT>();
    module->kind = code.kind;
    module->arch = code.arch;
    module->entries = {"frit_add_entry"};
    std::string text = codeOf(code.kind, code.arch, code.text, parameters);
    module->bytes.assign(text.begin(), text.end());
    artifact.gpu_modules.push_back(std::move(module));
  }
}

inline std::unique_ptr<format::KernelT> addKernel(uint32_t shared = 0) {
  auto kernel = std::make_unique<format::KernelT>();
  kernel->name = "frit_add";
  kernel->sources = {0};
  kernel->variants.push_back(std::make_unique<format::KernelVariantT>());
  auto launch = std::make_unique<format::KernelLaunchT>();
  launch->entry = "frit_add_entry";
  launch->block_x = 128;
  launch->shared_bytes = shared;
  kernel->variants[0]->launches.push_back(std::move(launch));
  return kernel;
}

/// Two temporaries and one kernel of `blocks` blocks over them.
inline std::string artifactWith(const std::vector<Code> &codes, int64_t blocks = 40, uint32_t shared = 0, int launches = 1) {
  format::ArtifactT artifact;
  artifact.graph = "layer";
  artifact.sources = {"model.py:6 in forward: return x + y"};
  PlanBuilder plan(format::Target::Gpu);
  uint32_t four = plan.intConstant(4), one = plan.intConstant(1), grid = plan.intConstant(blocks);
  uint32_t x = plan.newTensor(format::Dtype::F32, {one}, {one}, format::Device::Cuda);
  uint32_t y = plan.newTensor(format::Dtype::F32, {one}, {one}, format::Device::Cuda);
  plan.plan.kernels.push_back(addKernel(shared));
  for (uint32_t tensor : {x, y}) {
    auto &alloc = plan.step<format::AllocT>();
    alloc.tensor = tensor;
    alloc.bytes = four;
  }
  for (int number = 0; number < launches; ++number) {
    auto &step = plan.step<format::LaunchT>();
    step.kernel = 0;
    step.tensors = {x, y};
    step.ints = {four};
    step.variants.push_back(std::make_unique<format::VariantSizesT>());
    step.variants[0]->launches.push_back(std::make_unique<format::LaunchSizesT>());
    step.variants[0]->launches[0]->x = grid;
  }
  artifact.plans.push_back(plan.take());
  addCode(artifact, codes);
  return packArtifact(artifact);
}

/// r0 = x + w, r1 = r0 + w, ... : `kernels` launches of c = a + b over s0 elements, the last into a result. Temporaries lie in an arena,
/// but the first, which has memory of its own; each launch takes a workspace.
inline std::string chainOf(int kernels) {
  format::ArtifactT artifact;
  artifact.graph = "chain";
  artifact.sources = {"model.py:6 in forward: return x + y"};
  PlanBuilder plan(format::Target::Gpu);
  uint32_t one = plan.intConstant(1), four = plan.intConstant(4), zero = plan.intConstant(0), s0 = plan.newInt();
  uint32_t program = plan.newProgram();
  uint32_t bytes = plan.emit(program, format::Op::Mul, s0, four);
  uint32_t twice = plan.emit(program, format::Op::Add, bytes, bytes);
  plan.plan.size_program = program;
  plan.plan.arena_bytes = twice;
  auto tensor = [&] { return plan.newTensor(format::Dtype::F32, {s0}, {one}, format::Device::Cuda); };
  uint32_t x = tensor(), w = tensor();
  for (auto [reg, name] : {std::pair(x, "x"), {w, "w"}}) {
    auto input = std::make_unique<format::InputT>();
    input->reg = reg;
    input->name = name;
    plan.plan.inputs.push_back(std::move(input));
  }
  auto symbol = std::make_unique<format::SymbolT>();
  symbol->name = "s0";
  symbol->reg = s0;
  symbol->dim = 0;
  plan.plan.symbols.push_back(std::move(symbol));
  plan.plan.kernels.push_back(addKernel());
  uint32_t last = x;
  for (int number = 0; number < kernels; ++number) {
    uint32_t next = tensor();
    bool isResult = number + 1 == kernels;
    auto &alloc = plan.step<format::AllocT>();
    alloc.tensor = next;
    alloc.bytes = bytes;
    alloc.storage = isResult ? format::StorageClass::Output : format::StorageClass::Temporary;
    alloc.arena_offset = isResult || number == 0 ? kNoRegister : number % 2 ? zero : bytes;
    auto &step = plan.step<format::LaunchT>();
    step.tensors = {last, w, next};
    step.ints = {s0};
    step.variants.push_back(std::make_unique<format::VariantSizesT>());
    step.variants[0]->workspace = bytes;
    step.variants[0]->launches.push_back(std::make_unique<format::LaunchSizesT>());
    step.variants[0]->launches[0]->x = one;
    plan.step<format::FreeT>().tensor = last;
    last = next;
  }
  auto output = std::make_unique<format::OutputT>();
  output->reg = last;
  plan.plan.outputs.push_back(std::move(output));
  artifact.plans.push_back(plan.take());
  addCode(artifact, {{kPtx, 90, "ptx90"}}, 5);
  return packArtifact(artifact);
}

/// The kernel of chainOf.
inline void addOnHost(const Parameters &p) {
  for (uint64_t at = 0; at < p[3]; ++at) {
    reinterpret_cast<float *>(p[2])[at] = reinterpret_cast<float *>(p[0])[at] + reinterpret_cast<float *>(p[1])[at];
  }
}

struct Session {
  explicit Session(const std::string &bytes, JitLinkerSource linker = {}) {
    auto artifact = *Artifact::fromBytes({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
    auto decoded = DecodedPlan::decode(artifact, *artifact->plan(format::Target::Gpu));
    EXPECT_TRUE(decoded.isOk()) << decoded.status().message();
    plan = *decoded;
    driver = *Driver::create(fakeTable());
    inner = std::make_unique<DeviceHost>(*plan);
    backend = std::move(*CudaBackend::create(plan, driver, std::move(linker)));
    executor = std::make_unique<PlanExecutor>(plan, host(), *backend);
  }
  DeviceHost &host() { return *inner; }
  Status run() { return executor->run({}, {}); }
  /// Of chainOf: the result, or why there is none.
  Result<std::vector<float>> chain(const std::vector<float> &x, const std::vector<float> &w) {
    InputValue inputs[2];
    inputs[0].kind = inputs[1].kind = InputValue::Kind::Tensor;
    inputs[0].handle = newTensor(x);
    inputs[1].handle = newTensor(w);
    inner->held += 2;
    OutputValue output;
    if (Status status = executor->run(inputs, {&output, 1}); !status.isOk()) {
      EXPECT_EQ(output.handle, nullptr);
      return status;
    }
    auto *values = reinterpret_cast<float *>(static_cast<HostTensor *>(output.handle)->data);
    std::vector<float> result(values, values + x.size());
    inner->releaseTensor(output.handle);
    return result;
  }

  std::shared_ptr<const DecodedPlan> plan;
  std::unique_ptr<DeviceHost> inner;
  std::shared_ptr<Driver> driver;
  std::unique_ptr<CudaBackend> backend;
  std::unique_ptr<PlanExecutor> executor;
};

} // namespace fakecuda
