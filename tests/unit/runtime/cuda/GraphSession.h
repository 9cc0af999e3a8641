// What the tests of CUDA graphs share: a plan with graphs over the scripted driver, and a pool of counted blocks.

#pragma once

#include "runtime/cuda/CudaGraphs.h"
#include "tests/unit/runtime/cuda/FakeDriver.h"

namespace fakecuda {

inline std::atomic<int> poolBlocks, poolRequests, poolFailAt;

inline BlockSource blocks() {
  return {[](uint64_t bytes) -> void * {
            notWhileCapturing("a block is taken");
            if (poolRequests++ == poolFailAt) {
              return nullptr;
            }
            ++poolBlocks;
            return std::aligned_alloc(512, bytes);
          },
          [](void *memory) { --poolBlocks, std::free(memory); }};
}

using Values = std::vector<float>;

/// A plan with graphs; its argument 1 ('w') is static.
struct Graphs : Session {
  explicit Graphs(const std::string &bytes, std::shared_ptr<GraphPool> shared = std::make_shared<GraphPool>(blocks()), bool isStatic = true)
      : Session(bytes), pool(std::move(shared)) {
    make(isStatic, nullptr);
  }
  void make(bool isStatic, OperatorCapture *operators) {
    graphs = std::make_unique<CudaGraphs>(plan, host(), *backend, *executor, driver, *pool,
                                          isStatic ? std::vector<uint32_t>{1} : std::vector<uint32_t>{}, operators);
  }
  ~Graphs() {
    for (HostTensor *weight : weights) {
      host().releaseTensor(weight);
    }
  }
  HostTensor *weight(const Values &values) {
    ++host().held;
    return weights.emplace_back(newTensor(values));
  }
  /// The result as a tensor of the caller.
  frit::Result<HostTensor *> keep(const Values &x, HostTensor *w) {
    InputValue inputs[2];
    inputs[0].kind = inputs[1].kind = InputValue::Kind::Tensor;
    inputs[0].handle = newTensor(x);
    inputs[1].handle = w;
    ++host().held;
    host().retainTensor(w);
    OutputValue output;
    Status status = graphs->run(inputs, {&output, 1});
    EXPECT_EQ(inputs[0].handle, nullptr);
    EXPECT_EQ(inputs[1].handle, nullptr);
    if (!status.isOk()) {
      EXPECT_EQ(output.handle, nullptr);
      return status;
    }
    return static_cast<HostTensor *>(output.handle);
  }
  static Values valuesOf(const HostTensor *tensor) {
    auto *first = reinterpret_cast<const float *>(tensor->data);
    return Values(first, first + tensor->sizes[0]);
  }
  frit::Result<Values> call(const Values &x, HostTensor *w) {
    auto kept = keep(x, w);
    if (!kept.isOk()) {
      return kept.status();
    }
    Values values = valuesOf(*kept);
    host().releaseTensor(*kept);
    return values;
  }
  std::map<std::string, uint64_t> reasons() { return graphs->counters().notCaptured; }

  std::shared_ptr<GraphPool> pool;
  std::unique_ptr<CudaGraphs> graphs;
  std::vector<HostTensor *> weights;
};

struct CudaGraphsTest : testing::Test {
  void SetUp() override {
    fake = FakeDriver();
    fake.kernel = addOnHost;
    fake.pointers = 3;
    poolBlocks = poolRequests = 0;
    poolFailAt = -1;
  }
  void TearDown() override {
    EXPECT_EQ(fake.broken, "");
    EXPECT_EQ(fake.liveGraphs, 0);
    EXPECT_EQ(poolBlocks.load(), 0);
  }
};

/// x + 5 * w.
inline Values expected(Values x, const Values &w) {
  for (size_t at = 0; at < x.size(); ++at) {
    x[at] += 5 * w[at];
  }
  return x;
}

} // namespace fakecuda
