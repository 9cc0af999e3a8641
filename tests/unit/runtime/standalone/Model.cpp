// The C++ API without torch: descriptions of models, ownership of memory, and one line for each
// error. examples/standalone and its test run models of the compiler.

#include "runtime/standalone/Model.h"
#include "tests/unit/runtime/standalone/SmallArtifact.h"

#include <fstream>
#include <gtest/gtest.h>
#include <thread>

using namespace frit;

namespace {

/// `z` and `w`, a weight, are results; the kernel writes nothing.
struct Stored {
  explicit Stored(size_t weights = kSmallWeights.size()) : file(pack(weights)) {}

  static std::string pack(size_t bytes) {
    Small small;
    std::string weights(bytes, '\1');
    small.artifact.weights[0]->bytes = bytes;
    small.plan().symbols[0]->max = 8;
    auto &output = *small.plan().outputs.emplace_back(std::make_unique<format::OutputT>());
    output.reg = small.w;
    return small.pack(weights);
  }

  TemporaryFile file;
};

Tensor floats(std::vector<float> &memory) {
  return {DataType::F32, {static_cast<int64_t>(memory.size())}, {}, memory.data(), nullptr};
}

TEST(Model, SaysWhatItTakesAndGives) {
  Stored stored;
  auto model = Model::load(stored.file.path);
  ASSERT_TRUE(model.isOk()) << model.status().message();
  ASSERT_EQ(model->inputs().size(), 1u);
  const Parameter &x = model->inputs()[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.kind, Parameter::Kind::Tensor);
  EXPECT_EQ(x.dtype, DataType::F32);
  ASSERT_EQ(x.shape.size(), 1u);
  EXPECT_FALSE(x.shape[0].isFixed());
  EXPECT_EQ(x.shape[0].symbol, "s0");
  EXPECT_EQ(x.shape[0].max, 8);
  EXPECT_EQ(model->symbols().size(), 1u);
  ASSERT_EQ(model->outputs().size(), 3u);
  EXPECT_TRUE(model->outputs()[2].shape[0].isFixed());
  EXPECT_EQ(model->outputs()[2].shape[0].min, 4);
}

TEST(Model, ResultsOutliveIt) {
  Stored stored;
  std::vector<Value> results;
  {
    auto model = Model::load(stored.file.path);
    ASSERT_TRUE(model.isOk());
    std::vector<float> x(3);
    results = *model->run(std::vector<Value>{floats(x)});
    EXPECT_EQ(model->statistics().calls, 1u);
    EXPECT_EQ(model->statistics().kernelLaunches, 1u);
  }
  const auto &y = std::get<Tensor>(results[0]), &w = std::get<Tensor>(results[2]);
  std::fill_n(static_cast<float *>(y.data), 3, 1.0f);
  EXPECT_EQ(static_cast<char *>(w.data)[15], '\1');
  EXPECT_EQ(std::get<Tensor>(results[1]).data, y.data);
  results.erase(results.begin());
  EXPECT_EQ(*static_cast<float *>(std::get<Tensor>(results[0]).data), 1.0f)
      << "a look keeps the memory of what it looks at";
}

TEST(Model, NamesWhatIsWrongWithAnArgument) {
  Stored stored;
  auto model = Model::load(stored.file.path);
  ASSERT_TRUE(model.isOk());
  std::vector<float> x(9);
  auto expect = [&](std::vector<Value> inputs, const char *part) {
    auto results = model->run(inputs);
    ASSERT_FALSE(results.isOk()) << part;
    EXPECT_EQ(results.status().kind(), ErrorKind::BadInput);
    EXPECT_NE(results.status().message().find(part), std::string::npos)
        << results.status().message();
    EXPECT_EQ(results.status().message().find('\n'), std::string::npos);
  };
  Tensor good = floats(x);
  good.sizes = {3};
  auto with = [&](auto change) {
    Tensor tensor = good;
    change(tensor);
    return std::vector<Value>{tensor};
  };
  EXPECT_TRUE(model->run(std::vector<Value>{good}).isOk());
  expect({}, "takes 1 inputs, got 0");
  expect({good, good}, "takes 1 inputs, got 2");
  expect({int64_t(3)}, "a tensor is needed");
  expect({Value()}, "a tensor is needed");
  expect(with([](Tensor &t) { t.dtype = DataType::I32; }),
         "its dtype is int32, compiled for float32");
  expect(with([](Tensor &t) { t.dtype = static_cast<DataType>(99); }), "unknown dtype");
  expect(with([](Tensor &t) { t.sizes = {9}; }), "between");
  expect(with([](Tensor &t) { t.strides = {2}; }), "its stride along dimension 0 is 2");
  expect(with([](Tensor &t) { t.strides = {1, 1}; }), "1 sizes and 2 strides");
  expect(with([](Tensor &t) { t.sizes = {-3}; }), "negative or too large");
  expect(with([](Tensor &t) { t.sizes = {INT64_MAX}, t.strides = {INT64_MAX}; }),
         "negative or too large");
  expect(with([](Tensor &t) { t.data = nullptr; }), "input 0 has no data");
}

TEST(Model, TakesWeightsByName) {
  Small small;
  format::WeightT &weight = *small.artifact.weights[0];
  weight.given = true, weight.bytes = 0, weight.sha256.clear();
  small.plan().outputs.emplace_back(std::make_unique<format::OutputT>())->reg = small.w;
  TemporaryFile file(small.pack({}));
  std::vector<float> w = {1, 2, 3, 4}, x(3);
  auto wrong = [&](const std::map<std::string, Tensor> &weights, const char *part) {
    auto model = Model::load(file.path, {}, weights);
    ASSERT_FALSE(model.isOk()) << part;
    EXPECT_NE(model.status().message().find(part), std::string::npos) << model.status().message();
  };
  wrong({}, "was compiled without weights; missing: 'w'");
  wrong({{"w", floats(w)}, {"v", floats(w)}}, "has no weights 'v'; it has 'w'");
  wrong({{"w", floats(x)}}, "constant 0 ('w'): its size along dimension 0 is 3, compiled for 4");
  wrong({{"w", Tensor{DataType::F32, {4}, {2}, w.data(), nullptr}}},
        "its stride along dimension 0 is 2, compiled for 1");
  wrong({{"w", Tensor{DataType::I32, {4}, {}, w.data(), nullptr}}},
        "its dtype is int32, compiled for float32");
  wrong({{"w", Tensor{DataType::F32, {4}, {}, nullptr, nullptr}}}, "weight 'w' has no data");
  Stored stored;
  EXPECT_NE(Model::load(stored.file.path, {}, {{"w", floats(w)}})
                .status()
                .message()
                .find("brings its own weights"),
            std::string::npos);
  auto model = Model::load(file.path, {}, {{"w", floats(w)}});
  ASSERT_TRUE(model.isOk()) << model.status().message();
  EXPECT_EQ(std::get<Tensor>(model->run(std::vector<Value>{floats(x)})->at(2)).data, w.data())
      << "used where it lies";
}

TEST(Model, RefusesDevicesItDoesNotKnow) {
  Stored stored;
  LoadOptions options;
  options.device = "simt";
  EXPECT_NE(Model::load(stored.file.path, options).status().message().find("has no plan for simt"),
            std::string::npos);
  options.device = "tpu";
  EXPECT_NE(Model::load(stored.file.path, options).status().message().find("unknown device 'tpu'"),
            std::string::npos);
}

TEST(Model, IsCalledFromSeveralThreads) {
  Stored stored;
  auto model = Model::load(stored.file.path);
  ASSERT_TRUE(model.isOk());
  std::vector<std::thread> threads;
  for (int64_t size : {1, 3, 8}) {
    threads.emplace_back([&model, size] {
      std::vector<float> x(static_cast<size_t>(size));
      for (int call = 0; call < 100; ++call) {
        auto results = model->run(std::vector<Value>{floats(x)});
        ASSERT_TRUE(results.isOk());
        ASSERT_EQ(std::get<Tensor>((*results)[0]).sizes, std::vector<int64_t>{size});
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(model->statistics().calls, 300u);
}

/// Kilobytes of a mapped file that are in memory.
uint64_t residentOf(const std::string &path) {
  std::ifstream lines("/proc/self/smaps");
  uint64_t total = 0;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    size_t word = line.find(' ');
    if (word != std::string::npos && line[word - 1] != ':') {
      inside = line.ends_with(path);
    } else if (inside && line.starts_with("Rss:")) {
      total += std::stoull(line.substr(4));
    }
  }
  return total;
}

TEST(Model, WeightsAreMappedAndNotRead) {
  size_t bytes = 32 << 20;
  Stored stored(bytes);
  auto model = Model::load(stored.file.path);
  ASSERT_TRUE(model.isOk()) << model.status().message();
  EXPECT_LT(residentOf(stored.file.path), 4096u);
  std::vector<float> x(3);
  auto results = model->run(std::vector<Value>{floats(x)});
  ASSERT_TRUE(results.isOk());
  const auto *weights = static_cast<const char *>(std::get<Tensor>((*results)[2]).data);
  uint64_t sum = 0;
  for (size_t at = 0; at < bytes; at += 4096) {
    sum += static_cast<uint64_t>(weights[at]);
  }
  EXPECT_EQ(sum, bytes / 4096);
  EXPECT_GT(residentOf(stored.file.path), bytes / 1024 - 4096);
}

} // namespace
