// Shared by the tests with the scripted driver: a host whose "device" memory is the CPU's and can
// be exhausted, and artifacts with GPU plans.

#pragma once

#include "runtime/artifact/ArtifactBuilder.h"
#include "runtime/cuda/CudaBackend.h"
#include "runtime/plan/PlanExecutor.h"
#include "runtime/standalone/StandaloneHost.h"
#include "tests/unit/runtime/cuda/ScriptedDriver.h"

#include <gtest/gtest.h>

#include <set>

namespace fakecuda {

/// Tensors in the memory of torch's captures, of all hosts, with their end addresses.
inline std::vector<std::pair<std::weak_ptr<char>, char *>> inPool;
/// The storages that DeviceHost::keepTensor holds.
inline std::multiset<const void *> heldStorages;

/// frit-run's host instead of torch's: its memory represents the device's, and the k-th allocation
/// can fail.
class DeviceHost : public TensorHost {
public:
  explicit DeviceHost(const DecodedPlan &plan) {
    // Calls of operators fail only when they run.
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
      auto memory = std::shared_ptr<char>(fromPool(bytes), [pool = pool](char *) {});
      inPool.emplace_back(memory, memory.get() + bytes);
      char *first = memory.get() + static_cast<uint64_t>(shape.offset) * bytesOf(shape.dtype);
      slot.handle = new HostTensor{memory,
                                   first,
                                   shape.offset,
                                   {shape.sizes.begin(), shape.sizes.end()},
                                   {shape.strides.begin(), shape.strides.end()},
                                   shape.dtype,
                                   bytes};
      slot.data = first;
      return Status::ok();
    }
    return inner->allocateTensor(shape, slot);
  }
  Status viewTensor(const TensorSlot &source, const TensorShape &shape, int64_t offset,
                    TensorSlot &slot) override {
    ++held;
    return inner->viewTensor(source, shape, offset, slot);
  }
  std::shared_ptr<KeptTensor> keepTensor(void *handle) override {
    return std::make_shared<Kept>(*static_cast<HostTensor *>(handle));
  }
  bool showsKeptTensors() const override { return showsKept; }
  void releaseTensor(void *handle) override { --held, inner->releaseTensor(handle); }
  void retainTensor(void *handle) override { ++held, inner->retainTensor(handle); }
  TensorView viewOf(void *handle) override {
    TensorView view = inner->viewOf(handle);
    view.device = view.rank == 0 ? format::Device::Cpu : format::Device::Cuda;
    auto placed = places.find(handle);
    view.deviceIndex = placed == places.end() ? 0 : placed->second;
    return view;
  }
  Status copyInto(const TensorSlot &to, const TensorSlot &from) override {
    ++copies;
    if (!isCaptured(stream)) {
      return inner->copyInto(to, from);
    }
    TensorView view = viewOf(to.handle);
    EXPECT_EQ(view.strides[0], 1);
    fake.recorded.push_back([to = to.data, from = from.data,
                             bytes = static_cast<size_t>(view.sizes[0]) * bytesOf(view.dtype)] {
      std::memcpy(to, from, bytes);
    });
    return Status::ok();
  }
  void bumpVersion(const TensorSlot &) override { ++bumps; }
  Status readItem(const TensorSlot &tensor, int64_t *integer, double *real) override {
    return inner->readItem(tensor, integer, real);
  }
  Status wrapScalar(format::Dtype dtype, int64_t integer, double real, TensorSlot &slot) override {
    return ++held, inner->wrapScalar(dtype, integer, real, slot);
  }
  Status callAten(uint32_t number, RunState &state) override {
    return aten ? aten(*this, number, state) : inner->callAten(number, state);
  }
  CallTraits traitsOf(uint32_t) const override { return traits; }
  void parallelFor(int64_t units, int64_t grain, RangeBody body, void *argument) override {
    inner->parallelFor(units, grain, body, argument);
  }
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
  /// Tensors on other devices than the first.
  std::map<void *, int> places;
  /// The effect of operators, and their properties.
  std::function<Status(DeviceHost &, uint32_t, RunState &)> aten;
  CallTraits traits;
  /// The memory pool while torch captures. Each capture uses it from its start.
  std::shared_ptr<std::vector<char>> pool;
  size_t poolUsed = 0;
  bool showsKept = false;

private:
  /// A new tensor over the same storage.
  struct Kept : KeptTensor {
    explicit Kept(const HostTensor &of)
        : tensor(new HostTensor{of.storage, of.data, of.offset, of.sizes, of.strides, of.dtype,
                                of.storageBytes, of.device}) {
      heldStorages.insert(begin());
    }
    ~Kept() override {
      heldStorages.erase(heldStorages.find(begin()));
      EXPECT_EQ(tensor->references.load(), 1);
      delete tensor;
    }
    void *handle() const override { return tensor; }
    const void *begin() const override { return tensor->storage.get(); }
    uint64_t bytes() const override { return tensor->storageBytes; }
    bool isShared() const override { return tensor->storage.use_count() > 1; }
    HostTensor *tensor;
  };

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
  auto storage = std::shared_ptr<char>(
      static_cast<char *>(std::aligned_alloc(64, (count * 4 + 64) / 64 * 64)), std::free);
  std::copy(values.begin(), values.end(), reinterpret_cast<float *>(storage.get()));
  return new HostTensor{storage, storage.get(),     0, {static_cast<int64_t>(count)},
                        {1},     format::Dtype::F32};
}

struct Code {
  format::GpuCodeKind kind;
  uint32_t arch;
  const char *text;
};
constexpr auto kPtx = format::GpuCodeKind::Ptx;
constexpr auto kCubin = format::GpuCodeKind::Cubin;

inline void addCode(format::ArtifactT &artifact, const std::vector<Code> &codes,
                    size_t parameters = 3, uint32_t tableBytes = 0) {
  for (const Code &code : codes) {
    auto module = std::make_unique<format::GpuModuleT>();
    module->kind = code.kind;
    module->arch = code.arch;
    module->entries = {"frit_add_entry"};
    std::string text = codeOf(code.kind, code.arch, code.text, parameters, tableBytes);
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
inline std::string artifactWith(const std::vector<Code> &codes, int64_t blocks = 40,
                                uint32_t shared = 0, int launches = 1) {
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

/// r0 = x + w, r1 = r0 + w, ... : `kernels` launches of c = a + b over s0 elements, the last into a
/// result. Temporaries are in an arena, except for the first, which has separate memory; each
/// launch needs a workspace.
inline std::string chainOf(int kernels) {
  format::ArtifactT artifact;
  artifact.graph = "chain";
  artifact.sources = {"model.py:6 in forward: return x + y"};
  PlanBuilder plan(format::Target::Gpu);
  uint32_t one = plan.intConstant(1), four = plan.intConstant(4), zero = plan.intConstant(0),
           s0 = plan.newInt();
  uint32_t program = plan.newProgram();
  uint32_t bytes = plan.emit(program, format::Op::Mul, s0, four);
  uint32_t twice = plan.emit(program, format::Op::Add, bytes, bytes);
  plan.plan.size_program = program;
  plan.plan.arena_bytes = twice;
  auto tensor = [&] {
    return plan.newTensor(format::Dtype::F32, {s0}, {one}, format::Device::Cuda);
  };
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
    reinterpret_cast<float *>(p[2])[at] =
        reinterpret_cast<float *>(p[0])[at] + reinterpret_cast<float *>(p[1])[at];
  }
}

struct Session {
  explicit Session(const std::string &bytes, JitLinkerSource linker = {}) {
    auto artifact =
        *Artifact::fromBytes({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
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
  /// Runs chainOf, and returns the result or an error.
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
