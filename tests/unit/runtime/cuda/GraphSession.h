// Shared by the tests of CUDA graphs: a plan with graphs over the scripted driver, and a pool of
// counted blocks.

#pragma once

#include "runtime/cuda/CudaGraphs.h"
#include "tests/unit/runtime/cuda/FakeDriver.h"

namespace fakecuda {

inline std::atomic<int> poolBlocks, poolRequests, poolFailAt;

/// Blocks that are never freed, as after a sticky error, when the device's memory is lost with its
/// context.
inline std::map<void *, std::shared_ptr<void>> poolMemory;

inline BlockSource blocks() {
  return {[](uint64_t bytes) -> void * {
            notWhileCapturing("a block is taken");
            if (poolRequests++ == poolFailAt) {
              return nullptr;
            }
            ++poolBlocks;
            void *memory = std::aligned_alloc(512, bytes);
            std::lock_guard<std::mutex> guard(fakeLock);
            poolMemory[memory] = {memory, std::free};
            return memory;
          },
          [](void *memory) {
            --poolBlocks;
            std::lock_guard<std::mutex> guard(fakeLock);
            poolMemory.erase(memory);
          }};
}

using Values = std::vector<float>;

/// Applies `edit` to the plan of an artifact.
template <typename Edit> std::string changed(const std::string &bytes, Edit edit) {
  format::ArtifactT artifact;
  auto read = *Artifact::fromBytes({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  read->root().UnPackTo(&artifact);
  edit(*artifact.plans[0]);
  return packArtifact(artifact);
}

template <typename Action> void addStep(format::PlanT &plan, Action action) {
  plan.steps.push_back(std::make_unique<format::StepT>());
  plan.steps.back()->action.Set(std::move(action));
}

/// Adds a last step that writes the first result into w.
inline void addWriteBack(format::PlanT &plan) {
  plan.inputs[1]->mutated = true;
  format::CopyIntoT copy;
  copy.tensor = plan.inputs[1]->reg;
  copy.source = plan.outputs[0]->reg;
  addStep(plan, copy);
}

/// Adds a tensor like `like` that is a view of `source` from an offset on, with this number of
/// elements (both are registers).
inline uint32_t addView(format::PlanT &plan, uint32_t like, uint32_t source, uint32_t offset,
                        uint32_t elements) {
  auto tensor = std::make_unique<format::TensorT>(*plan.tensors[like]);
  tensor->sizes = {elements};
  plan.tensors.push_back(std::move(tensor));
  format::ViewT view;
  view.tensor = static_cast<uint32_t>(plan.tensors.size() - 1);
  view.source = source;
  view.offset = offset;
  addStep(plan, view);
  return view.tensor;
}

inline void addOutput(format::PlanT &plan, format::OutputKind kind, uint32_t reg) {
  plan.outputs.push_back(std::make_unique<format::OutputT>());
  plan.outputs.back()->kind = kind;
  plan.outputs.back()->reg = reg;
  plan.outputs.back()->dtype = format::Dtype::I64;
}

/// A plan with graphs; its argument 1 ('w') is static.
struct Graphs : Session {
  explicit Graphs(const std::string &bytes,
                  std::shared_ptr<GraphPool> shared = std::make_shared<GraphPool>(blocks()),
                  bool isStatic = true)
      : Session(bytes), pool(std::move(shared)) {
    make(isStatic, nullptr);
  }
  void make(bool isStatic, OperatorCapture *operators) {
    graphs = std::make_unique<CudaGraphs>(
        plan, host(), *backend, *executor, driver, *pool,
        GraphTensors{isStatic ? std::vector<uint32_t>{1} : std::vector<uint32_t>{}, keptResults,
                     keptArguments},
        operators);
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
  /// Runs a call that takes x; w stays the caller's.
  Status callInto(HostTensor *x, HostTensor *w, std::span<OutputValue> outputs) {
    InputValue inputs[2];
    inputs[0].kind = inputs[1].kind = InputValue::Kind::Tensor;
    inputs[0].handle = x;
    inputs[1].handle = w;
    ++host().held;
    host().retainTensor(w);
    Status status = graphs->run(inputs, outputs);
    EXPECT_EQ(inputs[0].handle, nullptr);
    EXPECT_EQ(inputs[1].handle, nullptr);
    return status;
  }
  /// Returns the result as a tensor of the caller.
  frit::Result<HostTensor *> keep(const Values &x, HostTensor *w) {
    OutputValue output;
    Status status = callInto(newTensor(x), w, {&output, 1});
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
  std::vector<uint32_t> keptResults, keptArguments;
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
    inPool.clear();
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
