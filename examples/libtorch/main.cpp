// Runs a .frit file over libtorch, without Python: ./run model.frit [SIZE]. Every input is filled
// with 0, 1/10, 2/10 ... (whole numbers below 50 where it takes integers); sizes that vary are
// SIZE, or the least they may be. Prints each result, a number a line.

#include <frit/TorchModel.h>

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

static at::Tensor makeInput(const frit::Parameter &input, int64_t size) {
  std::vector<int64_t> sizes;
  int64_t count = 1;
  for (const frit::Dimension &dim : input.shape) {
    sizes.push_back(dim.isFixed() ? dim.min : std::max(dim.min, size));
    count *= sizes.back();
  }
  bool integers = input.dtype == frit::DataType::I64;
  at::Tensor numbers =
      integers ? at::arange(count, at::kLong) % 50 : at::arange(count, at::kFloat) / 10;
  return numbers.view(sizes);
}

static int fail(const std::string &message) {
  std::fprintf(stderr, "run: %s\n", message.c_str());
  return 1;
}

int main(int argc, char **argv) {
  auto model = frit::TorchModel::load(argc > 1 ? argv[1] : "model.frit");
  if (!model.isOk()) {
    return fail(model.status().message());
  }
  std::vector<c10::IValue> inputs;
  for (const frit::Parameter &input : model->inputs()) {
    if (input.kind != frit::Parameter::Kind::Tensor) {
      return fail("input '" + input.name + "' is no tensor, which is all this example makes");
    }
    inputs.push_back(makeInput(input, argc > 2 ? std::atoll(argv[2]) : 0));
  }
  auto results = model->run(std::move(inputs));
  if (!results.isOk()) {
    return fail(results.status().message());
  }
  for (const c10::IValue &result : *results) {
    at::Tensor numbers = result.toTensor().to(at::kDouble).flatten();
    for (int64_t i = 0; i < numbers.numel(); ++i) {
      std::printf("%.9g\n", numbers[i].item<double>());
    }
  }
}
