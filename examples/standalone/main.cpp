// Runs a .frit file without torch: ./run model.frit [SIZE]. Every input is filled with 0, 1/10,
// 2/10 ...; sizes that vary are SIZE, or the least they may be. Prints each result, a number a
// line.

#include <frit/Model.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

static frit::Tensor makeInput(const frit::Parameter &input, int64_t size,
                              std::vector<float> &memory) {
  frit::Tensor tensor;
  int64_t count = 1;
  for (const frit::Dimension &dim : input.shape) {
    tensor.sizes.push_back(dim.isFixed() ? dim.min : std::max(dim.min, size));
    count *= tensor.sizes.back();
  }
  memory.resize(count);
  for (int64_t i = 0; i < count; ++i) {
    memory[i] = static_cast<float>(i) / 10;
  }
  tensor.data = memory.data();
  return tensor;
}

static int fail(const std::string &message) {
  std::fprintf(stderr, "run: %s\n", message.c_str());
  return 1;
}

int main(int argc, char **argv) {
  auto model = frit::Model::load(argc > 1 ? argv[1] : "model.frit");
  if (!model.isOk()) {
    return fail(model.status().message());
  }
  std::vector<std::vector<float>> memory(model->inputs().size());
  std::vector<frit::Value> inputs;
  for (const frit::Parameter &input : model->inputs()) {
    if (input.kind != frit::Parameter::Kind::Tensor || input.dtype != frit::DataType::F32) {
      return fail("input '" + input.name +
                  "' is no float32 tensor, which is all this example makes");
    }
    inputs.push_back(makeInput(input, argc > 2 ? std::atoll(argv[2]) : 0, memory[inputs.size()]));
  }
  auto results = model->run(inputs);
  if (!results.isOk()) {
    return fail(results.status().message());
  }
  for (const frit::Value &result : *results) {
    const auto &tensor = std::get<frit::Tensor>(result);
    int64_t count = 1;
    std::for_each(tensor.sizes.begin(), tensor.sizes.end(), [&](int64_t size) { count *= size; });
    std::vector<float> numbers(count);
    frit::copyElements(tensor, numbers.data());
    std::for_each(numbers.begin(), numbers.end(),
                  [](float number) { std::printf("%.9g\n", number); });
  }
}
