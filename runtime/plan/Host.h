// What the executor asks of the world around it. One executor serves torch (at::Tensor, torch's
// allocator and thread pool, the dispatcher) and frit-run (a few dozen lines of its own); a backend
// runs kernels on the CPU, on a GPU or in the SIMT emulation. All of these are called from the hot
// path: implementations do no lookups by name and take no locks they can avoid.

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

/// What torch does to memory when it reads a tensor: x.conj() is a view with such a bit, and so is
/// x.conj().imag. Kernels know nothing of them.
enum LazyBits : uint8_t { kPlain = 0, kConjugated = 1, kNegated = 2 };

/// A tensor register at run time.
struct TensorSlot {
  enum class Owner : uint8_t {
    /// Empty, or a look at memory that another slot owns.
    Nothing,
    /// `allocation` came from allocateRaw.
    Raw,
    /// `allocation` came from takeBlock.
    Block,
    /// `handle` is a tensor of the host and keeps its storage alive.
    Handle
  };
  /// The first element, as it is: null for a tensor with lazy bits, whose memory holds something
  /// else (see LazyTensors.cpp).
  void *data = nullptr;
  void *handle = nullptr;
  void *allocation = nullptr;
  uint64_t bytes = 0;
  bool isTemporary = false;
  Owner owner = Owner::Nothing;
  LazyBits lazy = kPlain;
};

/// A look at a tensor of the host.
struct TensorView {
  void *data;
  const int64_t *sizes;
  const int64_t *strides;
  int64_t rank;
  int64_t offset;
  format::Dtype dtype;
  format::Device device;
  /// Which one, where there are several of them.
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
  /// Elements that memory has beyond the storage, and nobody may touch.
  int64_t slack = 0;
  /// The storage is a block of so many bytes (see takeBlock); 0: one of its own size.
  uint64_t capacity = 0;
  /// What the new tensor makes of its memory.
  LazyBits lazy = kPlain;
};

/// What was done, over all calls of an executable.
struct Counters {
  std::atomic<uint64_t> calls{0}, kernelLaunches{0}, atenCalls{0}, allocations{0},
      sizeEvaluations{0};
  /// Arguments that were written to on a copy because they share memory with others.
  std::atomic<uint64_t> overlapCopies{0};
  /// Tensors with lazy bits that were copied for a kernel.
  std::atomic<uint64_t> lazyCopies{0};
  /// What pads in front of library calls wrote, and how much of it is logical.
  std::atomic<uint64_t> paddedElements{0}, logicalElements{0};
  /// Greatest sum of bytes the plan itself had allocated at one moment of a call (results of ATen
  /// calls are theirs).
  std::atomic<uint64_t> peakBytes{0};
  /// The same without results: what the plan takes only for the time of a call, workspace of
  /// kernels included.
  std::atomic<uint64_t> temporaryBytes{0};
};

/// How often sizes found a bucket, and the sums of both.
struct BucketCounters {
  std::atomic<uint64_t> hits{0}, misses{0}, logical{0}, padded{0};
};

struct RunState;

/// What a CUDA graph has to know of an operator.
struct CallTraits {
  /// Why calls of it cannot be captured; empty where they can, or where that is found out when it
  /// is tried.
  std::string uncapturable;
  /// Draws random numbers, or may.
  bool isRandom = false;
};

/// A hold on a tensor whose memory is written to again when nobody else has it.
class KeptTensor {
public:
  virtual ~KeptTensor() = default;
  virtual void *handle() const = 0;
  /// Its storage.
  virtual const void *begin() const = 0;
  virtual uint64_t bytes() const = 0;
  /// Whether anybody else has a tensor over it.
  virtual bool isShared() const = 0;
};

/// Splits [0, units) into pieces of at least `grain` and runs `body(argument, begin, end)` on each,
/// possibly at once.
using RangeBody = void (*)(void *argument, int64_t begin, int64_t end);

class TensorHost {
public:
  virtual ~TensorHost() = default;

  /// Bare memory, at least 64-byte aligned; null when there is none left.
  virtual void *allocateRaw(format::Device device, uint64_t bytes) = 0;
  virtual void freeRaw(format::Device device, void *memory) = 0;
  /// Every temporary is a block of its own and not a part of an arena.
  virtual bool separateBuffers() const { return false; }
  /// A block of `capacity` bytes for a temporary; a host may keep blocks that come back for those
  /// who ask for the same again.
  virtual void *takeBlock(format::Device device, uint64_t capacity) {
    return allocateRaw(device, capacity);
  }
  virtual void giveBlock(format::Device device, void *memory) { freeRaw(device, memory); }

  /// Something the user should know and that is no error.
  virtual void warn(const std::string &) {}
  /// What was decided while running, for the log.
  virtual void note(const std::string &) {}

  /// A new tensor with storage of its own; fills data and handle.
  virtual Status allocateTensor(const TensorShape &shape, TensorSlot &slot) = 0;
  /// A tensor over the storage of `source`, `offset` elements of its own dtype after source's first
  /// element.
  virtual Status viewTensor(const TensorSlot &source, const TensorShape &shape, int64_t offset,
                            TensorSlot &slot) = 0;
  /// A new tensor with the values, sizes and strides of `source` and without lazy bits. Hosts that
  /// know none are never asked.
  virtual Status resolveTensor(const TensorSlot &, TensorSlot &) {
    return Status::error(ErrorKind::Unsupported, "a tensor that is conjugated or negated lazily");
  }
  virtual void releaseTensor(void *handle) = 0;
  virtual void retainTensor(void *handle) = 0;
  virtual TensorView look(void *handle) = 0;
  /// A hold that may outlive this object; null where a host cannot tell who has a tensor.
  virtual std::shared_ptr<KeptTensor> keepTensor(void *) { return nullptr; }
  /// Whether others than autograd get to see what is kept for a backward now.
  virtual bool showsKeptTensors() const { return false; }

  /// dst.copy_(src); bumps the version counter.
  virtual Status copyInto(const TensorSlot &destination, const TensorSlot &source) = 0;
  virtual void bumpVersion(const TensorSlot &tensor) = 0;
  /// The element of a tensor with one element, by the file its dtype belongs to.
  virtual Status readItem(const TensorSlot &tensor, int64_t *integer, double *real) = 0;
  /// A 0-d CPU tensor.
  virtual Status wrapScalar(format::Dtype dtype, int64_t integer, double real,
                            TensorSlot &slot) = 0;

  /// Runs prepared call `number` of the plan on the registers of `state`.
  virtual Status callAten(uint32_t number, RunState &state) = 0;
  virtual CallTraits traitsOf(uint32_t) const { return {}; }

  /// The stream kernels are launched on, as the driver knows it.
  virtual void *currentStream() { return nullptr; }
  /// Gives unused device memory back to the driver; false when there is nothing to give.
  virtual bool releaseCachedMemory() { return false; }

  /// Around a kernel, for profilers; what begin returns goes to end.
  virtual void *beginKernel(const char *) { return nullptr; }
  virtual void endKernel(void *) {}

  virtual void parallelFor(int64_t units, int64_t grain, RangeBody body, void *argument) = 0;
};

/// Runs kernels. Pointers, ints and floats are laid out as KernelAbi.h says.
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
  /// The tensor file, for what only a call made known.
  const TensorSlot *tensors;
};

class KernelBackend {
public:
  virtual ~KernelBackend() = default;
  /// Whether kernels can run at all; asked before a call takes any memory.
  virtual Status ready() { return Status::ok(); }
  virtual Status launch(const KernelArguments &arguments, TensorHost &host) = 0;
  /// What it did, by name.
  virtual std::vector<std::pair<std::string, uint64_t>> counters() const { return {}; }
};

} // namespace frit
