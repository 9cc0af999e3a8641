// Runs GPU artifacts by the CUDA backend, with a driver that emulates launches: parameters have the
// order and types that the PTX declares, grids are the plan's, launches share the workspace, and a
// 0-d CPU tensor is passed as a number. Results are compared with loops written here.

#include "compiler/Compiler.h"
#include "runtime/cpu/CodeMapping.h"
#include "runtime/cpu/MathCallbacks.h"
#include "runtime/cuda/CudaGraphs.h"
#include "runtime/plan/PlanExecutor.h"
#include "runtime/simt/SimtGrid.h"
#include "runtime/standalone/StandaloneHost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <regex>

using namespace frit;

namespace {

/// The entries of the loaded PTX: a letter for each parameter, in order ('p'ointer, 'i'nteger,
/// 'f'loat).
struct Device {
  std::map<std::string, std::string> entries;
  std::map<char *, uint64_t> memory;
  std::unique_ptr<CodeMapping> emulation;
  std::vector<std::string> launched;
  std::string error;
  /// The captured stream and its recorded launches, which become a CUDA graph.
  void *captured = nullptr;
  std::vector<std::function<DriverCode()>> recorded;
  unsigned graphLaunches = 0;
};
using FakeGraph = std::vector<std::function<DriverCode()>>;
Device *device;

void readEntries(const std::string &ptx) {
  static const std::regex entry(R"(\.entry (\w+)\(([^)]*)\))"),
      parameter(R"(\.param \.(\w+)( \.ptr)?)");
  for (std::sregex_iterator at(ptx.begin(), ptx.end(), entry), end; at != end; ++at) {
    std::string list = (*at)[2], kinds;
    for (std::sregex_iterator p(list.begin(), list.end(), parameter); p != end; ++p) {
      kinds += (*p)[2].matched ? 'p' : (*p)[1] == "f64" ? 'f' : 'i';
    }
    device->entries[(*at)[1]] = kinds;
  }
}

DriverCode launchEmulated(const std::pair<const std::string, std::string> &entry,
                          const SimtLaunch &shape, void **parameters) {
  SimtArguments arguments;
  arguments.callbacks = &mathCallbacks();
  bool beyondPointers = false;
  for (size_t i = 0; i < entry.second.size(); ++i) {
    if (entry.second[i] != 'p') {
      beyondPointers = true;
      if (entry.second[i] == 'i') {
        arguments.ints.push_back(*static_cast<int64_t *>(parameters[i]));
      } else {
        arguments.floats.push_back(*static_cast<double *>(parameters[i]));
      }
      continue;
    }
    auto *pointer = *static_cast<char **>(parameters[i]);
    auto block = device->memory.upper_bound(pointer);
    if (block == device->memory.begin() || pointer >= (--block)->first + block->second) {
      device->error = entry.first + ": parameter " + std::to_string(i) +
                      " is no pointer to memory of the device";
      return 700;
    }
    uint64_t bytes = block->first + block->second - pointer;
    if (beyondPointers) {
      arguments.workspace = pointer;
      arguments.workspaceBytes = bytes;
    } else {
      arguments.buffers.push_back({"parameter " + std::to_string(i), pointer, bytes, true, true});
    }
  }
  SimtLaunch launch = shape;
  launch.kernel = entry.first;
  launch.entry =
      reinterpret_cast<SimtFunction>(const_cast<void *>(device->emulation->find(entry.first)));
  Status status = runSimtKernel(arguments, {launch});
  device->error = status.message();
  device->launched.push_back(entry.first);
  return status.isOk() ? 0 : 700;
}

/// Records a launch with copies of its parameters.
std::function<DriverCode()> recorded(const std::pair<const std::string, std::string> &entry,
                                     const SimtLaunch &shape, void **parameters) {
  std::vector<uint64_t> values;
  for (size_t i = 0; i < entry.second.size(); ++i) {
    values.push_back(*static_cast<uint64_t *>(parameters[i]));
  }
  return [&entry, shape, values]() mutable {
    std::vector<void *> addresses;
    for (uint64_t &value : values) {
      addresses.push_back(&value);
    }
    return launchEmulated(entry, shape, addresses.data());
  };
}

DriverTable emulatingDriver() {
  DriverTable table;
  table.cuInit = [](unsigned) { return 0; };
  table.cuDriverGetVersion = [](int *version) { return *version = 13000, 0; };
  table.cuGetErrorName = [](DriverCode, const char **text) { return *text = "ERROR", 0; };
  table.cuGetErrorString = [](DriverCode, const char **text) {
    return *text = device->error.c_str(), 0;
  };
  table.cuCtxGetCurrent = [](DriverContext *context) {
    return *context = reinterpret_cast<void *>(0x1000), 0;
  };
  table.cuCtxGetDevice = [](int *number) { return *number = 0, 0; };
  table.cuDeviceGetAttribute = [](int *value, int attribute, int) {
    return *value = attribute == 75 ? 9 : 0, 0;
  };
  table.cuModuleLoadDataEx = [](DriverModule *module, const void *image, unsigned, int *, void **) {
    readEntries(static_cast<const char *>(image));
    return *module = reinterpret_cast<DriverModule>(1), 0;
  };
  table.cuModuleUnload = [](DriverModule) { return 0; };
  table.cuModuleGetFunction = [](DriverFunction *function, DriverModule,
                                 const char *name) -> DriverCode {
    auto known = device->entries.find(name);
    *function =
        known == device->entries.end() ? nullptr : reinterpret_cast<DriverFunction>(&*known);
    return *function ? 0 : 500;
  };
  table.cuFuncSetAttribute = [](DriverFunction, int, int) { return 0; };
  table.cuLaunchKernel = [](DriverFunction function, unsigned x, unsigned y, unsigned z,
                            unsigned bx, unsigned by, unsigned bz, unsigned shared,
                            DriverStream stream, void **parameters, void **) -> DriverCode {
    const auto *entry =
        reinterpret_cast<const std::pair<const std::string, std::string> *>(function);
    SimtLaunch shape = {"", nullptr, {x, y, z}, {bx, by, bz}, shared};
    if (!stream || stream != device->captured) {
      return launchEmulated(*entry, shape, parameters);
    }
    device->recorded.push_back(recorded(*entry, shape, parameters));
    return 0;
  };
  table.cuStreamCreate = [](DriverStream *stream, unsigned) {
    return *stream = reinterpret_cast<void *>(0x900), 0;
  };
  table.cuStreamDestroy = [](DriverStream) { return 0; };
  table.cuStreamBeginCapture = [](DriverStream stream, int) {
    return device->captured = stream, device->recorded.clear(), 0;
  };
  table.cuStreamEndCapture = [](DriverStream, DriverGraph *graph) {
    return device->captured = nullptr, *graph = new FakeGraph(std::move(device->recorded)), 0;
  };
  // A node is identified by its number, from 1 on.
  table.cuStreamGetCaptureInfo = [](DriverStream, int *status, uint64_t *, DriverGraph *,
                                    const DriverGraphNode **last, size_t *count) {
    static DriverGraphNode node;
    node = reinterpret_cast<DriverGraphNode>(device->recorded.size());
    return *status = 1, *last = &node, *count = 1, 0;
  };
  table.cuGraphExecKernelNodeSetParams = [](DriverGraphExec graph, DriverGraphNode node,
                                            const DriverKernelNode *launch) {
    const auto *entry =
        reinterpret_cast<const std::pair<const std::string, std::string> *>(launch->function);
    SimtLaunch shape = {"",
                        nullptr,
                        {launch->gridX, launch->gridY, launch->gridZ},
                        {launch->blockX, launch->blockY, launch->blockZ},
                        launch->sharedBytes};
    static_cast<FakeGraph *>(graph)->at(reinterpret_cast<uintptr_t>(node) - 1) =
        recorded(*entry, shape, launch->parameters);
    return 0;
  };
  table.cuGraphInstantiateWithFlags = [](DriverGraphExec *made, DriverGraph graph,
                                         unsigned long long) {
    return *made = new FakeGraph(*static_cast<FakeGraph *>(graph)), 0;
  };
  table.cuGraphDestroy = table.cuGraphExecDestroy = [](DriverGraph graph) {
    return delete static_cast<FakeGraph *>(graph), 0;
  };
  table.cuGraphLaunch = [](DriverGraphExec graph, DriverStream) -> DriverCode {
    ++device->graphLaunches;
    for (auto &node : *static_cast<FakeGraph *>(graph)) {
      if (DriverCode code = node(); code != 0) {
        return code;
      }
    }
    return 0;
  };
  table.cuMemcpyDtoDAsync = [](uint64_t to, uint64_t from, size_t bytes,
                               DriverStream) -> DriverCode {
    return std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes), 0;
  };
  table.cuStreamQuery = [](DriverStream) { return 0; };
  table.cuStreamIsCapturing = [](DriverStream, int *status) { return *status = 0, 0; };
  return table;
}

/// The host of frit-run, whose memory represents the device's; inputs of rank 0 are on the CPU.
class DeviceHost : public TensorHost {
public:
  explicit DeviceHost(const DecodedPlan &plan)
      : inner(std::move(*StandaloneHost::create(plan, 1))) {}

  void *allocateRaw(format::Device where, uint64_t bytes) override {
    void *memory = inner->allocateRaw(where, bytes);
    device->memory[static_cast<char *>(memory)] = std::max<uint64_t>(bytes, 1);
    return memory;
  }
  void freeRaw(format::Device where, void *memory) override {
    device->memory.erase(static_cast<char *>(memory));
    inner->freeRaw(where, memory);
  }
  Status allocateTensor(const TensorShape &shape, TensorSlot &slot) override {
    FRIT_RETURN_IF_ERROR(inner->allocateTensor(shape, slot));
    return track(slot.handle), Status::ok();
  }
  Status viewTensor(const TensorSlot &source, const TensorShape &shape, int64_t offset,
                    TensorSlot &slot) override {
    return inner->viewTensor(source, shape, offset, slot);
  }
  void releaseTensor(void *handle) override { inner->releaseTensor(handle); }
  void retainTensor(void *handle) override { inner->retainTensor(handle); }
  TensorView viewOf(void *handle) override {
    TensorView view = inner->viewOf(handle);
    view.device = view.rank == 0 ? format::Device::Cpu : format::Device::Cuda;
    return view;
  }
  Status copyInto(const TensorSlot &to, const TensorSlot &from) override {
    return inner->copyInto(to, from);
  }
  void bumpVersion(const TensorSlot &) override {}
  Status readItem(const TensorSlot &tensor, int64_t *integer, double *real) override {
    return inner->readItem(tensor, integer, real);
  }
  Status wrapScalar(format::Dtype dtype, int64_t integer, double real, TensorSlot &slot) override {
    return inner->wrapScalar(dtype, integer, real, slot);
  }
  Status callAten(uint32_t number, RunState &state) override {
    return inner->callAten(number, state);
  }
  void parallelFor(int64_t units, int64_t grain, RangeBody body, void *argument) override {
    inner->parallelFor(units, grain, body, argument);
  }

  void track(void *handle) {
    auto &tensor = *static_cast<HostTensor *>(handle);
    uint64_t count = 1;
    for (int64_t size : tensor.sizes) {
      count *= static_cast<uint64_t>(size);
    }
    device->memory[tensor.data] = std::max<uint64_t>(count * bytesOf(tensor.dtype), 1);
  }

private:
  std::unique_ptr<StandaloneHost> inner;
};

HostTensor *newTensor(format::Dtype dtype, std::vector<int64_t> sizes, const void *data,
                      uint64_t bytes) {
  auto *memory = static_cast<char *>(std::aligned_alloc(64, (bytes + 64) / 64 * 64));
  std::memcpy(memory, data, bytes);
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t dim = sizes.size(); dim-- > 1;) {
    strides[dim - 1] = strides[dim] * sizes[dim];
  }
  return new HostTensor{std::shared_ptr<char>(memory, std::free), memory, 0, sizes, strides, dtype};
}

/// y = x * s, with the sums of its columns and of all elements: a kernel for each kind of
/// reduction, the last in several launches.
constexpr const char *kGraph = R"mlir(
frit.graph @layer(
    %x: tensor<?x?xf32, #frit.dims<[s0, s1]>> {frit.device = "cuda:0", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input",
                                               frit.layout = #frit.layout<[s1, 1]>, frit.name = "x"},
    %s: tensor<f64> {frit.device = "cpu", frit.dtype = #frit.dtype<f64>, frit.kind = "user_input",
                     frit.layout = #frit.layout<[]>, frit.name = "s"})
    -> (tensor<?x?xf32, #frit.dims<[s0, s1]>> {frit.device = "cuda:0", frit.dtype = #frit.dtype<f32>,
                                               frit.layout = #frit.layout<[s1, 1]>, frit.storage = #frit.storage<fresh, 10>},
        tensor<?xf32, #frit.dims<[s1]>> {frit.device = "cuda:0", frit.dtype = #frit.dtype<f32>,
                                         frit.layout = #frit.layout<[1]>, frit.storage = #frit.storage<fresh, 11>},
        tensor<f32> {frit.device = "cuda:0", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[]>,
                     frit.storage = #frit.storage<fresh, 12>})
    attributes {device = "cuda:0", symbols = [#frit.symbol<"s0", min = 2>, #frit.symbol<"s1", min = 2>]} {
  %y = frit.aten "aten.mul.Tensor"(%x, %s) [#frit.operand<0>, #frit.operand<1>]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f64>], operand_layouts = [#frit.layout<[s1, 1]>, #frit.layout<[]>],
       result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[s1, 1]>], result_storage = [#frit.storage<fresh, 10>]}
      : (tensor<?x?xf32, #frit.dims<[s0, s1]>>, tensor<f64>) -> tensor<?x?xf32, #frit.dims<[s0, s1]>>
  %c = frit.aten "aten.sum.dim_IntList"(%y) [#frit.operand<0>, [0], false, unit]
      {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[s1, 1]>],
       result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 11>]}
      : (tensor<?x?xf32, #frit.dims<[s0, s1]>>) -> tensor<?xf32, #frit.dims<[s1]>>
  %t = frit.aten "aten.sum.default"(%y) [#frit.operand<0>, unit]
      {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[s1, 1]>],
       result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[]>], result_storage = [#frit.storage<fresh, 12>]}
      : (tensor<?x?xf32, #frit.dims<[s0, s1]>>) -> tensor<f32>
  frit.return %y, %c, %t : tensor<?x?xf32, #frit.dims<[s0, s1]>>, tensor<?xf32, #frit.dims<[s1]>>, tensor<f32>
}
)mlir";

/// t = sum(y * c * d) with y = x * s, c = sums of y's columns, d = sums of (y * c)'s columns: a
/// chain of kernels.
constexpr const char *kChain = R"mlir(
frit.graph @layer(
    %x: tensor<?x?xf32, #frit.dims<[s0, s1]>> {frit.device = "cuda:0", frit.dtype = #frit.dtype<f32>, frit.kind = "user_input",
                                               frit.layout = #frit.layout<[s1, 1]>, frit.name = "x"},
    %s: tensor<f64> {frit.device = "cpu", frit.dtype = #frit.dtype<f64>, frit.kind = "user_input",
                     frit.layout = #frit.layout<[]>, frit.name = "s"})
    -> (tensor<f32> {frit.device = "cuda:0", frit.dtype = #frit.dtype<f32>, frit.layout = #frit.layout<[]>,
                     frit.storage = #frit.storage<fresh, 16>})
    attributes {device = "cuda:0", symbols = [#frit.symbol<"s0", min = 2>, #frit.symbol<"s1", min = 2>]} {
  %y = frit.aten "aten.mul.Tensor"(%x, %s) [#frit.operand<0>, #frit.operand<1>]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f64>], operand_layouts = [#frit.layout<[s1, 1]>, #frit.layout<[]>],
       result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[s1, 1]>], result_storage = [#frit.storage<fresh, 10>]}
      : (tensor<?x?xf32, #frit.dims<[s0, s1]>>, tensor<f64>) -> tensor<?x?xf32, #frit.dims<[s0, s1]>>
  %c = frit.aten "aten.sum.dim_IntList"(%y) [#frit.operand<0>, [0], false, unit]
      {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[s1, 1]>],
       result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 11>]}
      : (tensor<?x?xf32, #frit.dims<[s0, s1]>>) -> tensor<?xf32, #frit.dims<[s1]>>
  %m = frit.aten "aten.mul.Tensor"(%y, %c) [#frit.operand<0>, #frit.operand<1>]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[s1, 1]>, #frit.layout<[1]>],
       result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[s1, 1]>], result_storage = [#frit.storage<fresh, 12>]}
      : (tensor<?x?xf32, #frit.dims<[s0, s1]>>, tensor<?xf32, #frit.dims<[s1]>>) -> tensor<?x?xf32, #frit.dims<[s0, s1]>>
  %d = frit.aten "aten.sum.dim_IntList"(%m) [#frit.operand<0>, [0], false, unit]
      {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[s1, 1]>],
       result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[1]>], result_storage = [#frit.storage<fresh, 13>]}
      : (tensor<?x?xf32, #frit.dims<[s0, s1]>>) -> tensor<?xf32, #frit.dims<[s1]>>
  %n = frit.aten "aten.mul.Tensor"(%m, %d) [#frit.operand<0>, #frit.operand<1>]
      {operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], operand_layouts = [#frit.layout<[s1, 1]>, #frit.layout<[1]>],
       result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[s1, 1]>], result_storage = [#frit.storage<fresh, 14>]}
      : (tensor<?x?xf32, #frit.dims<[s0, s1]>>, tensor<?xf32, #frit.dims<[s1]>>) -> tensor<?x?xf32, #frit.dims<[s0, s1]>>
  %t = frit.aten "aten.sum.default"(%n) [#frit.operand<0>, unit]
      {operand_dtypes = [#frit.dtype<f32>], operand_layouts = [#frit.layout<[s1, 1]>],
       result_dtypes = [#frit.dtype<f32>], result_layouts = [#frit.layout<[]>], result_storage = [#frit.storage<fresh, 16>]}
      : (tensor<?x?xf32, #frit.dims<[s0, s1]>>) -> tensor<f32>
  frit.return %t : tensor<f32>
}
)mlir";

/// The memory of graphs is on the device too.
void *takeBlock(uint64_t bytes) {
  auto *memory = static_cast<char *>(std::aligned_alloc(512, bytes));
  device->memory[memory] = bytes;
  return memory;
}
void giveBlock(void *memory) {
  device->memory.erase(static_cast<char *>(memory));
  std::free(memory);
}

/// A compiled graph on the emulated device.
struct Compiled {
  explicit Compiled(const char *graph) {
    CompileOptions options;
    options.targets = {"sm_80", "sm_90", "simt"};
    CompileResult compiled = compileIr(graph, options);
    EXPECT_TRUE(compiled.ok()) << compiled.errorText();
    const std::string &bytes = compiled.artifact;
    auto loaded =
        Artifact::fromBytes({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
    EXPECT_TRUE(loaded.isOk()) << loaded.status().message();
    device = &own;
    auto mapping = CodeMapping::map(**loaded, static_cast<int>(format::ImageKind::Simt));
    EXPECT_TRUE(mapping.isOk()) << mapping.status().message();
    own.emulation = std::make_unique<CodeMapping>(std::move(*mapping));
    plan = *DecodedPlan::decode(*loaded, *(*loaded)->plan(format::Target::Gpu));
    host = std::make_unique<DeviceHost>(*plan);
    driver = *Driver::create(emulatingDriver());
    backend = std::move(*CudaBackend::create(plan, driver));
    executor = std::make_unique<PlanExecutor>(plan, *host, *backend);
  }

  HostTensor *matrix(int64_t rows, int64_t columns, const std::vector<float> &values) {
    HostTensor *made =
        newTensor(format::Dtype::F32, {rows, columns}, values.data(), values.size() * 4);
    host->track(made);
    return made;
  }

  /// Runs one call, which takes x, and compares it with loops.
  template <typename Run> void check(HostTensor *x, double scale, Run run) {
    int64_t rows = x->sizes[0], columns = x->sizes[1];
    std::vector<float> values(reinterpret_cast<float *>(x->data),
                              reinterpret_cast<float *>(x->data) + rows * columns);
    std::vector<InputValue> inputs(2);
    inputs[0].kind = inputs[1].kind = InputValue::Kind::Tensor;
    inputs[0].handle = x;
    inputs[1].handle = newTensor(format::Dtype::F64, {}, &scale, 8);
    std::vector<OutputValue> outputs(3);
    Status status = run(inputs, outputs);
    ASSERT_TRUE(status.isOk()) << status.message();
    auto at = [&](int output, int64_t i) {
      return reinterpret_cast<float *>(
          static_cast<HostTensor *>(outputs[static_cast<size_t>(output)].handle)->data)[i];
    };
    auto factor = static_cast<float>(scale);
    float total = 0;
    for (int64_t column = 0; column < columns; ++column) {
      float sum = 0;
      for (int64_t row = 0; row < rows; ++row) {
        sum += values[static_cast<size_t>(row * columns + column)] * factor;
        EXPECT_EQ(at(0, row * columns + column),
                  values[static_cast<size_t>(row * columns + column)] * factor);
      }
      // Multiples of a half are exact in any order.
      EXPECT_EQ(at(1, column), sum);
      total += sum;
    }
    EXPECT_EQ(at(2, 0), total);
    for (OutputValue &output : outputs) {
      host->releaseTensor(output.handle);
    }
  }

  Device own;
  std::shared_ptr<const DecodedPlan> plan;
  std::unique_ptr<DeviceHost> host;
  std::shared_ptr<Driver> driver;
  std::unique_ptr<CudaBackend> backend;
  std::unique_ptr<PlanExecutor> executor;
};

std::vector<float> ramp(int64_t count, int64_t start) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i + static_cast<size_t>(start)) % 17) - 8;
  }
  return values;
}

TEST(CudaPath, AnArtifactOfTheCompilerRunsThroughTheExecutor) {
  Compiled compiled(kGraph);
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{2, 3}, {33, 40}, {5, 257}}) {
    compiled.own.launched.clear();
    compiled.check(
        compiled.matrix(rows, columns, ramp(rows * columns, 0)), 0.5,
        [&](auto &inputs, auto &outputs) { return compiled.executor->run(inputs, outputs); });
    EXPECT_GE(compiled.own.launched.size(), 3u);
  }
}

TEST(CudaPath, CudaGraphsGiveTheBitsOfSingleLaunches) {
  Compiled compiled(kChain);
  GraphPool pool({takeBlock, giveBlock});
  CudaGraphs graphs(compiled.plan, *compiled.host, *compiled.backend, *compiled.executor,
                    compiled.driver, pool, {});
  unsigned calls = 0;
  auto total = [&](HostTensor *x, double scale, auto &runner) {
    std::vector<InputValue> inputs(2);
    inputs[0].kind = inputs[1].kind = InputValue::Kind::Tensor;
    inputs[0].handle = x;
    inputs[1].handle = newTensor(format::Dtype::F64, {}, &scale, 8);
    OutputValue output;
    Status status = runner.run(inputs, {&output, 1});
    EXPECT_TRUE(status.isOk()) << status.message();
    if (!status.isOk()) {
      return 0.f;
    }
    float value = *reinterpret_cast<float *>(static_cast<HostTensor *>(output.handle)->data);
    compiled.host->releaseTensor(output.handle);
    return value;
  };
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{64, 40}, {1200, 7}, {64, 40}}) {
    for (int turn = 0; turn < 4; ++turn) {
      std::vector<float> values = ramp(rows * columns, 3 * turn);
      // Neither scalars nor values are part of a graph's key.
      for (double scale : {0.001, 0.002}) {
        float expected = total(compiled.matrix(rows, columns, values), scale, *compiled.executor);
        EXPECT_NE(expected, 0);
        EXPECT_EQ(total(compiled.matrix(rows, columns, values), scale, graphs), expected);
        ++calls;
      }
    }
  }
  GraphCounters counters = graphs.counters();
  for (const auto &[why, count] : counters.notCaptured) {
    ADD_FAILURE() << count << " calls: " << why << ", "
                  << testing::PrintToString(compiled.own.launched);
  }
  // Two sizes, whatever the scalar; the first call of each runs without a graph.
  EXPECT_EQ(counters.captures, 2u);
  EXPECT_EQ(counters.replays, compiled.own.graphLaunches);
  EXPECT_EQ(counters.replays, calls - 2);
}

} // namespace
