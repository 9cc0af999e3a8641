#include "runtime/torch/TorchExecutable.h"

#include "runtime/cpu/CpuBackend.h"
#include "runtime/cuda/CudaGraphs.h"
#include "runtime/plan/PlanWeights.h"
#include "runtime/plan/PoisonHost.h"
#include "runtime/plan/Signature.h"
#include "runtime/simt/SimtBackend.h"
#include "runtime/torch/Bridge.h"
#include "runtime/torch/ParallelFor.h"
#include "runtime/torch/TorchHost.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/record_function.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/forward_grad.h>

#include <algorithm>
#include <set>

namespace frit {

/// A graph of control flow as an executable of its own.
class TorchSubgraph : public Subgraph {
public:
  explicit TorchSubgraph(std::unique_ptr<TorchExecutable> executable)
      : executable(std::move(executable)) {
    this->executable->executor->copyArguments();
  }
  const DecodedPlan &plan() const override { return executable->decodedPlan(); }
  const Counters &counters() const override { return executable->counters(); }
  Status run(std::span<InputValue> inputs, std::span<OutputValue> outputs) override {
    return executable->runOnce(inputs, outputs);
  }
  bool isIrreversible() const override { return executable->executor->isIrreversible(); }
  const TorchExecutable &getExecutable() const { return *executable; }

private:
  std::unique_ptr<TorchExecutable> executable;
};

Result<std::unique_ptr<TorchExecutable>>
TorchExecutable::load(std::shared_ptr<const Artifact> artifact,
                      std::span<const at::TensorBase> constants, bool poison,
                      const std::map<std::string, at::TensorBase> &weights) {
  std::unique_ptr<TorchExecutable> executable(new TorchExecutable());
  executable->artifact = std::move(artifact);
  executable->spanName = "frit::" + std::string(executable->graphName());
  FRIT_RETURN_IF_ERROR(executable->chooseBackend());
  auto loadSubgraph =
      [poison](std::shared_ptr<const Artifact> graph) -> Result<std::shared_ptr<Subgraph>> {
    auto loaded = load(std::move(graph), {}, poison);
    FRIT_RETURN_IF_ERROR(loaded.status());
    return std::shared_ptr<Subgraph>(std::make_shared<TorchSubgraph>(std::move(*loaded)));
  };
  auto host = TorchHost::create(*executable->plan, loadSubgraph);
  if (!host.isOk()) {
    return host.status();
  }
  executable->host = std::move(*host);
  executable->views.emplace(*executable->plan->source);
  if (poison) {
    executable->poisonHost = std::make_unique<PoisonHost>(*executable->host, *executable->plan);
    executable->poisonBackend = std::make_unique<PoisonBackend>(
        *executable->backend, *executable->poisonHost, *executable->plan);
  }
  executable->executor = std::make_unique<PlanExecutor>(
      executable->plan,
      poison ? static_cast<TensorHost &>(*executable->poisonHost) : *executable->host,
      poison ? static_cast<KernelBackend &>(*executable->poisonBackend) : *executable->backend);
  FRIT_RETURN_IF_ERROR(executable->bindConstants(constants, weights));
  return executable;
}

Result<std::unique_ptr<TorchExecutable>>
TorchExecutable::open(std::shared_ptr<const Artifact> artifact,
                      const std::map<std::string, at::TensorBase> &weights, bool pack) {
  auto opened = load(std::move(artifact), {}, false, weights);
  if (opened.isOk()) {
    (*opened)->executor->refuseOverlap();
    if (!pack) {
      (*opened)->host->readWeightsInPlace();
    }
  }
  return opened;
}

// Defined here, where its members' types are complete.
TorchExecutable::~TorchExecutable() = default;

/// The weight of constant `number`: mapped from the file, or passed by the caller.
Result<at::TensorBase>
TorchExecutable::weightTensor(uint32_t number,
                              const std::map<std::string, at::TensorBase> &weights) const {
  if (auto name = givenName(*plan, number)) {
    const at::TensorBase &tensor = weights.at(*name);
    auto reason = tensor.defined() ? unfitReason(*tensor.unsafeGetTensorImpl()) : "it is undefined";
    return reason ? Result<at::TensorBase>(
                        Status::error(ErrorKind::BadInput, "weight '" + *name + "': " + *reason))
                  : tensor;
  }
  auto weight = weightOf(*plan, number);
  FRIT_RETURN_IF_ERROR(weight.status());
  // The tensor may outlive this object, as a result, so it keeps the mapping.
  at::Tensor mapped = at::from_blob(
      weight->data, weight->sizes, weight->strides, [kept = artifact](void *) {},
      at::TensorOptions(scalarTypeOf(weight->dtype)));
  format::Device device = plan->tensors[plan->source->constants()->Get(number)->tensor()].device;
  return at::TensorBase(device == format::Device::Cpu ? mapped : mapped.to(deviceOf(device)));
}

Status TorchExecutable::bindConstants(std::span<const at::TensorBase> constants,
                                      const std::map<std::string, at::TensorBase> &weights) {
  FRIT_RETURN_IF_ERROR(checkGiven(*artifact, keysOf(weights)));
  const auto *wanted = plan->source->constants();
  uint32_t count = wanted ? wanted->size() : 0;
  auto own = static_cast<size_t>(wanted ? std::count_if(wanted->begin(), wanted->end(),
                                                        [](auto *c) { return c->weight() >= 0; })
                                        : 0);
  if (constants.size() != count - own) {
    return Status::error(ErrorKind::BadInput,
                         "graph '" + std::string(graphName()) + "' needs " +
                             std::to_string(count - own) +
                             " constants that are not in the file, load() was given " +
                             std::to_string(constants.size()) + "; a compiled .pt2 has them all");
  }
  for (uint32_t number = 0; number < count; ++number) {
    const format::Constant &constant = *wanted->Get(number);
    at::TensorBase tensor;
    if (constant.weight() >= 0) {
      auto weight = weightTensor(number, weights);
      FRIT_RETURN_IF_ERROR(weight.status());
      tensor = std::move(*weight);
    } else if (constant.index() < 0 || static_cast<size_t>(constant.index()) >= constants.size()) {
      return Status::error(ErrorKind::BadArtifact, "constant " + std::to_string(number) +
                                                       " has no place among those of load()");
    } else {
      tensor = constants[static_cast<size_t>(constant.index())];
      if (auto reason = unfitReason(*tensor.unsafeGetTensorImpl())) {
        return Status::error(ErrorKind::BadInput,
                             "constant " + std::to_string(number) + ": " + *reason);
      }
    }
    FRIT_RETURN_IF_ERROR(executor->bindConstant(number, tensor.unsafeGetTensorImpl()));
  }
  return Status::ok();
}

Signature TorchExecutable::describeItself() const { return describe(*plan); }

std::string TorchExecutable::signature() const { return signatureOf(*plan); }

/// Prefers the GPU's plan, then the CPU's, then the emulation.
Status TorchExecutable::chooseBackend() {
  const format::Plan *gpu = artifact->plan(format::Target::Gpu),
                     *cpu = artifact->plan(format::Target::Cpu);
  if (gpu) {
    auto found = hasNativeHandle<c10::Stream>()
                     ? Driver::system()
                     : Result<std::shared_ptr<Driver>>(Status::error(
                           ErrorKind::Unsupported,
                           "the installed torch does not name its CUDA streams; torch 2.13 does"));
    if (found.isOk()) {
      auto decoded = DecodedPlan::decode(artifact, *gpu);
      if (!decoded.isOk()) {
        return decoded.status();
      }
      plan = *decoded;
      auto created = CudaBackend::create(plan, *found, &JitLinker::system);
      if (!created.isOk()) {
        return created.status();
      }
      driver = *found;
      cuda = created->get();
      backend = std::move(*created);
      return Status::ok();
    }
    if (!cpu && !artifact->plan(format::Target::Simt)) {
      return found.status();
    }
  }
  const format::Plan *host = cpu ? cpu : artifact->plan(format::Target::Simt);
  if (!host) {
    return Status::error(ErrorKind::Unsupported,
                         "the artifact has no plan torch can run; compile it for the CPU or a GPU");
  }
  auto decoded = DecodedPlan::decode(artifact, *host);
  if (!decoded.isOk()) {
    return decoded.status();
  }
  plan = *decoded;
  auto take = [&](auto created) {
    if (!created.isOk()) {
      return created.status();
    }
    backend = std::move(*created);
    return Status::ok();
  };
  return cpu ? take(CpuBackend::create(*plan)) : take(SimtBackend::create(plan));
}

/// Whether a tensor is a dual number of torch.autograd.forward_ad.
static bool hasTangent(void *handle) {
  at::TensorBase held = tensorOf(handle);
  return at::OptionalTensorRef(held)->_fw_grad(0).defined();
}

/// Refuses tensors that compiled code cannot take, and finds the GPU of the call. The executor
/// checks that all arguments are on it.
Status TorchExecutable::checkArguments(std::span<InputValue> inputs, int &device) const {
  auto wrong = [&](size_t number, const std::string &what) {
    return Status::error(ErrorKind::BadInput, "graph '" + std::string(graphName()) + "', input " +
                                                  std::to_string(number) + ": " + what);
  };
  bool mayHaveTangents = torch::autograd::ForwardADLevel::try_get_by_idx(0) != nullptr;
  // The executor reports a wrong number of arguments.
  for (size_t number = 0; number < std::min(inputs.size(), inputCount()); ++number) {
    if (!inputs[number].handle) {
      continue;
    }
    const c10::TensorImpl &impl = *implOf(inputs[number].handle);
    if (auto reason = unfitReason(impl)) {
      return wrong(number, *reason);
    }
    // The call runs as traced (frit/capture/as_is.py), where eager computes the tangent, or raises
    // its own error.
    if (mayHaveTangents && hasTangent(inputs[number].handle)) {
      return wrong(number, "kernels compute no tangents of forward-mode differentiation");
    }
    if (implOf(inputs[number].handle)->is_inference() && executor->writesInput(number) &&
        !c10::InferenceMode::is_enabled()) {
      return wrong(number, "an inference tensor is written only in inference mode");
    }
    if (impl.is_cuda()) {
      device = device >= 0 ? device : impl.device().index();
    }
  }
  return Status::ok();
}

namespace {

/// The memory of an argument that the call must not write to.
struct Untouched {
  c10::Storage storage;
  /// Bytes of it that the plan may write through other arguments.
  std::vector<std::pair<size_t, size_t>> written;
  uint64_t digest = 0;

  uint64_t digestNow() const {
    const auto *bytes = static_cast<const unsigned char *>(storage.data());
    uint64_t value = 1469598103934665603ULL;
    for (size_t at = 0; bytes && at < storage.nbytes(); ++at) {
      bool open = std::any_of(written.begin(), written.end(), [&](const auto &range) {
        return range.first <= at && at < range.second;
      });
      value = open ? value : (value ^ bytes[at]) * 1099511628211ULL;
    }
    return value;
  }
};

} // namespace

/// Runs the call with every buffer guarded, and compares the memory of its arguments before and
/// after.
Status TorchExecutable::runPoisoned(std::span<InputValue> inputs, std::span<OutputValue> outputs) {
  std::vector<std::pair<size_t, Untouched>> kept;
  for (size_t number = 0; number < std::min(inputs.size(), inputCount()); ++number) {
    if (!inputs[number].handle || !implOf(inputs[number].handle)->is_cpu()) {
      continue;
    }
    c10::TensorImpl *impl = implOf(inputs[number].handle);
    const c10::Storage &storage = impl->storage();
    auto known = std::find_if(kept.begin(), kept.end(), [&](const auto &one) {
      return one.second.storage.data() == storage.data();
    });
    if (known == kept.end()) {
      kept.push_back({number, {storage, {}, 0}});
      known = kept.end() - 1;
    }
    if (plan->source->inputs()->Get(static_cast<uint32_t>(number))->mutated() &&
        impl->numel() != 0) {
      int64_t span = 1;
      for (int64_t dim = 0; dim < impl->dim(); ++dim) {
        span += (impl->size(dim) - 1) * impl->stride(dim);
      }
      size_t begin = static_cast<size_t>(impl->storage_offset()) * impl->itemsize();
      known->second.written.push_back(
          {begin, begin + static_cast<size_t>(span) * impl->itemsize()});
    }
  }
  for (auto &[number, memory] : kept) {
    memory.digest = memory.digestNow();
  }
  Status status = executor->tryRun(inputs, outputs);
  Status ends = poisonHost->finish();
  FRIT_RETURN_IF_ERROR(status);
  for (const auto &[number, memory] : kept) {
    if (ends.isOk() && memory.digest != memory.digestNow()) {
      ends = Status::error(ErrorKind::Runtime,
                           "poison: graph '" + std::string(graphName()) +
                               "' changed the memory under input " + std::to_string(number) +
                               ", which it may not write to; report it with the graph");
    }
  }
  return ends;
}

void TorchExecutable::run(std::span<InputValue> inputs, std::span<OutputValue> outputs) {
  if (Status status = runOnce(inputs, outputs); !status.isOk()) {
    throwStatus(status);
  }
}

Status TorchExecutable::runOnce(std::span<InputValue> inputs, std::span<OutputValue> outputs) {
  Status status = tryRun(inputs, outputs);
  for (InputValue &input : inputs) {
    if (!status.isOk() && input.handle) {
      host->releaseTensor(std::exchange(input.handle, nullptr));
    }
  }
  return status;
}

void TorchExecutable::forEachSubgraph(
    const std::function<void(const TorchExecutable &)> &visit) const {
  std::set<const Subgraph *> seen;
  for (const TorchHost::Call &call : host->preparedCalls()) {
    const auto *control = std::get_if<ControlFlow>(&call);
    for (size_t at = 0; control && at < control->subgraphs().size(); ++at) {
      if (const auto &graph = control->subgraphs()[at]; seen.insert(graph.get()).second) {
        const TorchExecutable &one = static_cast<TorchSubgraph &>(*graph).getExecutable();
        visit(one);
        one.forEachSubgraph(visit);
      }
    }
  }
}

Status TorchExecutable::tryRun(std::span<InputValue> inputs, std::span<OutputValue> outputs) {
  if (views->isEmpty() || inputs.size() != inputCount()) {
    return runBelowAutograd(inputs, outputs);
  }
  std::vector<at::TensorBase> arguments = views->hold(inputs);
  Status status = runBelowAutograd(inputs, outputs);
  if (status.isOk()) {
    views->tell(arguments, outputs);
  }
  return status;
}

Status TorchExecutable::runBelowAutograd(std::span<InputValue> inputs,
                                         std::span<OutputValue> outputs) {
  // AOTAutograd has already put autograd and autocast into the graph, so it runs below them.
  c10::impl::ExcludeDispatchKeyGuard belowAutograd(
      c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset);
  c10::AutoGradMode noGrad(false);
  ThreadLimit limit(mostThreads);
  RECORD_FUNCTION(spanName.c_str(), c10::ArrayRef<const c10::IValue>());
  int device = executor->constantGpu();
  FRIT_RETURN_IF_ERROR(checkArguments(inputs, device));
  c10::OptionalDeviceGuard onDevice;
  if (device >= 0) {
    onDevice.reset_device(
        c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device)));
  }
  TorchExecutable *runner = this;
  if (specialized) {
    std::optional<uint64_t> key = executor->bucketKey(inputs);
    TorchExecutable *made = key ? specialized->find(*key) : nullptr;
    runner = made ? made : this;
  }
  Status status = runner->poisonHost               ? runner->runPoisoned(inputs, outputs)
                  : graphs || !whyNoGraphs.empty() ? runAsGraph(*runner, inputs, outputs)
                                                   : runner->executor->tryRun(inputs, outputs);
  auto isHeld = [](const InputValue &input) {
    return input.kind != InputValue::Kind::Tensor || input.handle;
  };
  // A plan whose operators have kept their promises frees its arguments.
  bool mayRunAgain = !status.isOk() &&
                     (status.mayRunAgain() || status.kind() == ErrorKind::BadInput) &&
                     std::all_of(inputs.begin(), inputs.end(), isHeld);
  if (!status.isOk() && !mayRunAgain) {
    throwStatus(status);
  }
  return status;
}

void TorchExecutable::repeatErrors() {
  repeatsErrors = true;
  executor->repeatErrors();
}

bool TorchExecutable::hasNotes() const { return host->hasNotes(); }

std::vector<std::string> TorchExecutable::takeNotices() {
  std::vector<std::string> notices = host->takeNotes();
  if (executor->counters().overlapCopies.load(std::memory_order_relaxed) != 0 &&
      !noticed.exchange(true)) {
    notices.push_back(
        "graph '" + std::string(graphName()) +
        "' writes to an argument that shares memory with another one: it works "
        "on a copy (overlap_copies of its counters); pass tensors that lie apart to avoid it");
  }
  return notices;
}

void TorchExecutable::captureGraphs(GraphTensors tensors,
                                    std::shared_ptr<OperatorCapture> capture) {
  operators = std::move(capture);
  graphTensors = std::move(tensors);
  if (!cuda) {
    whyNoGraphs = "no GPU plan: it runs on the CPU";
  } else if (poisonHost) {
    whyNoGraphs = "poison guards the memory of every call";
  } else {
    graphs = std::make_unique<CudaGraphs>(plan, *host, *cuda, *executor, driver,
                                          graphPoolOfProcess(), graphTensors, operators.get());
    uint32_t number = 0;
    for (const auto &[tensor, slot] : executor->constants()) {
      // It was bound before, so it fits.
      if (!graphs->bindConstant(number++, slot.handle).isOk()) {
        whyNoGraphs = "a constant cannot be captured";
        graphs.reset();
        break;
      }
    }
  }
  if (!whyNoGraphs.empty()) {
    host->note("graph '" + std::string(graphName()) +
               "' is not captured in a CUDA graph: " + whyNoGraphs);
  }
}

Status TorchExecutable::runAsGraph(TorchExecutable &runner, std::span<InputValue> inputs,
                                   std::span<OutputValue> outputs) {
  if (runner.graphs) {
    return runner.graphs->run(inputs, outputs);
  }
  if (graphs) {
    graphs->count(runner.whyNoGraphs);
  } else {
    callsWithoutGraphs.fetch_add(1, std::memory_order_relaxed);
  }
  return runner.executor->tryRun(inputs, outputs);
}

void TorchExecutable::keepCubins(const std::string &root, uint64_t limit) {
  if (cuda) {
    cubins.emplace(root, limit);
    cuda->keepCubins(*cubins);
  }
}

void TorchExecutable::watchBuckets() {
  if (!specialized && !executor->bucketCounters().empty()) {
    specialized = std::make_unique<SpecializedKernels>();
  }
}

std::optional<std::vector<uint32_t>> TorchExecutable::takeWantedBuckets() {
  std::optional<uint64_t> key = specialized ? specialized->takeWanted() : std::nullopt;
  return key ? std::optional(executor->bucketsOfKey(*key)) : std::nullopt;
}

Status TorchExecutable::specialize(std::span<const uint32_t> buckets,
                                   std::shared_ptr<const Artifact> made,
                                   std::span<const at::TensorBase> constants) {
  auto bad = [&](const std::string &what) {
    return Status::error(ErrorKind::BadInput, "graph '" + std::string(graphName()) +
                                                  "' cannot take kernels for a bucket: " + what);
  };
  std::optional<uint64_t> key = specialized ? executor->keyOfBuckets(buckets) : std::nullopt;
  if (!key) {
    return bad("it has no such buckets, or they are not watched");
  }
  auto loaded = load(std::move(made), constants, poisonHost != nullptr);
  if (!loaded.isOk()) {
    return loaded.status();
  }
  // The signature without the ranges of sizes, which come last.
  auto callOf = [](const std::string &signature) {
    return signature.substr(0, signature.find("\"symbols\""));
  };
  if (callOf((*loaded)->signature()) != callOf(signature())) {
    return bad("their signature is another one than the graph's");
  }
  if (repeatsErrors) {
    (*loaded)->repeatErrors();
  }
  if (cubins && (*loaded)->cuda) {
    (*loaded)->cuda->keepCubins(*cubins);
  }
  if (graphs) {
    (*loaded)->captureGraphs(graphTensors, operators);
    if ((*loaded)->graphs) {
      // All its calls have the same bucket. Several graphs are needed only if parameters change or
      // if each size needs a separate graph.
      (*loaded)->graphs->setMostGraphs(4);
    }
  }
  return specialized->install(*key, std::move(*loaded));
}

void TorchExecutable::noteFailedSpecialization() {
  if (specialized) {
    specialized->noteFailure();
  }
}

void throwStatus(const Status &status) {
  switch (status.kind()) {
  case ErrorKind::Pending:
    rethrowPending();
  case ErrorKind::Index:
    TORCH_CHECK_INDEX(false, status.message());
  case ErrorKind::OutOfMemory:
    TORCH_CHECK_WITH(OutOfMemoryError, false, status.message());
  case ErrorKind::Value:
    TORCH_CHECK_VALUE(false, status.message());
  case ErrorKind::ZeroDivision:
  case ErrorKind::Overflow:
    throw NumberError(status);
  case ErrorKind::Runtime:
    TORCH_CHECK(false, status.message());
  default:
    TORCH_CHECK(false, "frit: ", status.message());
  }
}

} // namespace frit
