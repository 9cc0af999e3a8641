// Runs calls as CUDA graphs (mode "reduce-overhead"): all kernels of a call in one launch. A graph
// is made at the second call with the same key: the same stream, the same static arguments
// (parameters and buffers, whose addresses the graph contains), and sizes that round up to the same
// buckets. If sizes, strides or numbers differ from the previous launch they are first written into
// the graph's nodes, so kernels compute only the call's own sizes, and there is one set of kernels.
// Other arguments are copied into the graph's memory before each launch, and results are copied out
// into fresh tensors after it: results can be held, arguments may lie anywhere, and all graphs of a
// stream share one memory (GraphPool). Results that a forward saves for its backward stay in place
// (KeptResults). Calls of operators are captured by torch, in its own memory, with one graph per
// size (OperatorGraphs.cpp).
//
// A call that cannot be captured, or would not gain, runs without a graph and is counted by the
// reason.

#pragma once

#include "runtime/cuda/GraphTensors.h"
#include "runtime/cuda/OperatorCapture.h"
#include "runtime/cuda/RecordingHost.h"
#include "runtime/plan/PlanExecutor.h"

#include <string>

namespace frit {

struct GraphCounters {
  uint64_t captures = 0, replays = 0, evictions = 0;
  /// Bytes of results that currently stay in memory of graphs.
  uint64_t keptBytes = 0;
  /// Replays before which a graph was updated to other sizes.
  uint64_t updates = 0;
  /// Graphs that serve only one size although sizes are dynamic, by the reason.
  std::map<std::string, uint64_t> exact;
  /// Calls that ran without a graph, by the reason. The first call with a key does not count.
  std::map<std::string, uint64_t> notCaptured;
};

class CudaGraphs {
public:
  /// `operators`: null if operators cannot be captured. All arguments must outlive the object.
  CudaGraphs(std::shared_ptr<const DecodedPlan> plan, TensorHost &host, CudaBackend &backend,
             PlanExecutor &executor, std::shared_ptr<Driver> driver, GraphPool &pool,
             const GraphTensors &tensors, OperatorCapture *operators = nullptr);
  ~CudaGraphs();
  CudaGraphs(const CudaGraphs &) = delete;
  CudaGraphs &operator=(const CudaGraphs &) = delete;

  /// Binds the value of a constant, as PlanExecutor::bindConstant.
  Status bindConstant(uint32_t number, void *handle);
  /// Runs a call, as PlanExecutor::run.
  Status run(std::span<InputValue> inputs, std::span<OutputValue> outputs);
  GraphCounters counters();
  /// Counts a call that ran without a graph.
  void count(const std::string &why);

  /// The most graphs that are kept, and the most with kept results in memory of their own.
  size_t mostGraphs = 16;
  static constexpr size_t kMostKeeping = 4;
  /// Calls of a backward that wait, before they are captured with copies of the saved tensors, for
  /// the forward to get a graph.
  static constexpr uint64_t kCallsBeforeCopies = 3;
  /// With fewer kernels than this, they are launched one by one.
  static constexpr uint64_t kFewestKernels = 4;
  /// The most bytes that may be copied for each launch that is saved.
  static constexpr uint64_t kBytesPerLaunch = 1 << 20;

private:
  using Key = std::vector<int64_t>;

  /// A copy into the graph's memory: argument, address there, bytes.
  struct CopyIn {
    uint32_t input;
    char *to;
    uint64_t bytes;
  };
  /// A tensor that each call allocates and fills from the graph's memory. A kept one stays in that
  /// memory, and the calls' results are views of it.
  struct Fresh {
    std::vector<int64_t> sizes, strides;
    int64_t offset;
    format::Dtype dtype;
    format::Device device;
    const char *from;
    uint64_t bytes;
    std::shared_ptr<KeptTensor> kept;
  };
  struct Result {
    OutputValue::Kind kind = OutputValue::Kind::None;
    int64_t integer = 0;
    double real = 0;
    /// The location of a tensor. `number` is that of a Fresh or of an argument; a constant is
    /// `original`.
    RecordedStorage::Kind storage = RecordedStorage::Kind::Fresh;
    uint32_t number = 0;
    void *original = nullptr;
    /// Whether it is the tensor of the storage itself or a view of it.
    bool isWhole = true;
    int64_t lookOffset = 0;
    std::vector<int64_t> sizes, strides;
    int64_t offset = 0;
    format::Dtype dtype = {};
    format::Device device = {};
  };
  /// The state of a key: it was seen, has a graph, or cannot have one for a reason.
  struct Entry {
    bool isCaptured() const { return graph || ofOperators.object; }
    bool keeps() const { return keptBytes != 0; }

    uint64_t lastUse = 0, calls = 0;
    /// The arguments that the graph reads at the addresses in the key.
    std::vector<bool> fixed;
    /// The graph's capture number among those that share its memory, and the bytes of its kept
    /// results.
    uint64_t order = 0, keptBytes = 0;
    std::string refused;
    DriverGraphExec graph = nullptr;
    /// The argument values that `graph` is currently set to.
    Key exact;
    /// The graph that `graph` was instantiated from; its nodes identify those of `graph` in
    /// updates.
    DriverGraph source = nullptr;
    std::vector<DriverGraphNode> nodes;
    /// The owner of `graph` if it contains operators of torch.
    OperatorCapture::Graph ofOperators;
    std::shared_ptr<GraphLane> lane;
    std::vector<CopyIn> copies;
    std::vector<Fresh> fresh;
    std::vector<Result> results;
    /// Addresses of kept results that are part of a parameter.
    std::vector<const void *> steady;
    std::vector<uint32_t> bumps;
    std::string kernels;
  };
  /// A tensor that results of a captured run may lie in.
  struct Origin {
    TensorView view;
    RecordedStorage::Kind kind;
    uint32_t number;
    void *handle;
  };
  struct Group;
  /// A backend for the kernels of a call with three modes: it counts them while memory is assigned,
  /// launches them on a stream that is being captured, or writes them into the nodes of an existing
  /// graph.
  class Walk : public KernelBackend, private CudaBackend::LaunchSink {
  public:
    explicit Walk(CudaBackend &backend) : backend(backend) {}
    Status ready() override { return backend.ready(); }
    Status launch(const KernelArguments &arguments, TensorHost &host) override;
    void count();
    void capture();
    void update(DriverGraphExec graph, std::span<const DriverGraphNode> nodes);
    /// Whether an update met exactly the existing nodes.
    bool fits() const { return met == known.size(); }

    CudaBackend &backend;
    uint64_t launches = 0;
    std::string names;
    /// The nodes of a capture.
    std::vector<DriverGraphNode> nodes;

  private:
    DriverCode launch(const DriverKernelNode &launch, DriverStream stream) override;
    enum class Mode : uint8_t { Count, Capture, Update } mode = Mode::Count;
    DriverGraphExec graph = nullptr;
    std::span<const DriverGraphNode> known;
    size_t met = 0;
  };

  static std::string tooFew(uint64_t launches);
  std::string whyNever() const;
  std::string whyExact() const;
  /// Computes `key`, which distinguishes graphs, and `exact`, everything that a call's launches
  /// depend on. Returns false with a reason if no such call can be captured. `fixed`: arguments
  /// that are not copied.
  bool keysOf(std::span<const InputValue> inputs, DriverContext context, DriverStream stream,
              Key &key, Key &exact, std::vector<bool> &fixed, std::string &why) const;
  bool waitsForForward(std::span<const InputValue> inputs, const std::vector<bool> &fixed) const;
  Status plain(std::span<InputValue> inputs, std::span<OutputValue> outputs,
               const std::string &why);
  Status capture(Entry &entry, std::span<const InputValue> inputs);
  Status captureKernels(Entry &entry, std::span<const InputValue> inputs);
  DriverCode beginCapture(DriverStream stream) const;
  uint64_t mostLaunches() const;
  // OperatorGraphs.cpp: graphs with operators of torch.
  std::string whyNotOperators() const;
  std::string stepNames() const;
  Status runAndCapture(const Key &key, const Key &exact, DriverContext context, DriverStream stream,
                       std::span<InputValue> inputs, std::span<OutputValue> outputs);
  Status captureOperators(Entry &entry, std::span<const InputValue> inputs);
  Status runCaptured(Entry &entry, std::span<const InputValue> inputs);
  Status mended(DriverStream stream, Status status) const;
  Result *addResult(const OutputValue &output, Entry &entry) const;
  Status readResults(std::span<const OutputValue> outputs, std::span<const Origin> origins,
                     Entry &entry) const;
  void addFresh(const Group &group, Entry &entry) const;
  void keepResults(Entry &entry);
  Status record(Entry &entry, std::span<const InputValue> inputs, GraphMemory &memory);
  std::string notWorth(const Entry &entry, uint64_t launches);
  Status walk(std::span<const InputValue> inputs, GraphMemory &memory, DriverStream stream,
              Entry &entry);
  Status recordResults(std::span<OutputValue> outputs, Entry &entry) const;
  Status instantiate(Entry &entry, DriverGraph graph, DriverStream stream);
  std::string prepare(Entry &entry, const Key &exact, std::span<const InputValue> inputs,
                      DriverContext context, DriverStream stream);
  Status update(Entry &entry, std::span<const InputValue> inputs);
  Status launch(const Entry &entry, DriverStream stream);
  Status makeFresh(const Entry &entry, std::span<TensorSlot> fresh);
  Status replay(Entry &entry, DriverStream stream, std::span<InputValue> inputs,
                std::span<TensorSlot> fresh, std::span<OutputValue> outputs);
  Status makeResults(const Entry &entry, std::span<InputValue> inputs, std::span<TensorSlot> fresh,
                     std::span<OutputValue> outputs);
  void makeRoom();
  void dropOldest(size_t most, bool (*isOne)(const Entry &));
  void drop(Entry &entry);
  void dropCounted(Entry &entry);
  void dropAll();

  std::shared_ptr<const DecodedPlan> plan;
  TensorHost &host;
  CudaBackend &backend;
  PlanExecutor &executor;
  std::shared_ptr<Driver> driver;
  GraphPool &pool;
  std::vector<bool> statics, keptArguments, keptResults;
  bool anyKeptArguments, anyKeptResults;
  OperatorCapture *operators;
  /// Each launch draws new random numbers, so torch must launch the graph.
  bool isRandom = false;
  /// Why nothing of this plan is ever captured, and why its graphs serve one size each; empty
  /// otherwise.
  std::string never, onlyExact;

  ForkSafeLock lock;
  RecordingHost recording;
  Walk recorded;
  /// Runs the plan for a capture: with `recording` as host, or with the real host if operators are
  /// called.
  std::unique_ptr<PlanExecutor> recorder;
  std::map<Key, Entry> entries;
  uint64_t clock = 0;
  ForkSafeLock countLock;
  GraphCounters counts;
};

} // namespace frit
