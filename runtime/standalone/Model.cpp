#include "runtime/standalone/Model.h"

#include "runtime/cpu/CpuBackend.h"
#include "runtime/cuda/CudaBackend.h"
#include "runtime/plan/Signature.h"
#include "runtime/plan/StorageSpan.h"
#include "runtime/simt/SimtBackend.h"
#include "runtime/standalone/CudaHost.h"
#include "runtime/standalone/StandaloneHost.h"

#include <cstdlib>
#include <optional>
#include <utility>

namespace frit {

namespace {

/// The backend that runs a plan on the CPU or in the emulation.
Status createOnCpu(const std::shared_ptr<const DecodedPlan> &plan, format::Target target,
                   std::unique_ptr<KernelBackend> &backend) {
  auto take = [&](auto created) {
    if (created.isOk()) {
      backend = std::move(*created);
    }
    return created.status();
  };
  return target == format::Target::Simt ? take(SimtBackend::create(plan))
                                        : take(CpuBackend::create(*plan));
}

/// A graph of control flow. Its host has the threads of the model's.
class StandaloneSubgraph : public Subgraph {
public:
  static Result<std::shared_ptr<Subgraph>> load(const std::shared_ptr<const Artifact> &artifact,
                                                format::Target target,
                                                const StandaloneHost &outer) {
    const format::Plan *source = artifact->plan(target);
    if (!source) {
      return Status::error(ErrorKind::BadArtifact,
                           "graph '" + std::string(artifact->graphName()) +
                               "' has no plan for the target; compile the artifact again");
    }
    auto decoded = DecodedPlan::decode(artifact, *source);
    FRIT_RETURN_IF_ERROR(decoded.status());
    auto made = std::make_shared<StandaloneSubgraph>();
    made->decoded = *decoded;
    auto host = outer.createForSubgraph(**decoded);
    FRIT_RETURN_IF_ERROR(host.status());
    made->host = std::move(*host);
    FRIT_RETURN_IF_ERROR(createOnCpu(*decoded, target, made->backend));
    FRIT_RETURN_IF_ERROR(prepare(**decoded, *made->host, target));
    made->executor = std::make_unique<PlanExecutor>(*decoded, *made->host, *made->backend);
    made->executor->copyArguments();
    FRIT_RETURN_IF_ERROR(made->host->bindWeights(**decoded, *made->executor));
    return std::shared_ptr<Subgraph>(std::move(made));
  }

  /// Loads the graphs of a plan's control flow.
  static Status prepare(const DecodedPlan &plan, StandaloneHost &host, format::Target target) {
    return host.prepareControlFlow(plan, [&](const std::shared_ptr<const Artifact> &graph) {
      return load(graph, target, host);
    });
  }

  const DecodedPlan &plan() const override { return *decoded; }
  const Counters &counters() const override { return executor->counters(); }
  Status run(std::span<InputValue> inputs, std::span<OutputValue> outputs) override {
    return executor->run(inputs, outputs);
  }

private:
  std::shared_ptr<const DecodedPlan> decoded;
  std::unique_ptr<StandaloneHost> host;
  std::unique_ptr<KernelBackend> backend;
  std::unique_ptr<PlanExecutor> executor;
};

/// An argument that was copied to the GPU for a call.
struct Brought {
  HostTensor *onGpu;
  Tensor original;
  bool isMutated;
};

} // namespace

struct Model::State {
  std::shared_ptr<const DecodedPlan> plan;
  std::unique_ptr<StandaloneHost> host;
  /// `host`, if the model runs on a GPU.
  CudaHost *gpu = nullptr;
  std::unique_ptr<KernelBackend> backend;
  std::unique_ptr<PlanExecutor> executor;
  Signature signature;

  Result<std::vector<Value>> call(std::span<const Value> inputs, std::vector<Brought> &brought);
  Status bring(InputValue &input, const Value &value, size_t number, std::vector<Brought> &brought);
};

namespace {

Status bad(std::string message) { return Status::error(ErrorKind::BadInput, std::move(message)); }

/// A tensor of the host over a caller's memory.
Result<HostTensor *> hostTensor(const Tensor &tensor, const std::string &place) {
  if (static_cast<uint8_t>(tensor.dtype) > static_cast<uint8_t>(format::Dtype::MAX)) {
    return bad(place + " has an unknown dtype");
  }
  if (!tensor.strides.empty() && tensor.strides.size() != tensor.sizes.size()) {
    return bad(place + " has " + std::to_string(tensor.sizes.size()) + " sizes and " +
               std::to_string(tensor.strides.size()) + " strides");
  }
  std::vector<int64_t> strides =
      tensor.strides.empty() ? contiguousStrides(tensor.sizes) : tensor.strides;
  std::optional<uint64_t> span = spanOf(tensor.sizes, strides);
  uint64_t bytes;
  if (!span || __builtin_mul_overflow(*span, bytesOf(tensor.dtype), &bytes)) {
    return bad(place + " has a size or stride that is negative or too large");
  }
  if (!tensor.data && bytes != 0) {
    return bad(place + " has no data");
  }
  // Without an owner the memory belongs to the caller.
  auto *data = static_cast<char *>(tensor.data);
  return new HostTensor{
      std::shared_ptr<char>(tensor.owner, data), data, 0, tensor.sizes, std::move(strides),
      static_cast<format::Dtype>(tensor.dtype),  bytes};
}

Result<InputValue> inputOf(const Value &value, size_t number) {
  using Kind = InputValue::Kind;
  InputValue input;
  if (const auto *tensor = std::get_if<Tensor>(&value)) {
    auto handle = hostTensor(*tensor, "input " + std::to_string(number));
    FRIT_RETURN_IF_ERROR(handle.status());
    input.kind = Kind::Tensor;
    input.handle = *handle;
  } else if (const auto *integer = std::get_if<int64_t>(&value)) {
    input.kind = Kind::Int;
    input.integer = *integer;
  } else if (const auto *real = std::get_if<double>(&value)) {
    input.kind = Kind::Float;
    input.real = *real;
  } else if (const auto *flag = std::get_if<bool>(&value)) {
    input.kind = Kind::Bool;
    input.integer = *flag;
  }
  return input;
}

/// Copies a result on the device to host memory: to an input's memory if it is a view of that
/// input, else to new memory.
Result<Value> fetched(const HostTensor &from, CudaHost &gpu, const std::vector<Brought> &brought) {
  Tensor tensor = {static_cast<DataType>(from.dtype), from.sizes, from.strides, nullptr, nullptr};
  for (const Brought &input : brought) {
    if (input.onGpu->storage == from.storage) {
      tensor.data = static_cast<char *>(input.original.data) + (from.data - from.storage.get());
      tensor.owner = input.original.owner;
      return Value(std::move(tensor));
    }
  }
  uint64_t bytes = bytesUnder(from);
  std::shared_ptr<void> memory(std::aligned_alloc(64, (bytes + 64) / 64 * 64), std::free);
  if (!memory) {
    return Status::error(ErrorKind::OutOfMemory, "out of memory: cannot allocate " +
                                                     std::to_string(bytes) + " bytes for a result");
  }
  FRIT_RETURN_IF_ERROR(gpu.fetch(from, memory.get()));
  tensor.data = memory.get();
  tensor.owner = std::move(memory);
  return Value(std::move(tensor));
}

/// Takes ownership of the handle.
Result<Value> resultOf(const OutputValue &output, TensorHost &host, CudaHost *gpu,
                       const std::vector<Brought> &brought) {
  switch (output.kind) {
  case OutputValue::Kind::Tensor: {
    const HostTensor &from = *static_cast<HostTensor *>(output.handle);
    Result<Value> result = from.device == format::Device::Cuda
                               ? fetched(from, *gpu, brought)
                               : Value(Tensor{static_cast<DataType>(from.dtype), from.sizes,
                                              from.strides, from.data, from.storage});
    host.releaseTensor(output.handle);
    return result;
  }
  case OutputValue::Kind::Int:
    return Value(output.integer);
  case OutputValue::Kind::Bool:
    return Value(output.integer != 0);
  case OutputValue::Kind::Float:
    return Value(output.real);
  default:
    return Value(std::monostate());
  }
}

} // namespace

/// Copies an argument to the device that the plan needs it on.
Status Model::State::bring(InputValue &input, const Value &value, size_t number,
                           std::vector<Brought> &brought) {
  if (!gpu || !input.handle || number >= plan->source->inputs()->size()) {
    return Status::ok();
  }
  const format::Input &wanted = *plan->source->inputs()->Get(static_cast<uint32_t>(number));
  if (wanted.kind() != format::InputKind::Tensor ||
      plan->tensors[wanted.reg()].device != format::Device::Cuda) {
    return Status::ok();
  }
  auto onGpu = gpu->bring(*static_cast<HostTensor *>(input.handle));
  FRIT_RETURN_IF_ERROR(onGpu.status());
  host->releaseTensor(input.handle);
  input.handle = *onGpu;
  host->retainTensor(*onGpu);
  brought.push_back({*onGpu, std::get<Tensor>(value), wanted.mutated()});
  return Status::ok();
}

Result<std::vector<Value>> Model::State::call(std::span<const Value> inputs,
                                              std::vector<Brought> &brought) {
  std::vector<InputValue> given;
  for (size_t number = 0; number < inputs.size(); ++number) {
    auto input = inputOf(inputs[number], number);
    Status status = input.status();
    if (status.isOk()) {
      given.push_back(*input);
      status = bring(given.back(), inputs[number], number, brought);
    }
    if (!status.isOk()) {
      for (InputValue &one : given) {
        if (one.handle) {
          host->releaseTensor(one.handle);
        }
      }
      return status;
    }
  }
  std::vector<OutputValue> outputs(executor->outputCount());
  FRIT_RETURN_IF_ERROR(executor->run(given, outputs));
  std::vector<Value> results;
  Status failed;
  for (const OutputValue &output : outputs) {
    auto result = resultOf(output, *host, gpu, brought);
    if (result.isOk()) {
      results.push_back(std::move(*result));
    } else {
      failed = result.status();
    }
  }
  if (!failed.isOk()) {
    return failed;
  }
  return results;
}

Model::Model(std::unique_ptr<State> state) : state(std::move(state)) {}
Model::Model(Model &&) noexcept = default;
Model &Model::operator=(Model &&) noexcept = default;
Model::~Model() = default;

/// Binds the weights of the file and those of the caller.
static Status bind(const DecodedPlan &plan, StandaloneHost &host, PlanExecutor &executor,
                   const std::map<std::string, Tensor> &weights) {
  std::map<std::string, HostTensor *> given;
  Status status;
  for (const auto &[name, tensor] : weights) {
    auto handle = hostTensor(tensor, "weight '" + name + "'");
    if (!handle.isOk()) {
      status = handle.status();
      break;
    }
    given[name] = *handle;
  }
  status = status.isOk() ? host.bindWeights(plan, executor, given) : status;
  for (auto &[name, handle] : given) {
    host.releaseTensor(handle);
  }
  return status;
}

Result<Model> Model::load(const std::string &path, const LoadOptions &options,
                          const std::map<std::string, Tensor> &weights) {
  bool onGpu = options.device.rfind("cuda", 0) == 0, simt = options.device == "simt";
  if (!onGpu && !simt && options.device != "cpu") {
    return bad("unknown device '" + options.device + "'; known: cpu, simt, cuda");
  }
  auto artifact = Artifact::fromFile(path, options.allowHostCode, options.weightsFolder);
  FRIT_RETURN_IF_ERROR(artifact.status());
  if (options.checkWeights) {
    FRIT_RETURN_IF_ERROR((*artifact)->checkWeights());
  }
  const format::Plan *plan = (*artifact)->plan(onGpu  ? format::Target::Gpu
                                               : simt ? format::Target::Simt
                                                      : format::Target::Cpu);
  if (!plan) {
    return bad("'" + path + "' has no plan for " + options.device +
               "; compile it with --target=" + (onGpu ? "sm_90" : options.device));
  }
  auto decoded = DecodedPlan::decode(*artifact, *plan);
  FRIT_RETURN_IF_ERROR(decoded.status());
  auto state = std::make_unique<State>();
  state->plan = *decoded;
  auto takeHost = [&](auto created) {
    if (created.isOk()) {
      state->host = std::move(*created);
    }
    return created.status();
  };
  std::optional<CudaDevice::Scope> scope;
  if (onGpu) {
    auto device = openDevice(options.device);
    FRIT_RETURN_IF_ERROR(device.status());
    scope.emplace(**device);
    FRIT_RETURN_IF_ERROR(takeHost(CudaHost::create(*state->plan, *device)));
    state->gpu = static_cast<CudaHost *>(state->host.get());
    auto backend = CudaBackend::create(state->plan, (*device)->getDriver(), &JitLinker::system);
    FRIT_RETURN_IF_ERROR(backend.status());
    state->backend = std::move(*backend);
  } else {
    FRIT_RETURN_IF_ERROR(takeHost(StandaloneHost::create(*state->plan, options.threads)));
    FRIT_RETURN_IF_ERROR(createOnCpu(state->plan, plan->target(), state->backend));
    FRIT_RETURN_IF_ERROR(StandaloneSubgraph::prepare(*state->plan, *state->host, plan->target()));
  }
  state->executor = std::make_unique<PlanExecutor>(state->plan, *state->host, *state->backend);
  state->executor->refuseOverlap();
  FRIT_RETURN_IF_ERROR(bind(*state->plan, *state->host, *state->executor, weights));
  state->signature = describe(*state->plan);
  return Model(std::move(state));
}

const std::vector<Parameter> &Model::inputs() const { return state->signature.inputs; }
const std::vector<Parameter> &Model::outputs() const { return state->signature.outputs; }
const std::vector<SizeRange> &Model::symbols() const { return state->signature.symbols; }
std::string Model::report() const { return std::string(state->plan->artifact->report()); }

Statistics Model::statistics() const {
  const Counters &counters = state->executor->counters();
  return {counters.calls, counters.kernelLaunches, counters.allocations, counters.peakBytes};
}

Result<std::vector<Value>> Model::run(std::span<const Value> inputs) const {
  std::optional<CudaDevice::Scope> scope;
  if (state->gpu) {
    scope.emplace(state->gpu->getDevice());
  }
  std::vector<Brought> brought;
  auto results = state->call(inputs, brought);
  for (const Brought &input : brought) {
    if (results.isOk() && input.isMutated) {
      if (Status status = state->gpu->fetch(*input.onGpu, input.original.data); !status.isOk()) {
        results = status;
      }
    }
    state->host->releaseTensor(input.onGpu);
  }
  return results;
}

void copyElements(const Tensor &tensor, void *target) {
  if (auto handle = hostTensor(tensor, "the tensor"); handle.isOk()) {
    std::unique_ptr<HostTensor> view(*handle);
    copyStrided(*view, static_cast<char *>(target), contiguousStrides(tensor.sizes));
  }
}

} // namespace frit
