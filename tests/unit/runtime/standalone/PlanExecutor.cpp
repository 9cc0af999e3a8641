// The executor with plans written by hand and kernels written in C++: values, reuse, and leaks when
// memory runs out at any allocation. torch's host runs the same steps in
// tests/python/runtime/test_executable.py.

#include "runtime/artifact/ArtifactBuilder.h"
#include "runtime/artifact/KernelAbi.h"
#include "runtime/cpu/CpuBackend.h"
#include "runtime/standalone/StandaloneHost.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace frit;

namespace {

/// y = x + ints[0] for f32, split among threads like a real kernel.
class AddBackend : public KernelBackend {
public:
  Status launch(const KernelArguments &arguments, TensorHost &host) override {
    host.parallelFor(
        arguments.registers[arguments.variant->launches[0][0]], 16,
        [](void *argument, int64_t begin, int64_t end) {
          auto &arguments = *static_cast<const KernelArguments *>(argument);
          auto *x = static_cast<float *>(arguments.pointers[0]),
               *y = static_cast<float *>(arguments.pointers[1]);
          for (int64_t at = begin; at < end; ++at) {
            y[at] = x[at] + static_cast<float>(arguments.ints[0]);
          }
        },
        const_cast<KernelArguments *>(&arguments));
    launchedVariant = arguments.variantIndex;
    return Status::ok();
  }
  uint32_t launchedVariant = 99;
};

/// Allocates memory until the `failAt`-th request, and counts allocations in use.
struct CountingHost {
  int64_t failAt = -1, requests = 0, out = 0;
};
CountingHost counting;

class LimitedHost : public TensorHost {
public:
  explicit LimitedHost(TensorHost &inner) : inner(inner) {}
  void *allocateRaw(format::Device device, uint64_t bytes) override {
    if (counting.requests++ == counting.failAt) {
      return nullptr;
    }
    ++counting.out;
    return inner.allocateRaw(device, bytes);
  }
  void freeRaw(format::Device device, void *memory) override {
    --counting.out;
    inner.freeRaw(device, memory);
  }
  Status allocateTensor(const TensorShape &shape, TensorSlot &slot) override {
    if (counting.requests++ == counting.failAt) {
      return Status::error(ErrorKind::OutOfMemory, "out of memory");
    }
    ++counting.out;
    return inner.allocateTensor(shape, slot);
  }
  Status viewTensor(const TensorSlot &source, const TensorShape &shape, int64_t offset,
                    TensorSlot &slot) override {
    ++counting.out;
    return inner.viewTensor(source, shape, offset, slot);
  }
  void releaseTensor(void *handle) override {
    --counting.out;
    inner.releaseTensor(handle);
  }
  void retainTensor(void *handle) override {
    ++counting.out;
    inner.retainTensor(handle);
  }
  TensorView viewOf(void *handle) override { return inner.viewOf(handle); }
  Status copyInto(const TensorSlot &to, const TensorSlot &from) override {
    return inner.copyInto(to, from);
  }
  void bumpVersion(const TensorSlot &) override {}
  Status readItem(const TensorSlot &tensor, int64_t *integer, double *real) override {
    return inner.readItem(tensor, integer, real);
  }
  Status wrapScalar(format::Dtype dtype, int64_t integer, double real, TensorSlot &slot) override {
    ++counting.out;
    return inner.wrapScalar(dtype, integer, real, slot);
  }
  Status callAten(uint32_t number, RunState &state) override {
    return inner.callAten(number, state);
  }
  void parallelFor(int64_t units, int64_t grain, RangeBody body, void *argument) override {
    inner.parallelFor(units, grain, body, argument);
  }

private:
  TensorHost &inner;
};

void *makeTensor(std::vector<float> values) {
  size_t count = values.size();
  auto storage = std::shared_ptr<char>(
      static_cast<char *>(std::aligned_alloc(64, (count * 4 + 64) / 64 * 64)), std::free);
  std::copy(values.begin(), values.end(), reinterpret_cast<float *>(storage.get()));
  return new HostTensor{storage, storage.get(),     0, {static_cast<int64_t>(count)},
                        {1},     format::Dtype::F32};
}

/// t = x + 1 (bare memory); u = t + s0 (arena); v = u + 2 (in the storage of t); y = v + 2, z a
/// view of it.
std::string chain() {
  format::ArtifactT artifact;
  artifact.graph = "chain";
  PlanBuilder plan;
  uint32_t one = plan.intConstant(1), four = plan.intConstant(4), zero = plan.intConstant(0),
           two = plan.intConstant(2);
  uint32_t s0 = plan.newInt();
  uint32_t program = plan.newProgram();
  uint32_t bytes = plan.emit(program, format::Op::Mul, s0, four);
  uint32_t isLarge = plan.emit(program, format::Op::Gt, s0, plan.intConstant(100));
  plan.plan.size_program = program;
  plan.plan.arena_bytes = bytes;
  auto tensor = [&] { return plan.newTensor(format::Dtype::F32, {s0}, {one}); };
  uint32_t x = tensor(), t = tensor(), u = tensor(), v = tensor(), y = tensor(), z = tensor();

  auto input = std::make_unique<format::InputT>();
  input->reg = x;
  plan.plan.inputs.push_back(std::move(input));
  auto symbol = std::make_unique<format::SymbolT>();
  symbol->name = "s0";
  symbol->reg = s0;
  symbol->dim = 0;
  plan.plan.symbols.push_back(std::move(symbol));
  auto kernel = std::make_unique<format::KernelT>();
  for (int variant = 0; variant < 2; ++variant) {
    kernel->variants.push_back(std::make_unique<format::KernelVariantT>());
    kernel->variants.back()->launches.push_back(std::make_unique<format::KernelLaunchT>());
    kernel->variants.back()->launches.back()->entry = "k";
  }
  plan.plan.kernels.push_back(std::move(kernel));

  auto launch = [&](uint32_t from, uint32_t to, uint32_t number) {
    auto &step = plan.step<format::LaunchT>();
    step.tensors = {from, to};
    step.ints = {number};
    for (int variant = 0; variant < 2; ++variant) {
      auto sizes = std::make_unique<format::VariantSizesT>();
      sizes->guard = variant == 0 ? isLarge : kNoRegister;
      sizes->workspace = variant == 0 ? kNoRegister : bytes;
      sizes->launches.push_back(std::make_unique<format::LaunchSizesT>());
      sizes->launches.back()->x = s0;
      step.variants.push_back(std::move(sizes));
    }
  };
  auto alloc = [&](uint32_t number, format::StorageClass storage, uint32_t arena = kNoRegister) {
    auto &step = plan.step<format::AllocT>();
    step.tensor = number;
    step.bytes = bytes;
    step.storage = storage;
    step.arena_offset = arena;
  };
  alloc(t, format::StorageClass::Temporary);
  launch(x, t, one);
  plan.step<format::FreeT>().tensor = x;
  alloc(u, format::StorageClass::Temporary, zero);
  launch(t, u, s0);
  auto &reuse = plan.step<format::ReuseT>();
  reuse.tensor = v;
  reuse.from = t;
  launch(u, v, two);
  alloc(y, format::StorageClass::Output);
  launch(v, y, two);
  plan.step<format::FreeT>().tensor = v;
  auto &view = plan.step<format::ViewT>();
  view.tensor = z;
  view.source = y;
  for (uint32_t number : {y, z}) {
    auto output = std::make_unique<format::OutputT>();
    output->reg = number;
    plan.plan.outputs.push_back(std::move(output));
  }
  artifact.plans.push_back(plan.take());
  return packArtifact(artifact);
}

struct ChainSession {
  explicit ChainSession(const std::string &bytes) {
    auto artifact =
        Artifact::fromBytes({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
    EXPECT_TRUE(artifact.isOk()) << artifact.status().message();
    auto decoded = DecodedPlan::decode(*artifact, *(*artifact)->plan(format::Target::Cpu));
    EXPECT_TRUE(decoded.isOk()) << decoded.status().message();
    plan = *decoded;
    inner = std::move(*StandaloneHost::create(*plan, 3));
    host = std::make_unique<LimitedHost>(*inner);
    executor = std::make_unique<PlanExecutor>(plan, *host, backend);
  }
  std::shared_ptr<const DecodedPlan> plan;
  std::unique_ptr<StandaloneHost> inner;
  std::unique_ptr<LimitedHost> host;
  AddBackend backend;
  std::unique_ptr<PlanExecutor> executor;
};

} // namespace

TEST(PlanExecutor, RunsAChainWithReuseArenaAndVariants) {
  ChainSession session(chain());
  for (int64_t count : {1, 5, 101, 1000, 5, 0}) {
    std::vector<float> values(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 0.f);
    InputValue input;
    input.kind = InputValue::Kind::Tensor;
    input.handle = makeTensor(values);
    OutputValue outputs[2];
    Status status = session.executor->run({&input, 1}, outputs);
    ASSERT_TRUE(status.isOk()) << status.message();
    auto &y = *static_cast<HostTensor *>(outputs[0].handle),
         &z = *static_cast<HostTensor *>(outputs[1].handle);
    EXPECT_EQ(y.data, z.data);
    for (int64_t at = 0; at < count; ++at) {
      ASSERT_EQ(reinterpret_cast<float *>(y.data)[at], static_cast<float>(at + 1 + count + 2 + 2));
    }
    EXPECT_EQ(session.backend.launchedVariant, count > 100 ? 0u : 1u);
    session.inner->releaseTensor(outputs[0].handle);
    session.inner->releaseTensor(outputs[1].handle);
  }
  EXPECT_EQ(session.executor->counters().calls.load(), 6u);
  EXPECT_EQ(session.executor->counters().kernelLaunches.load(), 24u);
  EXPECT_EQ(session.executor->counters().peakBytes.load(), 3u * 4000);
}

TEST(PlanExecutor, NoMemoryAtAnyRequestLeavesNothingBehind) {
  ChainSession session(chain());
  bool succeeded = false;
  for (int64_t failAt = 0; !succeeded; ++failAt) {
    ASSERT_LT(failAt, 100);
    counting = {failAt, 0, 1}; // the input is already allocated
    InputValue input;
    input.kind = InputValue::Kind::Tensor;
    input.handle = makeTensor({1, 2, 3});
    OutputValue outputs[2];
    Status status = session.executor->run({&input, 1}, outputs);
    succeeded = status.isOk();
    if (!succeeded) {
      EXPECT_EQ(status.kind(), ErrorKind::OutOfMemory);
      EXPECT_EQ(outputs[0].handle, nullptr);
      EXPECT_EQ(input.handle, nullptr);
    } else {
      EXPECT_GE(failAt, 3);
      session.host->releaseTensor(outputs[0].handle);
      session.host->releaseTensor(outputs[1].handle);
    }
    EXPECT_EQ(counting.out, 0) << failAt;
  }
  counting = {};
}

TEST(PlanExecutor, AlteredPlansNeverCrash) {
  std::string body = chain().substr(sizeof(Header));
  for (size_t at = 0; at < body.size(); ++at) {
    for (int value : {0x00, 0x03, 0xff}) {
      std::string altered = body;
      altered[at] = static_cast<char>(value);
      std::string bytes = frameArtifact(altered);
      auto artifact =
          Artifact::fromBytes({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
      if (artifact.isOk() && (*artifact)->plan(format::Target::Cpu)) {
        auto decoded = DecodedPlan::decode(*artifact, *(*artifact)->plan(format::Target::Cpu));
        if (!decoded.isOk()) {
          EXPECT_EQ(decoded.status().kind(), ErrorKind::BadArtifact);
        }
      }
    }
  }
}

TEST(CpuBackend, ErrorsReadAsEager) {
  EXPECT_EQ(kernelError({1, 0, 5, 3}).message(),
            "index 5 is out of bounds for dimension 0 with size 3");
  EXPECT_EQ(kernelError({1, 0, 5, 3}).kind(), ErrorKind::Index);
  EXPECT_EQ(kernelError({2, 0, 0, 0}).message(), "ZeroDivisionError");
  EXPECT_EQ(kernelError({4, 0, 7, 3}).message(), "index out of range in self");
  EXPECT_EQ(kernelError({5, 1, 7, 3}).message(),
            "index 7 is out of bounds for dimension 1 with size 3");
  EXPECT_EQ(kernelError({5, 1, 7, 3}).kind(), ErrorKind::Runtime);
  EXPECT_EQ(kernelError({6, 0, -8, 3}).message(), "Target -8 is out of bounds.");
  EXPECT_EQ(kernelError({7, 1, 7, 3}).message(),
            "INDICES element is out of DATA bounds, id=7 axis_dim=3");
}
