// The interface of a GPU kernel under emulation on the CPU. The kernel is the `gpu.func` that also
// becomes PTX. Everything that the hardware would do for it (thread ids, barriers, shuffles, memory
// checks) is a call through `SimtOperations`, so its image needs nothing else of the process.
// codegen/simt/SimtLayout.h mirrors the offsets and the compiler compares them.
//
// An entry is called once for each thread of the grid, on a stack of its own: void entry(const
// SimtContext *context). A call that fails (an access out of bounds, a race) does not return.

#pragma once

#include "runtime/artifact/KernelAbi.h"

namespace frit {

struct SimtContext;

/// Bits of `flags` of an access.
enum SimtAccess : int32_t { kSimtStore = 1, kSimtShared = 2 };

/// How a shuffle selects the lane that it reads, in the order of gpu.shuffle's modes.
enum class SimtShuffle : int32_t { Xor, Up, Down, Index };

/// The approximate instructions of PTX that kernels use, by their index in
/// codegen/simt/SimtLayout.h.
enum class SimtApproximation : int32_t { Exp2, Rsqrt, Sqrt, Div, Reciprocal, Exp2Flushed };

/// `site` numbers the barriers and shuffles of a kernel in the order of its text.
struct SimtOperations {
  /// Called before every load and store.
  void (*access)(const SimtContext *, const void *address, int64_t bytes, int32_t flags);
  void (*barrier)(const SimtContext *, int32_t site);
  /// Returns the bits of `value` in another lane of the warp; the thread's own value if that lane
  /// lies outside of `width`.
  uint32_t (*shuffle)(const SimtContext *, uint32_t value, int32_t mode, int32_t operand,
                      int32_t width, int32_t site);
  /// Reports an error in the data; codes as in KernelError.
  void (*fail)(const SimtContext *, int32_t code, int32_t dimension, int64_t index, int64_t size);
  /// Returns when all threads of all blocks of the cluster have reached it.
  void (*clusterBarrier)(const SimtContext *, int32_t site);
  /// Maps an address in the block's shared memory to the same place in that of another block of the
  /// cluster.
  void *(*mapShared)(const SimtContext *, void *address, int32_t block);
  /// The result of an approximate instruction, with an error that a device may make. `b` is 0 for a
  /// single operand.
  float (*approximate)(const SimtContext *, int32_t instruction, float a, float b);
  /// Makes a barrier object in the block's shared memory, and says how many bytes it waits for.
  void (*expect)(const SimtContext *, void *object, int64_t bytes);
  /// Stores into the shared memory of a block of the cluster, and counts the bytes at its object.
  void (*send)(const SimtContext *, void *address, int64_t value, int64_t bytes, void *object);
  /// Returns when all bytes of a barrier object of this block have come.
  void (*await)(const SimtContext *, void *object, int32_t site);
};

struct SimtContext {
  void *const *pointers;
  const int64_t *ints;
  const double *floats;
  void *workspace;
  void *shared;
  const SimtOperations *operations;
  const Callbacks *callbacks;
  /// Used by the emulator.
  void *thread;
  int32_t threadId[3];
  int32_t blockId[3];
  int32_t blockDim[3];
  int32_t gridDim[3];
};

using SimtFunction = void (*)(const SimtContext *);

static_assert(offsetof(SimtContext, operations) == 40 && offsetof(SimtContext, threadId) == 64 &&
              sizeof(SimtContext) == 112);
static_assert(offsetof(SimtOperations, fail) == 24 && offsetof(SimtOperations, mapShared) == 40 &&
              offsetof(SimtOperations, approximate) == 48 && offsetof(SimtOperations, await) == 72);

} // namespace frit
