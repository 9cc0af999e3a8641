// Calls as CUDA graphs (mode "reduce-overhead"): all kernels of a call in one launch. A graph is
// made when a call comes for the second time: on the same stream, with the same static arguments
// (parameters and buffers, whose addresses the graph keeps), with sizes that round up to the same
// bucket. A launch of other sizes, strides or numbers than the one before writes them into the
// graph's nodes first; so no kernel computes more than it is asked for, and there is one set of
// kernels. The other arguments are copied into memory of the graph in front of each launch and the
// results out of it into fresh tensors behind, so that nobody has to know: results can be kept,
// arguments may lie anywhere, and all graphs of a stream share one memory (GraphPool). What a
// forward keeps for its backward stays where it is (KeptResults). Calls of operators are captured
// by torch, in memory of its own, a graph for each size (OperatorGraphs.cpp).
//
// What cannot be captured, or would not gain, runs as without graphs, counted by the reason.

#pragma once

#include "runtime/cuda/GraphTensors.h"
#include "runtime/cuda/OperatorCapture.h"
#include "runtime/cuda/RecordingHost.h"
#include "runtime/plan/PlanExecutor.h"

#include <string>

namespace frit {

struct GraphCounters {
  uint64_t captures = 0, replays = 0, evictions = 0;
  /// Bytes of results that stay in memory of graphs, now.
  uint64_t keptBytes = 0;
  /// Replays for which a graph got other sizes than it had.
  uint64_t updates = 0;
  /// Graphs that serve one size only although sizes vary, by the reason.
  std::map<std::string, uint64_t> exact;
  /// Calls that ran without a graph, by the reason. A call that is met for the first time is no
  /// such call.
  std::map<std::string, uint64_t> notCaptured;
};

class CudaGraphs {
public:
  /// `operators`: null where nobody captures operators. Everything must outlive the object.
  CudaGraphs(std::shared_ptr<const DecodedPlan> plan, TensorHost &host, CudaBackend &backend,
             PlanExecutor &executor, std::shared_ptr<Driver> driver, GraphPool &pool,
             const GraphTensors &tensors, OperatorCapture *operators = nullptr);
  ~CudaGraphs();
  CudaGraphs(const CudaGraphs &) = delete;
  CudaGraphs &operator=(const CudaGraphs &) = delete;

  /// The value of a constant, as PlanExecutor::bindConstant.
  Status bindConstant(uint32_t number, void *handle);
  /// As PlanExecutor::run.
  Status run(std::span<InputValue> inputs, std::span<OutputValue> outputs);
  GraphCounters counters();
  /// Counts a call that ran without a graph.
  void count(const std::string &why);

  /// At most so many graphs are kept, and so many of those that have results in memory of their
  /// own.
  size_t mostGraphs = 16;
  static constexpr size_t kMostKeeping = 4;
  /// Calls before one is captured whose kept arguments are no results of a graph, because its
  /// forward may become one yet.
  static constexpr uint64_t kCallsBeforeCopies = 3;
  /// Fewer kernels are launched one by one.
  static constexpr uint64_t kFewestKernels = 4;
  /// What may be copied for each launch that is saved.
  static constexpr uint64_t kBytesPerLaunch = 1 << 20;

private:
  using Key = std::vector<int64_t>;

  /// A copy into the graph's memory: argument, address there, bytes.
  struct CopyIn {
    uint32_t input;
    char *to;
    uint64_t bytes;
  };
  /// A tensor that is made anew by each call and filled from the graph's memory.
  /// One that is kept stays there instead, and calls look at it.
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
    /// Of a tensor: where it lies. `number` is that of a Fresh or of an argument; a constant is
    /// `original`.
    RecordedStorage::Kind storage = RecordedStorage::Kind::Fresh;
    uint32_t number = 0;
    void *original = nullptr;
    /// The tensor of the storage itself, or a look at it.
    bool isWhole = true;
    int64_t lookOffset = 0;
    std::vector<int64_t> sizes, strides;
    int64_t offset = 0;
    format::Dtype dtype = {};
    format::Device device = {};
  };
  /// What is known of a key: that it was met, its graph, or why there is none.
  struct Entry {
    bool isCaptured() const { return graph || ofOperators.object; }
    bool keeps() const { return keptBytes != 0; }

    uint64_t lastUse = 0, calls = 0;
    /// Which arguments the graph has at the addresses of the key.
    std::vector<bool> fixed;
    /// The graph's number among those that share its memory, and the bytes of results that stay in
    /// it.
    uint64_t order = 0, keptBytes = 0;
    std::string refused;
    DriverGraphExec graph = nullptr;
    /// The arguments `graph` is for: all of the call.
    Key exact;
    /// What `graph` was made from, whose nodes stand for those of `graph` when it is given other
    /// arguments.
    DriverGraph source = nullptr;
    std::vector<DriverGraphNode> nodes;
    /// The owner of `graph` where operators of torch are in it.
    OperatorCapture::Graph ofOperators;
    std::shared_ptr<GraphLane> lane;
    std::vector<CopyIn> copies;
    std::vector<Fresh> fresh;
    std::vector<Result> results;
    /// Where results lie that are kept for a backward and part of a parameter.
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
  /// Kernels of a call: counted while memory is decided about; launched on a stream that is
  /// captured; or written into the nodes of a graph that is there.
  class Walk : public KernelBackend, private CudaBackend::LaunchSink {
  public:
    explicit Walk(CudaBackend &backend) : backend(backend) {}
    Status ready() override { return backend.ready(); }
    Status launch(const KernelArguments &arguments, TensorHost &host) override;
    void count();
    void capture();
    void update(DriverGraphExec graph, std::span<const DriverGraphNode> nodes);
    /// Whether an update met all nodes and no more.
    bool fits() const { return met == known.size(); }

    CudaBackend &backend;
    uint64_t launches = 0;
    std::string names;
    /// Of a capture.
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
  /// `exact`: all that a call's launches depend on; `key`: what tells graphs apart. False with the
  /// reason where no call like this can be captured. `fixed`: arguments that are not copied.
  bool keysOf(std::span<const InputValue> inputs, DriverContext context, DriverStream stream,
              Key &key, Key &exact, std::vector<bool> &fixed, std::string &why) const;
  bool waitsForForward(std::span<const InputValue> inputs, const std::vector<bool> &fixed) const;
  Status plain(std::span<InputValue> inputs, std::span<OutputValue> outputs,
               const std::string &why);
  Status capture(Entry &entry, std::span<const InputValue> inputs);
  Status captureKernels(Entry &entry, std::span<const InputValue> inputs);
  DriverCode beginCapture(DriverStream stream) const;
  uint64_t mostLaunches() const;
  // OperatorGraphs.cpp: with operators of torch.
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
  /// Each launch draws new numbers, which only torch can see to.
  bool isRandom = false;
  /// Why nothing of this plan is ever captured, and why its graphs are for one size each; empty
  /// where it may be, or they are not.
  std::string never, onlyExact;

  ForkSafeLock lock;
  RecordingHost recording;
  Walk recorded;
  /// Runs what is captured; in the world of `recording`, or in the real one where operators are
  /// called.
  std::unique_ptr<PlanExecutor> recorder;
  std::map<Key, Entry> entries;
  uint64_t clock = 0;
  ForkSafeLock countLock;
  GraphCounters counts;
};

} // namespace frit
