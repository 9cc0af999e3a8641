#include "runtime/torch/TorchModel.h"

#include "runtime/torch/Bridge.h"
#include "runtime/torch/TorchExecutable.h"

#include <c10/util/Exception.h>

#include <utility>

namespace frit {

struct TorchModel::State {
  std::unique_ptr<TorchExecutable> executable;
  Signature signature;
};

namespace {

Result<InputValue> inputOf(c10::IValue &value, size_t number) {
  using Kind = InputValue::Kind;
  InputValue input;
  if (value.isTensor()) {
    at::Tensor tensor = std::move(value).toTensor();
    if (!tensor.defined()) {
      return Status::error(ErrorKind::BadInput,
                           "input " + std::to_string(number) + " is an undefined tensor");
    }
    input.kind = Kind::Tensor;
    input.handle = handleOf(std::move(tensor));
  } else if (value.isInt()) {
    input.kind = Kind::Int;
    input.integer = value.toInt();
  } else if (value.isDouble()) {
    input.kind = Kind::Float;
    input.real = value.toDouble();
  } else if (value.isBool()) {
    input.kind = Kind::Bool;
    input.integer = value.toBool();
  } else if (!value.isNone()) {
    return Status::error(ErrorKind::BadInput,
                         "input " + std::to_string(number) + " is a " + value.tagKind() +
                             "; a model takes tensors, integers, floats, booleans and None");
  }
  return input;
}

c10::IValue resultOf(const OutputValue &output) {
  switch (output.kind) {
  case OutputValue::Kind::Tensor:
    return at::Tensor(takeTensor(output.handle));
  case OutputValue::Kind::Int:
    return output.integer;
  case OutputValue::Kind::Bool:
    return output.integer != 0;
  case OutputValue::Kind::Float:
    return output.real;
  default:
    return {};
  }
}

} // namespace

TorchModel::TorchModel(std::unique_ptr<State> state) : state(std::move(state)) {}
TorchModel::TorchModel(TorchModel &&) noexcept = default;
TorchModel &TorchModel::operator=(TorchModel &&) noexcept = default;
TorchModel::~TorchModel() = default;

/// Turns torch's exceptions into a status with their message.
template <typename F> static Status guarded(F &&body) {
  try {
    return body();
  } catch (const c10::OutOfMemoryError &error) {
    return Status::error(ErrorKind::OutOfMemory, error.what_without_backtrace());
  } catch (const c10::IndexError &error) {
    return Status::error(ErrorKind::Index, error.what_without_backtrace());
  } catch (const c10::Error &error) {
    return Status::error(ErrorKind::Runtime, error.what_without_backtrace());
  } catch (const std::exception &error) {
    return Status::error(ErrorKind::Runtime, error.what());
  }
}

Result<TorchModel> TorchModel::load(const std::string &path, const LoadOptions &options,
                                    const std::map<std::string, at::Tensor> &weights) {
  auto artifact = Artifact::fromFile(path, options.allowHostCode, options.weightsFolder);
  FRIT_RETURN_IF_ERROR(artifact.status());
  if (options.checkWeights) {
    FRIT_RETURN_IF_ERROR((*artifact)->checkWeights());
  }
  auto state = std::make_unique<State>();
  FRIT_RETURN_IF_ERROR(guarded([&] {
    auto executable =
        TorchExecutable::open(*artifact, {weights.begin(), weights.end()}, options.pack);
    FRIT_RETURN_IF_ERROR(executable.status());
    state->executable = std::move(*executable);
    return Status::ok();
  }));
  state->signature = state->executable->describeItself();
  return TorchModel(std::move(state));
}

const std::vector<Parameter> &TorchModel::inputs() const { return state->signature.inputs; }
const std::vector<Parameter> &TorchModel::outputs() const { return state->signature.outputs; }
const std::vector<SizeRange> &TorchModel::symbols() const { return state->signature.symbols; }
std::string TorchModel::report() const { return std::string(state->executable->report()); }
std::string TorchModel::stats() const { return state->executable->stats(); }

Statistics TorchModel::statistics() const {
  const Counters &counters = state->executable->counters();
  return {counters.calls, counters.kernelLaunches, counters.allocations, counters.peakBytes};
}

Result<std::vector<c10::IValue>> TorchModel::run(std::vector<c10::IValue> inputs) const {
  std::vector<InputValue> given;
  for (size_t number = 0; number < inputs.size(); ++number) {
    auto input = inputOf(inputs[number], number);
    if (!input.isOk()) {
      for (InputValue &one : given) {
        if (one.handle) {
          takeTensor(one.handle);
        }
      }
      return input.status();
    }
    given.push_back(*input);
  }
  std::vector<OutputValue> outputs(state->executable->outputCount());
  FRIT_RETURN_IF_ERROR(guarded([&] {
    state->executable->run(given, outputs);
    return Status::ok();
  }));
  std::vector<c10::IValue> results;
  for (const OutputValue &output : outputs) {
    results.push_back(resultOf(output));
  }
  return results;
}

} // namespace frit
