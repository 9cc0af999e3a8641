#include "runtime/torch/TorchExecutable.h"

#include "runtime/cpu/CpuBackend.h"
#include "runtime/torch/Bridge.h"
#include "runtime/torch/TorchHost.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

#include <map>

namespace frit {

Result<std::unique_ptr<TorchExecutable>> TorchExecutable::load(std::shared_ptr<const Artifact> artifact,
                                                               std::span<const at::TensorBase> constants) {
  std::unique_ptr<TorchExecutable> executable(new TorchExecutable());
  const format::Plan *plan = artifact->plan(format::Target::Cpu);
  if (!plan) {
    return Status::error(ErrorKind::Unsupported, "the artifact has no plan for this machine's devices; compile it for the CPU");
  }
  auto decoded = DecodedPlan::decode(artifact, *plan);
  if (!decoded.isOk()) {
    return decoded.status();
  }
  executable->artifact = std::move(artifact);
  executable->plan = *decoded;
  auto host = TorchHost::create(**decoded);
  if (!host.isOk()) {
    return host.status();
  }
  executable->host = std::move(*host);
  auto backend = CpuBackend::create(**decoded);
  if (!backend.isOk()) {
    return backend.status();
  }
  executable->backend = std::move(*backend);
  executable->executor = std::make_unique<PlanExecutor>(*decoded, *executable->host, *executable->backend);
  uint32_t wanted = plan->constants() ? plan->constants()->size() : 0;
  if (constants.size() != wanted) {
    return Status::error(ErrorKind::BadInput, "graph '" + std::string(executable->graphName()) + "' needs " +
                                                  std::to_string(wanted) + " constants, load() was given " +
                                                  std::to_string(constants.size()));
  }
  for (uint32_t number = 0; number < wanted; ++number) {
    int32_t index = plan->constants()->Get(number)->index();
    if (index < 0 || static_cast<size_t>(index) >= constants.size()) {
      return Status::error(ErrorKind::BadArtifact, "constant " + std::to_string(number) + " has no place among those of load()");
    }
    const at::TensorBase &constant = constants[static_cast<size_t>(index)];
    if (auto reason = unfitReason(*constant.unsafeGetTensorImpl())) {
      return Status::error(ErrorKind::BadInput, "constant " + std::to_string(number) + ": " + *reason);
    }
    FRIT_RETURN_IF_ERROR(executable->executor->bindConstant(number, constant.unsafeGetTensorImpl()));
  }
  return executable;
}

TorchExecutable::~TorchExecutable() = default;

void TorchExecutable::run(std::span<InputValue> inputs, std::span<OutputValue> outputs) {
  // AOTAutograd has already placed autograd and autocast into the graph; below them is where a compiled graph lives.
  c10::impl::ExcludeDispatchKeyGuard belowAutograd(c10::autograd_dispatch_keyset_with_ADInplaceOrView |
                                                   c10::autocast_dispatch_keyset);
  c10::AutoGradMode noGrad(false);
  std::string unfit;
  for (size_t number = 0; number < inputs.size(); ++number) {
    if (inputs[number].handle) {
      if (auto reason = unfitReason(*implOf(inputs[number].handle))) {
        unfit = "graph '" + std::string(graphName()) + "', input " + std::to_string(number) + ": " + *reason;
        break;
      }
    }
  }
  if (!unfit.empty()) {
    for (InputValue &input : inputs) {
      if (input.handle) {
        host->releaseTensor(std::exchange(input.handle, nullptr));
      }
    }
    throwStatus(Status::error(ErrorKind::BadInput, unfit));
  }
  Status status = executor->run(inputs, outputs);
  if (!status.isOk()) {
    throwStatus(status);
  }
}

std::string TorchExecutable::stats() const {
  const Counters &counters = executor->counters();
  auto field = [](const char *name, const std::atomic<uint64_t> &value) {
    return "\"" + std::string(name) + "\": " + std::to_string(value.load());
  };
  std::map<std::string, uint64_t> byName;
  for (const AtenCall &call : host->atenCalls()) {
    byName[call.name() + (call.overload().empty() ? "" : "." + call.overload())] += call.count.load();
  }
  std::string calls;
  for (const auto &[name, count] : byName) {
    calls += (calls.empty() ? "" : ", ") + ("\"" + name + "\": ") + std::to_string(count);
  }
  return "{" + field("calls", counters.calls) + ", " + field("kernel_launches", counters.kernelLaunches) + ", " +
         field("aten_calls", counters.atenCalls) + ", " + field("allocations", counters.allocations) + ", " +
         field("size_evaluations", counters.sizeEvaluations) + ", " + field("peak_bytes", counters.peakBytes) +
         ", \"aten\": {" + calls + "}}";
}

void throwStatus(const Status &status) {
  switch (status.kind()) {
  case ErrorKind::Pending:
    rethrowPending();
  case ErrorKind::Index:
    TORCH_CHECK_INDEX(false, status.message());
  case ErrorKind::OutOfMemory:
    TORCH_CHECK_WITH(OutOfMemoryError, false, status.message());
  case ErrorKind::ZeroDivision:
  case ErrorKind::Runtime:
    TORCH_CHECK(false, status.message());
  default:
    TORCH_CHECK(false, "frit: ", status.message());
  }
}

} // namespace frit
