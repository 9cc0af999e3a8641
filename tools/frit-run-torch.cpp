// frit-run with libtorch and without Python, for artifacts that call operators of ATen or have
// kernels for a GPU. See --help.

#include "runtime/standalone/RunMain.h"
#include "runtime/torch/TorchModel.h"
#include "runtime/torch/TorchValues.h"

using namespace frit;

static Result<std::vector<Value>> runOverTorch(const TorchModel &model,
                                               std::span<const Value> inputs) {
  std::vector<c10::IValue> given;
  for (const Value &input : inputs) {
    bool onGpu = given.size() < model.inputs().size() && model.inputs()[given.size()].onGpu;
    given.push_back(toTorch(input, onGpu));
  }
  auto results = model.run(std::move(given));
  FRIT_RETURN_IF_ERROR(results.status());
  std::vector<Value> values;
  for (const c10::IValue &result : *results) {
    values.push_back(fromTorch(result));
  }
  return values;
}

static Result<Runner> load(const std::string &path, const LoadOptions &options,
                           const std::map<std::string, Tensor> &weights) {
  std::map<std::string, at::Tensor> given;
  for (const auto &[name, weight] : weights) {
    given[name] = toTorch(weight).toTensor();
  }
  auto loaded = TorchModel::load(path, options, given);
  FRIT_RETURN_IF_ERROR(loaded.status());
  auto model = std::make_shared<TorchModel>(std::move(*loaded));
  return Runner{[model](std::span<const Value> inputs) { return runOverTorch(*model, inputs); },
                [model] { return model->statistics(); }, model->report()};
}

int main(int argc, char **argv) {
  return runMain(argc, argv, load, [](const std::string &device) {
    return torchHasGpu() ? std::string() : "no device '" + device + "': this libtorch finds no GPU";
  });
}
