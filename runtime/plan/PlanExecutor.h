// Runs a decoded plan. A call binds the symbols from the arguments, checks the arguments against
// them, fills the size registers (or finds them still there from the previous call with the same
// symbols), walks the steps and hands out the results.
//
// The state of a call (registers, slots, scratch) is kept and reused; calls from several threads,
// or a call from inside an operator of another, take a state each. Temporaries of a plan with an
// arena lie in one block that is taken from the host for the call and given back after it, so that
// a hundred graphs keep one block and not a hundred.

#pragma once

#include "runtime/plan/Host.h"
#include "runtime/plan/InputOverlap.h"

#include <algorithm>
#include <mutex>
#include <optional>

namespace frit {

/// An argument of a call. Tensor handles belong to the executor once run() is entered, whatever its
/// outcome.
struct InputValue {
  enum class Kind : uint8_t { None, Tensor, Int, Float, Bool } kind = Kind::None;
  int64_t integer = 0;
  double real = 0;
  void *handle = nullptr;
};

/// A result of a call; a tensor's handle belongs to the caller.
struct OutputValue {
  enum class Kind : uint8_t { None, Tensor, Int, Float, Bool, Input } kind = Kind::None;
  int64_t integer = 0;
  double real = 0;
  void *handle = nullptr;
};

/// What a call has allocated and not dropped yet, and the most of it.
struct HeldBytes {
  uint64_t now = 0, peak = 0;
  void add(uint64_t bytes) { peak = std::max(peak, now += bytes); }
  void drop(uint64_t bytes) { now -= std::min(bytes, now); }
};

/// Where a tensor argument lies.
struct ArgumentRange {
  ByteRange bytes;
  uint32_t input;
  bool written;
};

/// An argument that is written to and shares memory with another one: the steps see `copy`.
struct InputCopy {
  uint32_t input;
  TensorSlot original, copy;
};

/// What a kernel works on in the place of a tensor with lazy bits.
struct ResolvedTensor {
  uint32_t tensor;
  TensorSlot copy;
  bool written;
};

/// Everything a call needs that is not in the plan.
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
  /// The size program has run for the int registers as they are.
  bool sizesValid = false;
  void *arena = nullptr;
  uint64_t arenaBytes = 0;
  /// Of a plan that writes to arguments: all tensor arguments by address.
  std::vector<ArgumentRange> ranges;
  std::vector<InputCopy> copies;
  /// Of one launch.
  std::vector<ResolvedTensor> resolved;
  HeldBytes held, heldTemporaries;
  /// The GPU that the arguments lie on; -1 until the first that lies on one.
  int32_t gpu = -1;
  /// An argument of the call has been written.
  bool wroteInput = false;
  uint64_t kernelLaunches = 0, atenCalls = 0, allocations = 0;
  /// Of this call, by kernel and variant.
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

  /// Keeps `handle` (retained by the executor) as the value of a constant for all calls.
  Status bindConstant(uint32_t number, void *handle);

  /// Takes the arguments; fills `outputs`, one for each output of the plan. After a failure all
  /// results are empty.
  Status run(std::span<InputValue> inputs, std::span<OutputValue> outputs);
  /// The same, but where the arguments do not fit what was compiled (BadInput), nothing has been
  /// done and they are the caller's again.
  Status tryRun(std::span<InputValue> inputs, std::span<OutputValue> outputs);

  const DecodedPlan &plan() const { return *decoded; }
  const Counters &counters() const { return counts; }
  /// Of the kernels that have several variants.
  std::vector<VariantCounts> variantCounts() const;
  /// Which entries of the plan's buckets the sizes of these arguments fall into, as one number;
  /// nothing where a size is above the largest entry, or an argument is not what the plan takes.
  std::optional<uint64_t> bucketKey(std::span<const InputValue> inputs) const;
  /// The number of these entries, one for each bucket; nothing where there are no such.
  std::optional<uint64_t> keyOfBuckets(std::span<const uint32_t> entries) const;
  std::vector<uint32_t> bucketsOfKey(uint64_t key) const;
  /// The sizes of these arguments, each rounded up to the list of its bucket, or to the ramp where
  /// it has none; those above the largest entry as they are. False where an argument is not what
  /// the plan takes.
  bool roundedSizes(std::span<const InputValue> inputs, std::vector<int64_t> &sizes) const;
  /// One for each bucket of the plan.
  std::span<const BucketCounters> bucketCounters() const {
    return {bucketCounts.get(), bucketSpecs.size()};
  }
  /// What is bound: the constants' registers and tensors, in the order they were bound.
  std::span<const std::pair<uint32_t, TensorSlot>> constants() const { return constantSlots; }
  /// The GPU its constants lie on, -1 where none does.
  int32_t constantGpu() const { return gpuOfConstants; }
  size_t inputCount() const { return inputSpecs.size(); }
  size_t outputCount() const { return outputSpecs.size(); }

private:
  struct InputSpec {
    const format::Input *source;
    format::InputKind kind;
    uint32_t reg, scalar, expected, offset;
    bool anyStrides;
    /// An output is this input.
    bool returned;
  };
  struct SymbolSpec {
    const format::Symbol *source;
    uint32_t reg, input;
    int32_t dim;
    int64_t min, max, divisor, scale, offset;

    /// The symbol where what is looked at is `size`, if there is one.
    std::optional<int64_t> solve(int64_t size) const {
      int64_t scaled;
      bool none = __builtin_sub_overflow(size, offset, &scaled) || scaled % scale != 0;
      return none ? std::nullopt : std::optional(scaled / scale);
    }
  };
  struct BucketSpec {
    uint32_t symbol, dst;
    std::span<const int64_t> sizes;
    /// Of `symbol`: its number among the plan's.
    size_t source;
  };
  struct OutputSpec {
    format::OutputKind kind;
    uint32_t reg;
    format::Dtype dtype;
  };

  std::unique_ptr<RunState> takeState();
  void returnState(std::unique_ptr<RunState> state);
  Status enter(RunState &state, std::span<InputValue> inputs);
  Status takeInput(RunState &state, size_t number, InputValue &input, bool &changed);
  void giveBack(RunState &state, std::span<InputValue> inputs) const;
  void releaseArguments(std::span<InputValue> inputs);
  Status bindSymbols(RunState &state, std::span<const InputValue> inputs, bool &changed);
  void chooseBuckets(RunState &state, bool changed);
  std::optional<int64_t> sizeOf(const SymbolSpec &symbol, std::span<const InputValue> inputs) const;
  void warnAboutMiss(const BucketSpec &bucket, int64_t size);
  Status checkTensor(size_t number, const RunState &state) const;
  // PlanGuards.cpp: what the whole graph assumes.
  Status checkSizes(const RunState &state) const;
  Status checkAddresses(const RunState &state) const;
  Status brokenGuard(const format::Guard &guard, const RunState &state) const;
  /// "input 0 ('x'), dimension 1"
  std::string placeOf(const SymbolSpec &symbol) const;
  std::string inputName(size_t number) const;
  /// The symbol whose register this is, as "s0, input 0 ('x'), dimension 1"; empty for another
  /// register.
  std::string symbolOf(uint32_t reg) const;
  // MutatedInputs.cpp: what is written to and shares memory.
  Status separateMutated(RunState &state);
  bool rangesMeet(RunState &state) const;
  Status replaceByCopy(RunState &state, uint32_t number);
  Status writeBack(RunState &state);
  Status ontoOriginal(RunState &state, TensorSlot &result);
  void dropCopies(RunState &state);
  // LazyTensors.cpp: what is conjugated or negated lazily.
  Status resolve(RunState &state, const LaunchSite &site);
  Status writeResolved(RunState &state);
  void dropResolved(RunState &state);
  Status walk(RunState &state);
  Status allocate(RunState &state, const DecodedStep &step);
  Status view(RunState &state, uint32_t tensor, uint32_t source, int64_t offset, LazyBits lazy);
  Status reuse(RunState &state, uint32_t tensor, uint32_t from);
  Status launch(RunState &state, const LaunchSite &site);
  Status collect(RunState &state, std::span<InputValue> inputs, std::span<OutputValue> outputs);
  void release(RunState &state, uint32_t tensor);
  void leave(RunState &state);
  Status prepareArena(RunState &state);
  /// A call's result, whose shape only the call knew, against what kernels were made for.
  Status checkShape(const RunState &state, uint32_t shaped, uint32_t result) const;
  TensorShape shapeOf(RunState &state, uint32_t tensor) const;
  Status badInput(size_t number, const std::string &what) const;

  std::shared_ptr<const DecodedPlan> decoded;
  TensorHost &host;
  KernelBackend &backend;
  std::vector<InputSpec> inputSpecs;
  /// Numbers of the inputs the plan writes to.
  std::vector<uint32_t> mutatedInputs;
  std::vector<SymbolSpec> symbolSpecs;
  std::vector<BucketSpec> bucketSpecs;
  std::unique_ptr<BucketCounters[]> bucketCounts;
  std::atomic<bool> warned{false};
  std::vector<OutputSpec> outputSpecs;
  std::vector<std::pair<uint32_t, TensorSlot>> constantSlots;
  int32_t gpuOfConstants = -1;
  Counters counts;
  std::unique_ptr<std::atomic<uint64_t>[]> variantTotals;
  /// The device kernels of this plan run on.
  format::Device planDevice;
  /// The state of the last call, and those of calls that ran beside it.
  std::atomic<RunState *> idleState{nullptr};
  std::mutex stateLock;
  std::vector<std::unique_ptr<RunState>> moreStates;
};

} // namespace frit
