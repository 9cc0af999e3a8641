// Runs a decoded plan. A call binds the symbols from the arguments, checks the arguments against
// them, computes the size registers (unless the previous call had the same symbols), executes the
// steps and returns the results.
//
// The state of a call (registers, slots, scratch) is kept and reused; concurrent calls, and calls
// from inside an operator of another, each take a state of their own. The arena of a plan's
// temporaries is one block that is taken from the host for each call and returned after it, so a
// hundred graphs do not hold a hundred blocks.

#pragma once

#include "runtime/plan/Host.h"
#include "runtime/plan/InputOverlap.h"

#include <algorithm>
#include <mutex>
#include <optional>

namespace frit {

/// An argument of a call. Once run() is entered the executor owns tensor handles, whatever the
/// outcome.
struct InputValue {
  enum class Kind : uint8_t { None, Tensor, Int, Float, Bool } kind = Kind::None;
  int64_t integer = 0;
  double real = 0;
  void *handle = nullptr;
};

/// A result of a call; the caller owns a tensor's handle.
struct OutputValue {
  enum class Kind : uint8_t { None, Tensor, Int, Float, Bool, Input } kind = Kind::None;
  int64_t integer = 0;
  double real = 0;
  void *handle = nullptr;
  /// Of a view in new storage: the sizes and strides of its base as autograd sees it, if known.
  std::vector<int64_t> baseSizes, baseStrides;
};

/// The bytes that a call currently holds, and their peak.
struct HeldBytes {
  uint64_t now = 0, peak = 0;
  void add(uint64_t bytes) { peak = std::max(peak, now += bytes); }
  /// Memory that is added and dropped at once.
  void touch(uint64_t bytes) { peak = std::max(peak, now + bytes); }
  void drop(uint64_t bytes) { now -= std::min(bytes, now); }
};

/// The memory of a tensor argument.
struct ArgumentRange {
  ByteRange bytes;
  uint32_t input;
  bool written;
};

/// An argument that is written and shares memory with another one; the steps use `copy`.
struct InputCopy {
  uint32_t input;
  TensorSlot original, copy;
};

/// A copy that a kernel uses instead of a tensor with lazy bits.
struct ResolvedTensor {
  uint32_t tensor;
  TensorSlot copy;
  bool written;
};

/// The state of a call.
struct RunState {
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::vector<TensorSlot> tensors;
  std::vector<TensorView> views;
  // Scratch of one step.
  std::vector<void *> pointers;
  std::vector<int64_t> kernelInts;
  std::vector<double> kernelFloats;
  std::vector<int64_t> sizes, strides;
  /// The size program has run for the current int registers.
  bool sizesValid = false;
  void *arena = nullptr;
  uint64_t arenaBytes = 0;
  /// For a plan that writes to arguments: all tensor arguments, by address.
  std::vector<ArgumentRange> ranges;
  std::vector<InputCopy> copies;
  /// The call may start again as traced. Then its arguments stay in their registers if needed
  /// (`keepsArguments`: also as they were), and it keeps the state of the generators.
  bool mayRestart = false, keepsArguments = false, defersFrees = false;
  std::shared_ptr<SavedRandom> random;
  /// For one launch.
  std::vector<ResolvedTensor> resolved;
  HeldBytes held, heldTemporaries;
  /// The GPU of the arguments; -1 until the first one that lies on a GPU.
  int32_t gpu = -1;
  uint64_t kernelLaunches = 0, atenCalls = 0, allocations = 0;
  /// For this call, by kernel and variant.
  std::vector<uint64_t> variantCounts;
};

/// How often each variant of a kernel has run.
struct VariantCounts {
  std::string kernel;
  std::vector<uint64_t> launches;
};

class PlanExecutor {
public:
  PlanExecutor(std::shared_ptr<const DecodedPlan> plan, TensorHost &host, KernelBackend &backend);
  ~PlanExecutor();
  PlanExecutor(const PlanExecutor &) = delete;
  PlanExecutor &operator=(const PlanExecutor &) = delete;

  /// Binds a constant to `handle` for all calls; the executor takes a reference.
  Status bindConstant(uint32_t number, void *handle);

  /// Takes the arguments and fills `outputs`, one for each output of the plan. After a failure all
  /// results are empty.
  Status run(std::span<InputValue> inputs, std::span<OutputValue> outputs);
  /// The same, but after a failure whose status mayRunAgain(), nothing has happened and the caller
  /// owns the arguments again. So it is if they do not fit the compiled graph (BadInput).
  Status tryRun(std::span<InputValue> inputs, std::span<OutputValue> outputs);

  const DecodedPlan &plan() const { return *decoded; }
  const Counters &counters() const { return counts; }
  /// For the kernels that have several variants.
  std::vector<VariantCounts> variantCounts() const;
  /// The bucket entries that the sizes of these arguments fall into, as one number; nullopt if a
  /// size is above the largest entry or an argument does not fit the plan.
  std::optional<uint64_t> bucketKey(std::span<const InputValue> inputs) const;
  /// The number for these entries, one per bucket; nullopt if there are no such entries.
  std::optional<uint64_t> keyOfBuckets(std::span<const uint32_t> entries) const;
  std::vector<uint32_t> bucketsOfKey(uint64_t key) const;
  /// The sizes of these arguments, each rounded up to its bucket list, or to the ramp if it has
  /// none; sizes above the largest entry are unchanged. False if an argument does not fit the plan.
  bool roundedSizes(std::span<const InputValue> inputs, std::vector<int64_t> &sizes) const;
  /// One for each bucket of the plan.
  std::span<const BucketCounters> bucketCounters() const {
    return {bucketCounts.get(), bucketSpecs.size()};
  }
  /// The bound constants: registers and tensors, in the order of binding.
  std::span<const std::pair<uint32_t, TensorSlot>> constants() const { return constantSlots; }
  /// The GPU of its constants; -1 if none is on a GPU.
  int32_t constantGpu() const { return gpuOfConstants; }
  /// From now on arguments of the right sizes are copied to the strides that the graph was compiled
  /// for, instead of being refused.
  void copyArguments() { copiesArguments = true; }
  /// From now on a call is refused (BadInput) if it writes to an argument that shares memory with
  /// another one. The program of a file sees such a write, a plan does not; torch guards against
  /// it.
  void refuseOverlap() { refusesOverlap = true; }
  /// From now on so it is also if the program's own error occurs before anything that cannot be
  /// undone. The arguments then live until the call ends.
  void repeatErrors() { repeatsErrors = true; }
  /// Whether a step does what no other run can undo.
  bool isIrreversible() const { return effects.firstIrreversible != kNoStep; }
  size_t inputCount() const { return inputSpecs.size(); }
  /// Whether the plan writes to an input, a tensor.
  bool writesInput(size_t number) const {
    return std::find(mutatedInputs.begin(), mutatedInputs.end(), number) != mutatedInputs.end();
  }
  size_t outputCount() const { return outputSpecs.size(); }

private:
  struct InputSpec {
    const format::Input *source;
    format::InputKind kind;
    uint32_t reg, scalar, expected, offset;
    /// Only operators of torch read it: its strides and its device are not checked.
    bool onlyCalled;
    /// An output is this input.
    bool returned;
  };
  struct SymbolSpec {
    const format::Symbol *source;
    uint32_t reg, input;
    int32_t dim;
    int64_t min, max, divisor, scale, offset;
    bool stride;

    /// The number of a tensor from which the symbol is read.
    int64_t in(const TensorView &view) const {
      return stride ? view.strides[dim] : view.sizes[dim];
    }
    /// "its value", "its size along dimension 1".
    std::string what() const {
      return dim < 0 ? "its value"
                     : (stride ? "its stride along dimension " : "its size along dimension ") +
                           std::to_string(dim);
    }
    /// The symbol's value if the size of the argument is `size`; nullopt if there is none.
    std::optional<int64_t> solve(int64_t size) const {
      int64_t scaled;
      bool none = __builtin_sub_overflow(size, offset, &scaled) || scaled % scale != 0;
      return none ? std::nullopt : std::optional(scaled / scale);
    }
  };
  struct BucketSpec {
    uint32_t symbol, dst;
    std::span<const int64_t> sizes;
    /// The index of `symbol` in the plan's list.
    size_t source;
  };
  struct OutputSpec {
    format::OutputKind kind;
    uint32_t reg;
    format::Dtype dtype;
    const format::Output *source;
  };

  Status runOnce(std::span<InputValue> inputs, std::span<OutputValue> outputs, bool mayRestart);
  std::unique_ptr<RunState> takeState();
  void returnState(std::unique_ptr<RunState> state);
  Status enter(RunState &state, std::span<InputValue> inputs);
  Status takeInput(RunState &state, size_t number, InputValue &input, bool &changed);
  void releaseArguments(std::span<InputValue> inputs);
  Status bindSymbols(RunState &state, std::span<const InputValue> inputs, bool &changed);
  void chooseBuckets(RunState &state, bool changed);
  std::optional<int64_t> sizeOf(const SymbolSpec &symbol, std::span<const InputValue> inputs) const;
  void warnAboutMiss(const BucketSpec &bucket, int64_t size);
  Status checkTensor(size_t number, const RunState &state) const;
  Status restride(RunState &state, size_t number);
  // PlanGuards.cpp: assumptions of the whole graph.
  Status checkSizes(const RunState &state) const;
  Status checkAddresses(const RunState &state) const;
  Status brokenGuard(const format::Guard &guard, const RunState &state) const;
  /// "input 0 ('x'), dimension 1"
  std::string placeOf(const SymbolSpec &symbol) const;
  std::string inputName(size_t number) const;
  /// The symbol with this register, as "s0, input 0 ('x'), dimension 1"; empty if there is none.
  std::string symbolOf(uint32_t reg) const;
  // MutatedInputs.cpp: written arguments that share memory.
  Status separateMutated(RunState &state);
  bool rangesMeet(RunState &state) const;
  Status replaceByCopy(RunState &state, uint32_t number);
  Status writeBack(RunState &state);
  Status ontoOriginal(RunState &state, TensorSlot &result);
  void dropCopies(RunState &state);
  // Restart.cpp: calls that start again as traced.
  void findEffects();
  void keepArguments(RunState &state);
  bool canRestart(const RunState &state, const Status &status, size_t reached) const;
  void restart(RunState &state, std::span<InputValue> inputs);
  void giveBack(RunState &state, std::span<InputValue> inputs);
  void dropKept(RunState &state);
  // LazyTensors.cpp: tensors with lazy bits.
  Status resolve(RunState &state, const LaunchSite &site);
  Status writeResolved(RunState &state);
  void dropResolved(RunState &state);
  /// Executes the steps; `reached` is the step that failed.
  Status walk(RunState &state, size_t &reached);
  Status allocate(RunState &state, const DecodedStep &step);
  Status view(RunState &state, uint32_t tensor, uint32_t source, int64_t offset, LazyBits lazy);
  Status reuse(RunState &state, uint32_t tensor, uint32_t from);
  Status launch(RunState &state, const LaunchSite &site);
  Status collect(RunState &state, std::span<InputValue> inputs, std::span<OutputValue> outputs);
  void release(RunState &state, uint32_t tensor);
  void leave(RunState &state);
  Status prepareArena(RunState &state);
  /// Compares a result with a data-dependent shape with the shape that kernels were compiled for.
  Status checkShape(const RunState &state, uint32_t shaped, uint32_t result) const;
  TensorShape shapeOf(RunState &state, uint32_t tensor) const;
  Status badInput(size_t number, const std::string &what) const;

  std::shared_ptr<const DecodedPlan> decoded;
  TensorHost &host;
  KernelBackend &backend;
  std::vector<InputSpec> inputSpecs;
  /// Numbers of the inputs that the plan writes to.
  std::vector<uint32_t> mutatedInputs;
  static constexpr size_t kNoStep = static_cast<size_t>(-1);
  /// What decides whether a call can start again. A promise is that of a fake kernel, which the
  /// operator may break.
  struct Effects {
    /// The first steps that write to an argument, cannot be undone (a write to an argument, or code
    /// that is not torch's), and draw random numbers.
    size_t firstWrite = kNoStep, firstIrreversible = kNoStep, firstDraw = kNoStep;
    std::optional<size_t> lastPromise;
    /// Steps may raise an error of the program; branches choose operators.
    bool mayRaise = false, branches = false;

    bool writesBeforePromise() const { return lastPromise && firstWrite <= *lastPromise; }
    bool drawsBeforePromise() const { return lastPromise && firstDraw <= *lastPromise; }
  } effects;
  /// All promises were kept in a call.
  std::atomic<bool> promisesKept{false};
  /// The tensor registers of arguments.
  std::vector<bool> isArgument;
  bool repeatsErrors = false;
  std::vector<SymbolSpec> symbolSpecs;
  std::vector<BucketSpec> bucketSpecs;
  std::unique_ptr<BucketCounters[]> bucketCounts;
  std::atomic<bool> warned{false};
  bool copiesArguments = false, refusesOverlap = false;
  std::vector<OutputSpec> outputSpecs;
  std::vector<std::pair<uint32_t, TensorSlot>> constantSlots;
  int32_t gpuOfConstants = -1;
  Counters counts;
  std::unique_ptr<std::atomic<uint64_t>[]> variantTotals;
  /// The device on which this plan's kernels run.
  format::Device planDevice;
  /// The state of the last call, and those of calls that ran at the same time.
  std::atomic<RunState *> idleState{nullptr};
  std::mutex stateLock;
  std::vector<std::unique_ptr<RunState>> moreStates;
};

} // namespace frit
