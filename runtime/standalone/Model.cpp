#include "runtime/standalone/Model.h"

#include "runtime/cpu/CpuBackend.h"
#include "runtime/plan/Signature.h"
#include "runtime/plan/StorageSpan.h"
#include "runtime/simt/SimtBackend.h"
#include "runtime/standalone/StandaloneHost.h"

#include <utility>

namespace frit {

struct Model::State {
  std::shared_ptr<const DecodedPlan> plan;
  std::unique_ptr<StandaloneHost> host;
  std::unique_ptr<KernelBackend> backend;
  std::unique_ptr<PlanExecutor> executor;
  Signature signature;
};

namespace {

Status bad(std::string message) { return Status::error(ErrorKind::BadInput, std::move(message)); }

std::vector<int64_t> contiguousStrides(const std::vector<int64_t> &sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t count = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    strides[dim] = count;
    count *= std::max<int64_t>(sizes[dim], 1);
  }
  return strides;
}

/// A look of the host at a caller's tensor.
Result<HostTensor *> hostTensor(const Tensor &tensor, const std::string &place) {
  if (static_cast<uint8_t>(tensor.dtype) > static_cast<uint8_t>(format::Dtype::MAX)) {
    return bad(place + " has an unknown dtype");
  }
  if (!tensor.strides.empty() && tensor.strides.size() != tensor.sizes.size()) {
    return bad(place + " has " + std::to_string(tensor.sizes.size()) + " sizes and " + std::to_string(tensor.strides.size()) + " strides");
  }
  std::vector<int64_t> strides = tensor.strides.empty() ? contiguousStrides(tensor.sizes) : tensor.strides;
  std::optional<uint64_t> span = spanOf(tensor.sizes, strides);
  uint64_t bytes;
  if (!span || __builtin_mul_overflow(*span, bytesOf(tensor.dtype), &bytes)) {
    return bad(place + " has a size or stride that is negative or too large");
  }
  if (!tensor.data && bytes != 0) {
    return bad(place + " has no data");
  }
  // Without an owner: the caller's.
  auto *data = static_cast<char *>(tensor.data);
  return new HostTensor{std::shared_ptr<char>(tensor.owner, data), data,  0, tensor.sizes, std::move(strides),
                        static_cast<format::Dtype>(tensor.dtype), bytes};
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

/// Takes the handle over.
Value resultOf(const OutputValue &output, TensorHost &host) {
  switch (output.kind) {
  case OutputValue::Kind::Tensor: {
    const HostTensor &from = *static_cast<HostTensor *>(output.handle);
    Tensor tensor = {static_cast<DataType>(from.dtype), from.sizes, from.strides, from.data, from.storage};
    host.releaseTensor(output.handle);
    return tensor;
  }
  case OutputValue::Kind::Int: return output.integer;
  case OutputValue::Kind::Bool: return output.integer != 0;
  case OutputValue::Kind::Float: return output.real;
  default: return std::monostate();
  }
}

} // namespace

Model::Model(std::unique_ptr<State> state) : state(std::move(state)) {}
Model::Model(Model &&) noexcept = default;
Model &Model::operator=(Model &&) noexcept = default;
Model::~Model() = default;

/// Binds the weights of the file and those of the caller.
static Status bind(const DecodedPlan &plan, StandaloneHost &host, PlanExecutor &executor, const std::map<std::string, Tensor> &weights) {
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

Result<Model> Model::load(const std::string &path, const LoadOptions &options, const std::map<std::string, Tensor> &weights) {
  bool simt = options.device == "simt";
  if (!simt && options.device != "cpu") {
    return bad("unknown device '" + options.device + "'; known: cpu, simt");
  }
  auto artifact = Artifact::fromFile(path, options.allowHostCode, options.weightsFolder);
  FRIT_RETURN_IF_ERROR(artifact.status());
  if (options.checkWeights) {
    FRIT_RETURN_IF_ERROR((*artifact)->checkWeights());
  }
  const format::Plan *plan = (*artifact)->plan(simt ? format::Target::Simt : format::Target::Cpu);
  if (!plan) {
    return bad("'" + path + "' has no plan for " + options.device + "; compile it with --target=" + options.device);
  }
  auto decoded = DecodedPlan::decode(*artifact, *plan);
  FRIT_RETURN_IF_ERROR(decoded.status());
  auto state = std::make_unique<State>();
  state->plan = *decoded;
  auto host = StandaloneHost::create(*state->plan, options.threads);
  FRIT_RETURN_IF_ERROR(host.status());
  state->host = std::move(*host);
  auto take = [&](auto created) {
    if (created.isOk()) {
      state->backend = std::move(*created);
    }
    return created.status();
  };
  FRIT_RETURN_IF_ERROR(simt ? take(SimtBackend::create(state->plan)) : take(CpuBackend::create(*state->plan)));
  state->executor = std::make_unique<PlanExecutor>(state->plan, *state->host, *state->backend);
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
  std::vector<InputValue> given;
  for (size_t number = 0; number < inputs.size(); ++number) {
    auto input = inputOf(inputs[number], number);
    if (!input.isOk()) {
      for (InputValue &one : given) {
        if (one.handle) {
          state->host->releaseTensor(one.handle);
        }
      }
      return input.status();
    }
    given.push_back(*input);
  }
  std::vector<OutputValue> outputs(state->executor->outputCount());
  FRIT_RETURN_IF_ERROR(state->executor->run(given, outputs));
  std::vector<Value> results;
  for (const OutputValue &output : outputs) {
    results.push_back(resultOf(output, *state->host));
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
