// Models on a GPU without torch (`Model::load` with the device "cuda", frit-run): arguments and
// results are copied, weights and updated buffers are on the device, and nothing leaks when memory
// or the device fails.

#include "runtime/standalone/CudaHost.h"
#include "runtime/standalone/Model.h"
#include "tests/unit/runtime/FileBytes.h"
#include "tests/unit/runtime/cuda/FakeDriver.h"

using namespace fakecuda;

namespace {

using Values = std::vector<float>;

Tensor tensorOf(Values &values) {
  return {DataType::F32, {static_cast<int64_t>(values.size())}, {}, values.data(), nullptr};
}

Values valuesOf(const Value &value) {
  const Tensor &tensor = std::get<Tensor>(value);
  Values values(static_cast<size_t>(tensor.sizes[0]));
  copyElements(tensor, values.data());
  return values;
}

/// x += w with a weight w of four numbers; returns x and a view of its last two numbers. Also b +=
/// w for a buffer b.
std::string inPlace() {
  format::ArtifactT artifact;
  artifact.graph = "update";
  artifact.sources = {"model.py:6 in forward: x += w"};
  PlanBuilder plan(format::Target::Gpu);
  uint32_t one = plan.intConstant(1), two = plan.intConstant(2), four = plan.intConstant(4);
  auto tensor = [&](uint32_t size) {
    return plan.newTensor(format::Dtype::F32, {size}, {one}, format::Device::Cuda);
  };
  uint32_t x = tensor(four), w = tensor(four), b = tensor(four), last = tensor(two);
  auto &input = *plan.plan.inputs.emplace_back(std::make_unique<format::InputT>());
  input.name = "x", input.reg = x, input.mutated = true;
  for (uint32_t number : {0, 1}) {
    auto &constant = *plan.plan.constants.emplace_back(std::make_unique<format::ConstantT>());
    constant.name = number ? "b" : "w", constant.tensor = number ? b : w, constant.weight = number;
  }
  plan.plan.kernels.push_back(addKernel());
  plan.plan.kernels[0]->access = "rru";
  for (uint32_t target : {x, b}) {
    auto &step = plan.step<format::LaunchT>();
    step.tensors = {target, w, target};
    step.ints = {four};
    step.variants.push_back(std::make_unique<format::VariantSizesT>());
    step.variants[0]->launches.push_back(std::make_unique<format::LaunchSizesT>());
    step.variants[0]->launches[0]->x = one;
  }
  auto &view = plan.step<format::ViewT>();
  view.tensor = last, view.source = x, view.offset = two;
  auto &itself = *plan.plan.outputs.emplace_back(std::make_unique<format::OutputT>());
  itself.kind = format::OutputKind::Input, itself.reg = 0;
  for (uint32_t reg : {last, b}) {
    plan.plan.outputs.emplace_back(std::make_unique<format::OutputT>())->reg = reg;
  }
  artifact.plans.push_back(plan.take());
  addCode(artifact, {{kPtx, 90, "ptx90"}}, 4);
  Values numbers = {1, 2, 3, 4, 10, 20, 30, 40};
  std::string bytes(reinterpret_cast<const char *>(numbers.data()), 32);
  for (uint64_t number : {0, 1}) {
    auto &weight = *artifact.weights.emplace_back(std::make_unique<format::WeightT>());
    weight.name = number ? "b" : "w", weight.dtype = format::Dtype::F32, weight.sizes = {4},
    weight.strides = {1};
    weight.offset = 16 * number, weight.bytes = 16;
    Digest digest = sha256(bytesOfString(std::string_view(bytes).substr(16 * number, 16)));
    weight.sha256.assign(digest.begin(), digest.end());
  }
  return packArtifact(artifact, bytes);
}

struct CudaModel : testing::Test {
  void SetUp() override {
    fake = FakeDriver();
    fake.context = nullptr;
    fake.kernel = addOnHost;
    fake.pointers = 3;
    openDevice = [](const std::string &name) {
      return CudaDevice::open(name, *Driver::create(fakeTable()));
    };
  }
  void TearDown() override {
    openDevice = &CudaDevice::open;
    EXPECT_EQ(fake.blocks, 0) << "memory of the device that is still held";
    EXPECT_EQ(fake.context, nullptr) << "the caller's context is as it was";
    EXPECT_EQ(count("retain"), count("release"));
  }
  static LoadOptions onGpu() {
    LoadOptions options;
    options.device = "cuda";
    return options;
  }
};

} // namespace

TEST_F(CudaModel, RunsOnTensorsOfTheHost) {
  TemporaryFile file(chainOf(3));
  std::vector<Value> kept;
  {
    auto model = Model::load(file.path, onGpu());
    ASSERT_TRUE(model.isOk()) << model.status().message();
    EXPECT_TRUE(model->inputs()[0].onGpu);
    for (size_t size : {5, 2, 300}) {
      Values x(size, 1), w(size, 2);
      x[1] = 7;
      auto results = model->run(std::vector<Value>{tensorOf(x), tensorOf(w)});
      ASSERT_TRUE(results.isOk()) << results.status().message();
      Values expected(size, 7);
      expected[1] = 13;
      EXPECT_EQ(valuesOf(results->at(0)), expected);
      kept = *results;
    }
    EXPECT_EQ(model->statistics().kernelLaunches, 9u);
  }
  EXPECT_EQ(valuesOf(kept[0])[2], 7) << "results outlive the model";
}

TEST_F(CudaModel, ArgumentsThatAreWrittenAndBuffers) {
  TemporaryFile file(inPlace());
  auto model = Model::load(file.path, onGpu());
  ASSERT_TRUE(model.isOk()) << model.status().message();
  Values x = {0, 0, 0, 0};
  for (float times : {1, 2}) {
    auto results = model->run(std::vector<Value>{tensorOf(x)});
    ASSERT_TRUE(results.isOk()) << results.status().message();
    EXPECT_EQ(x, (Values{1 * times, 2 * times, 3 * times, 4 * times}));
    EXPECT_EQ(std::get<Tensor>(results->at(0)).data, x.data())
        << "a result that is an argument is the caller's";
    EXPECT_EQ(std::get<Tensor>(results->at(1)).data, x.data() + 2) << "and so is a look at one";
    EXPECT_EQ(valuesOf(results->at(2)),
              (Values{10 + times, 20 + 2 * times, 30 + 3 * times, 40 + 4 * times}));
  }
}

TEST_F(CudaModel, DevicesThatAreNotThere) {
  TemporaryFile file(chainOf(1));
  LoadOptions options = onGpu();
  for (auto [name, message] : {std::pair("cuda:1", "no device 'cuda:1': there are 1 GPUs"),
                               {"cuda:", "GPUs are called cuda, cuda:0"},
                               {"cudax", "GPUs are called"},
                               {"cuda:-1", "GPUs are called"},
                               {"cuda:0x", "GPUs are called"}}) {
    options.device = name;
    EXPECT_NE(Model::load(file.path, options).status().message().find(message), std::string::npos)
        << name;
  }
  fake.initCode = 100;
  options.device = "cuda";
  openDevice = [](const std::string &name) -> frit::Result<std::shared_ptr<CudaDevice>> {
    auto driver = Driver::create(fakeTable());
    return driver.isOk() ? CudaDevice::open(name, *driver) : driver.status();
  };
  EXPECT_NE(Model::load(file.path, options).status().message().find("no usable CUDA driver"),
            std::string::npos);
}

TEST_F(CudaModel, NothingIsLostWhereverMemoryEnds) {
  TemporaryFile chain(chainOf(3)), update(inPlace());
  for (const TemporaryFile *file : {&chain, &update}) {
    bool succeeded = false;
    for (int k = 0; !succeeded; ++k) {
      ASSERT_LT(k, 100);
      fake.memoryCalls = 0;
      fake.failMemoryAt = k;
      auto model = Model::load(file->path, onGpu());
      Values x(4, 1), w(4, 2);
      std::vector<Value> inputs = {tensorOf(x), tensorOf(w)};
      inputs.resize(file == &chain ? 2 : 1);
      auto results =
          model.isOk() ? model->run(inputs) : frit::Result<std::vector<Value>>(model.status());
      succeeded = fake.memoryCalls <= k;
      // Allocations by the driver itself (modules, launches) are tried twice only if torch has
      // cached memory to free.
      EXPECT_EQ(results.isOk(), succeeded) << k << ": " << results.status().message();
      if (!succeeded) {
        EXPECT_EQ(results.status().kind(), ErrorKind::OutOfMemory) << results.status().message();
      }
      fake.failMemoryAt = -1;
      if (model.isOk()) {
        EXPECT_TRUE(model->run(inputs).isOk()) << "the next call works";
      }
    }
  }
}

TEST_F(CudaModel, ErrorsOfKernelsSurfaceWhereResultsAreFetched) {
  TemporaryFile file(chainOf(2));
  auto model = Model::load(file.path, onGpu());
  ASSERT_TRUE(model.isOk());
  Values x(4, 1), w(4, 2);
  std::vector<Value> inputs = {tensorOf(x), tensorOf(w)};
  fake.fetchCode = 700;
  Status status = model->run(inputs).status();
  EXPECT_NE(
      status.message().find("fetching from the GPU 16 bytes failed: CUDA_ERROR_ILLEGAL_ADDRESS"),
      std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("restart the process"), std::string::npos);
  fake.fetchCode = 0;
  EXPECT_NE(model->run(inputs).status().message().find("restart the process"), std::string::npos)
      << "a lost device is not tried again";
  // Memory of a lost device is not freed.
  fake.blocks = 0;
  fake.log.clear();
}

TEST_F(CudaModel, WrongArgumentsAreNamed) {
  TemporaryFile file(chainOf(2));
  auto model = Model::load(file.path, onGpu());
  ASSERT_TRUE(model.isOk());
  Values x(4, 1), w(3, 2);
  EXPECT_NE(model->run(std::vector<Value>{tensorOf(x), tensorOf(w)})
                .status()
                .message()
                .find("input 1 ('w'): its size"),
            std::string::npos);
  EXPECT_FALSE(model->run(std::vector<Value>{tensorOf(x)}).isOk());
  EXPECT_FALSE(model->run(std::vector<Value>{tensorOf(x), 2.0}).isOk());
  EXPECT_FALSE(model->run(std::vector<Value>{tensorOf(x), tensorOf(w), tensorOf(w)}).isOk());
}
