// Shared by the tests of graphs with operators of torch, with a fake of torch: its captures, its
// memory pool, and an operator. Each capture uses the pool from its start, except for saved
// results, and the pool is filled with junk between calls, so that a graph must not read stale
// data.

#pragma once

#include "tests/unit/runtime/cuda/GraphSession.h"

namespace fakecuda {

/// Follows torch's CUDAGraph: the order of its actions, and its state after a capture fails to end.
struct FakeTorch : OperatorCapture {
  explicit FakeTorch(DeviceHost &host) : host(host) {}

  frit::Result<std::shared_ptr<void>> open() override {
    if (openFails) {
      return Status::error(ErrorKind::Runtime, "no stream");
    }
    memory.push_back(std::make_shared<std::vector<char>>(1 << 20));
    return std::shared_ptr<void>(memory.back());
  }

  frit::Result<Graph> capture(const std::shared_ptr<void> &shared,
                              const std::function<Status()> &body) override {
    DriverTable driver = fakeTable();
    auto *own = reinterpret_cast<void *>(0x999), *before = host.stream;
    int held = host.held;
    host.pool = std::static_pointer_cast<std::vector<char>>(shared);
    host.poolUsed = reserved(*host.pool);
    host.stream = own;
    fake.hasPool = true;
    Status status = doesNotCapture ? Status::ok()
                    : driver.cuStreamBeginCapture(own, 1)
                        ? Status::error(ErrorKind::Runtime, "cannot begin")
                        : Status::ok();
    DriverGraph graph = nullptr;
    if (status.isOk()) {
      isUnderway = true;
      status = body();
      if (DriverCode code = doesNotCapture ? 0 : driver.cuStreamEndCapture(own, &graph)) {
        return Status::error(ErrorKind::Runtime, "ending failed with " + std::to_string(code));
      }
      isUnderway = false;
    }
    EXPECT_EQ(host.held.load(), held) << "tensors of a capture go back to the pool";
    host.pool.reset();
    host.stream = before;
    fake.hasPool = false;
    if (!graph) {
      return status.isOk() ? Status::error(ErrorKind::Runtime, "no graph") : status;
    }
    void *exec = makeGraph(*static_cast<FakeGraph *>(graph));
    driver.cuGraphDestroy(graph);
    std::shared_ptr<void> object(
        exec, [memory = shared](void *graph) { fakeTable().cuGraphExecDestroy(graph); });
    return status.isOk() ? frit::Result<Graph>(Graph{object, exec}) : status;
  }

  Status replay(const Graph &graph) override {
    ++replays;
    return fakeTable().cuGraphLaunch(graph.object.get(), host.stream)
               ? Status::error(ErrorKind::Runtime, "torch cannot")
               : Status::ok();
  }

  /// Overwrites all memory except for results in use, since no graph may depend on it between
  /// calls.
  void fillWithJunk() {
    for (auto &one : memory) {
      std::vector<char> before = *one;
      std::fill(one->begin(), one->end(), '\xff');
      for (const auto &[tensor, end] : inPool) {
        char *first = tensor.lock().get();
        if (tensor.use_count() > static_cast<long>(heldStorages.count(first)) &&
            first >= one->data() && end <= one->data() + one->size()) {
          std::copy(before.begin() + (first - one->data()), before.begin() + (end - one->data()),
                    first);
        }
      }
    }
  }
  /// The offset after the last tensor in use, from which a capture allocates.
  size_t reserved(const std::vector<char> &pool) const {
    char *last = nullptr;
    for (const auto &[tensor, end] : inPool) {
      bool isHere = !tensor.expired() && end > pool.data() && end <= pool.data() + pool.size();
      last = isHere ? std::max(last, end) : last;
    }
    return last ? (static_cast<size_t>(last - pool.data()) + 127) / 64 * 64 : 0;
  }

  DeviceHost &host;
  std::vector<std::shared_ptr<std::vector<char>>> memory;
  bool openFails = false, doesNotCapture = false, isUnderway = false;
  int replays = 0;
};

/// chainOf(5) with operators instead of the second and fourth kernel.
inline std::string withOperators(const char *name = "aten::mm") {
  format::ArtifactT artifact;
  std::string bytes = chainOf(5);
  auto read = *Artifact::fromBytes({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  read->root().UnPackTo(&artifact);
  format::PlanT &plan = *artifact.plans[0];
  std::vector<std::unique_ptr<format::StepT>> steps;
  int launches = 0;
  for (auto &step : plan.steps) {
    format::LaunchT *launch = step->action.AsLaunch();
    if (launch && launches++ % 2 == 1) {
      steps.pop_back(); // the operator allocates its result
      format::AtenT call;
      call.name = name;
      uint32_t source = launch->tensors[0], result = launch->tensors[2];
      for (auto [reg, list] : {std::pair(source, &call.arguments), {result, &call.results}}) {
        list->push_back(std::make_unique<format::ValueT>());
        list->back()->kind = format::ValueKind::Tensor;
        list->back()->reg = reg;
      }
      step->action.Set(std::move(call));
    }
    steps.push_back(std::move(step));
  }
  plan.steps = std::move(steps);
  return packArtifact(artifact);
}

/// y = 2 * x with a workspace.
inline Status twice(DeviceHost &host, const DecodedPlan &plan, uint32_t number, RunState &state) {
  const format::Aten &call = *plan.atenCalls[number];
  TensorView x = host.viewOf(state.tensors[call.arguments()->Get(0)->reg()].handle);
  uint64_t count = static_cast<uint64_t>(x.sizes[0]);
  void *workspace = host.allocateRaw(format::Device::Cuda, count * 4);
  if (!workspace) {
    return Status::error(ErrorKind::OutOfMemory, "CUDA out of memory. Tried to allocate");
  }
  TensorSlot &slot = state.tensors[call.results()->Get(0)->reg()];
  Status status =
      host.allocateTensor({{x.sizes, 1}, {x.strides, 1}, x.dtype, format::Device::Cuda}, slot);
  if (status.isOk()) {
    slot.owner = TensorSlot::Owner::Handle;
    auto work = [=, from = static_cast<float *>(x.data), to = static_cast<float *>(slot.data),
                 between = static_cast<float *>(workspace)] {
      std::copy(from, from + count, between);
      std::transform(between, between + count, to, [](float value) { return 2 * value; });
    };
    if (isCaptured(host.stream)) {
      say("record operator");
      fake.recorded.push_back(work);
    } else {
      say("operator");
      work();
    }
  }
  host.freeRaw(format::Device::Cuda, workspace);
  return status;
}

/// ((x + w) * 2 + w) * 2 + w.
inline Values expectedTwice(Values x, const Values &w) {
  for (size_t at = 0; at < x.size(); ++at) {
    x[at] = 4 * x[at] + 7 * w[at];
  }
  return x;
}

struct Operators : Graphs {
  explicit Operators(const std::string &bytes = withOperators(), CallTraits traits = {},
                     std::shared_ptr<GraphPool> shared = std::make_shared<GraphPool>(blocks()))
      : Graphs(bytes, std::move(shared)), torch(host()) {
    host().aten = [this](DeviceHost &host, uint32_t number, RunState &state) {
      return number == breaksAt && isCaptured(host.stream) ? broken()
                                                           : twice(host, *plan, number, state);
    };
    host().traits = std::move(traits);
    make(true, &torch);
  }
  /// Like torch: waiting for a captured stream is refused, and invalidates the capture.
  Status broken() {
    fake.isInvalid = true;
    return Status::error(ErrorKind::Runtime,
                         "CUDA error: operation not permitted when stream is capturing");
  }
  /// Runs a call, then fills memory with junk.
  Values run(const Values &x, HostTensor *w) {
    auto result = call(x, w);
    EXPECT_TRUE(result.isOk()) << result.status().message();
    torch.fillWithJunk();
    return result.isOk() ? *result : Values();
  }

  FakeTorch torch;
  uint32_t breaksAt = 99;
};

} // namespace fakecuda
