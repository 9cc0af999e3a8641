// frit-run over libtorch and without Python, for artifacts that call operators of ATen. See --help.

#include "runtime/standalone/RunMain.h"
#include "runtime/torch/TorchModel.h"
#include "runtime/torch/TorchValues.h"

#include <algorithm>

using namespace frit;

static Result<std::vector<Value>> runOverTorch(const TorchModel &model, std::span<const Value> inputs) {
  std::vector<c10::IValue> given;
  std::transform(inputs.begin(), inputs.end(), std::back_inserter(given), toTorch);
  auto results = model.run(std::move(given));
  FRIT_RETURN_IF_ERROR(results.status());
  std::vector<Value> values;
  std::transform(results->begin(), results->end(), std::back_inserter(values), fromTorch);
  return values;
}

int main(int argc, char **argv) {
  return runMain(argc, argv, [](const std::string &path, const LoadOptions &options, const std::map<std::string, Tensor> &weights) -> Result<Runner> {
    std::map<std::string, at::Tensor> given;
    for (const auto &[name, weight] : weights) {
      given[name] = toTorch(weight).toTensor();
    }
    auto loaded = TorchModel::load(path, options, given);
    FRIT_RETURN_IF_ERROR(loaded.status());
    auto model = std::make_shared<TorchModel>(std::move(*loaded));
    return Runner{[model](std::span<const Value> inputs) { return runOverTorch(*model, inputs); }, [model] { return model->statistics(); },
                  model->report()};
  });
}
