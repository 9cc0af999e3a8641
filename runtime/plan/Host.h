// The executor's interfaces to its environment. One executor serves torch (at::Tensor, torch's
// allocator and thread pool, the dispatcher) and frit-run (a small host of its own); a backend runs
// kernels on the CPU, on a GPU or in the SIMT emulation. All functions are on the hot path:
// implementations do no lookups by name and avoid locks.

#pragma once

#include "runtime/plan/DecodedPlan.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace frit {

/// Operations that torch applies lazily when a tensor is read: x.conj() is a view with such a bit,
/// and so is x.conj().imag. Kernels do not apply them.
enum LazyBits : uint8_t { kPlain = 0, kConjugated = 1, kNegated = 2 };

/// A tensor register at run time.
struct TensorSlot {
  enum class Owner : uint8_t {
    /// Empty, or a view of memory that another slot owns.
    Nothing,
    /// `allocation` came from allocateRaw.
    Raw,
    /// `allocation` came from takeBlock.
    Block,
    /// `handle` is a tensor of the host and keeps its storage alive.
    Handle
  };
  /// The first element; null for a tensor with lazy bits, because its memory differs from its
  /// values (see LazyTensors.cpp).
  void *data = nullptr;
  void *handle = nullptr;
  void *allocation = nullptr;
  uint64_t bytes = 0;
  bool isTemporary = false;
  Owner owner = Owner::Nothing;
  LazyBits lazy = kPlain;
};

/// The metadata of a tensor of the host.
struct TensorView {
  void *data;
  const int64_t *sizes;
  const int64_t *strides;
  int64_t rank;
  int64_t offset;
  format::Dtype dtype;
  format::Device device;
  /// The device number, if there are several of them.
  int32_t deviceIndex = 0;
  LazyBits lazy = kPlain;
};

/// Sizes and strides evaluated for one tensor.
struct TensorShape {
  std::span<const int64_t> sizes;
  std::span<const int64_t> strides;
  format::Dtype dtype;
  format::Device device;
  /// Elements of the storage before the first one.
  int64_t offset = 0;
  /// Elements of memory beyond the storage, which nothing may access.
  int64_t slack = 0;
  /// If not 0, the storage is a block of this many bytes (see takeBlock).
  uint64_t capacity = 0;
  /// The lazy bits of the new tensor.
  LazyBits lazy = kPlain;
};

/// The sizes, strides and type of a tensor, at the start of a storage and without lazy bits.
inline TensorShape shapeOfView(const TensorView &view) {
  auto rank = static_cast<size_t>(view.rank);
  return {{view.sizes, rank}, {view.strides, rank}, view.dtype, view.device};
}

/// A slot for a tensor with this metadata, which owns nothing yet.
inline TensorSlot slotOfView(void *handle, const TensorView &view) {
  TensorSlot slot;
  slot.data = view.lazy == kPlain ? view.data : nullptr;
  slot.lazy = view.lazy;
  slot.handle = handle;
  return slot;
}

/// Counters over all calls of an executable.
struct Counters {
  std::atomic<uint64_t> calls{0}, kernelLaunches{0}, atenCalls{0}, allocations{0},
      sizeEvaluations{0};
  /// Written arguments that were replaced by a copy because they share memory with others.
  std::atomic<uint64_t> overlapCopies{0};
  /// Arguments of a graph of control flow that were copied to the strides it was compiled for.
  std::atomic<uint64_t> restridedArguments{0};
  /// Tensors with lazy bits that were copied for a kernel.
  std::atomic<uint64_t> lazyCopies{0};
  /// Elements that pads in front of library calls wrote, and how many of them are logical.
  std::atomic<uint64_t> paddedElements{0}, logicalElements{0};
  /// The peak of the bytes that the plan itself, and the plans of its control flow, had allocated
  /// in a call (excluding results of ATen calls).
  std::atomic<uint64_t> peakBytes{0};
  /// The same without results: memory that is needed only during a call, including workspaces of
  /// kernels.
  std::atomic<uint64_t> temporaryBytes{0};
};

/// How often sizes were within their bucket list, and the sums of sizes and of buckets.
struct BucketCounters {
  std::atomic<uint64_t> hits{0}, misses{0}, logical{0}, padded{0};
};

struct RunState;

/// Properties of an operator that matter for CUDA graphs and for calls that start again.
struct CallTraits {
  /// Why calls of it cannot be captured; empty if they can, or if only a try can tell.
  std::string uncapturable;
  /// It draws, or may draw, random numbers.
  bool isRandom = false;
  /// It writes to some of its arguments.
  bool isMutable = false;
  /// The tensor registers of these arguments.
  std::span<const uint32_t> written = {};
  /// It may do what no other run can undo: print, send, change what no argument refers to.
  bool isIrreversible = false;
  /// Its fake kernel is not torch's, so it may promise another result than the operator returns.
  bool isUnproven = false;
  /// Another call of it may run other operators.
  bool isControlFlow = false;
};

/// The state of random generators at one moment.
class SavedRandom {
public:
  virtual ~SavedRandom() = default;
};

/// Holds a tensor whose memory is reused when it is not in use any more.
class KeptTensor {
public:
  virtual ~KeptTensor() = default;
  virtual void *handle() const = 0;
  /// The beginning of its storage.
  virtual const void *begin() const = 0;
  virtual uint64_t bytes() const = 0;
  /// Whether another reference to its storage exists.
  virtual bool isShared() const = 0;
};

/// Splits [0, units) into pieces of at least `grain` units and runs `body(argument, begin, end)` on
/// each, possibly at the same time.
using RangeBody = void (*)(void *argument, int64_t begin, int64_t end);

struct KernelArguments;

class TensorHost {
public:
  virtual ~TensorHost() = default;

  /// Bare memory, at least 64-byte aligned; null if there is none left.
  virtual void *allocateRaw(format::Device device, uint64_t bytes) = 0;
  virtual void freeRaw(format::Device device, void *memory) = 0;
  /// Whether each temporary gets its own block instead of a part of the arena.
  virtual bool separateBuffers() const { return false; }
  /// A block of `capacity` bytes for a temporary. A host may cache returned blocks for later
  /// requests of the same size.
  virtual void *takeBlock(format::Device device, uint64_t capacity) {
    return allocateRaw(device, capacity);
  }
  virtual void giveBlock(format::Device device, void *memory) { freeRaw(device, memory); }

  /// Warns the user of something that is not an error.
  virtual void warn(const std::string &) {}
  /// Logs a decision made at run time.
  virtual void note(const std::string &) {}

  /// Makes a tensor with its own storage; fills data and handle.
  virtual Status allocateTensor(const TensorShape &shape, TensorSlot &slot) = 0;
  /// Makes a tensor over the storage of `source` that begins `offset` elements (of its own dtype)
  /// after source's first element.
  virtual Status viewTensor(const TensorSlot &source, const TensorShape &shape, int64_t offset,
                            TensorSlot &slot) = 0;
  /// Makes a tensor with the values, sizes and strides of `source` and without lazy bits. Not
  /// called for hosts without such tensors.
  virtual Status resolveTensor(const TensorSlot &, TensorSlot &) {
    return Status::error(ErrorKind::Unsupported, "a tensor is conjugated or negated lazily; "
                                                 "call resolve_conj() or resolve_neg() on it");
  }
  /// Drop or add a reference to a tensor.
  virtual void releaseTensor(void *handle) = 0;
  virtual void retainTensor(void *handle) = 0;
  /// The metadata of a tensor; its pointers are valid while the tensor is unchanged.
  virtual TensorView viewOf(void *handle) = 0;
  /// A holder that may outlive this object; null if the host cannot count a tensor's references.
  virtual std::shared_ptr<KeptTensor> keepTensor(void *) { return nullptr; }
  /// Whether user code may currently see the tensors saved for a backward (saved_tensors_hooks).
  virtual bool showsKeptTensors() const { return false; }

  /// dst.copy_(src); bumps the version counter.
  virtual Status copyInto(const TensorSlot &destination, const TensorSlot &source) = 0;
  virtual void bumpVersion(const TensorSlot &tensor) = 0;
  /// Reads a tensor with one element, into the variable of its dtype's register file.
  virtual Status readItem(const TensorSlot &tensor, int64_t *integer, double *real) = 0;
  /// Makes a 0-d CPU tensor.
  virtual Status wrapScalar(format::Dtype dtype, int64_t integer, double real,
                            TensorSlot &slot) = 0;

  /// Runs the prepared call `number` of the plan on the registers of `state`.
  virtual Status callAten(uint32_t number, RunState &state) = 0;
  virtual CallTraits traitsOf(uint32_t) const { return {}; }
  /// After a status of kind Pending: whether the exception is one that the operator would raise
  /// again, and not a lack of memory or an interrupt.
  virtual bool isRepeatable() const { return false; }
  /// The state of the generators of the CPU and of a GPU (-1: none); null if it cannot be read.
  virtual std::shared_ptr<SavedRandom> saveRandom(int32_t) { return nullptr; }
  virtual void restoreRandom(const SavedRandom &) {}

  /// The number of the GPU that this thread uses.
  virtual int currentDevice() { return 0; }
  /// The stream for kernel launches, as a handle of the driver.
  virtual void *currentStream() { return nullptr; }
  /// Gives unused device memory back to the driver; false if there is none.
  virtual bool releaseCachedMemory() { return false; }

  /// Asked now and then during a loop: an error ends the call, such as Python's KeyboardInterrupt.
  virtual Status interrupted() { return Status::ok(); }

  /// Called around a kernel, for profilers; the result of beginKernel is passed to endKernel.
  virtual void *beginKernel(const KernelArguments &) { return nullptr; }
  virtual void endKernel(void *) {}

  /// Runs a range body (see RangeBody) and returns when all pieces are done.
  virtual void parallelFor(int64_t units, int64_t grain, RangeBody body, void *argument) = 0;
};

/// The arguments of a launch. Pointers, ints and floats are laid out as in KernelAbi.h.
struct KernelArguments {
  const LaunchSite *site;
  const DecodedVariant *variant;
  uint32_t variantIndex;
  void **pointers;
  const int64_t *ints;
  const double *floats;
  void *workspace;
  /// The int file, for launch sizes.
  const int64_t *registers;
  /// The tensor file, for shapes that are known only after a call.
  const TensorSlot *tensors;
};

class KernelBackend {
public:
  virtual ~KernelBackend() = default;
  /// Whether kernels can run at all; checked before a call allocates any memory.
  virtual Status ready() { return Status::ok(); }
  virtual Status launch(const KernelArguments &arguments, TensorHost &host) = 0;
  /// The backend's counters, by name.
  virtual std::vector<std::pair<std::string, uint64_t>> counters() const { return {}; }
};

} // namespace frit
