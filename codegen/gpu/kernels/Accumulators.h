#pragma once

#include "codegen/gpu/emit/GpuFunction.h"
#include "codegen/gpu/kernels/Welford.h"
#include "kernel/ReductionAlgebra.h"

/// The running values of all reductions of one phase, as a flat list: one value for a sum, two
/// (value, position) for an arg-reduction, four for squared deviations (Welford.h).
///
/// They start as vectors, one element per lane. These are folded to scalars, and then over threads
/// by butterfly shuffles; groups wider than a warp exchange one value per warp through shared
/// memory. Every thread of a group gets the result. Each exchange has its own slot in shared
/// memory, so it needs only one barrier. The blocks of a cluster write their result into the shared
/// memory of all, and each folds them in order. The order of combination depends on lanes and
/// threads alone, so results are deterministic.
namespace mlir::frit {

class Accumulators {
public:
  Accumulators(GpuFunction &function, unsigned level);
  /// For these Reduce nodes, without slots in shared memory: for threads that keep their own
  /// results.
  Accumulators(GpuFunction &function, ArrayRef<unsigned> nodes);

  bool isEmpty() const { return reduces.empty(); }
  unsigned numValues() const { return types.size(); }
  ArrayRef<Type> getTypes() const & { return types; }
  /// The types are the object's own.
  ArrayRef<Type> getTypes() const && = delete;

  /// The neutral values of all reductions.
  SmallVector<Value> identity(unsigned lanes);
  /// The values that a sweep begins with. `isMasked`: lanes of a frame may be outside of its mask.
  SmallVector<Value> start(unsigned lanes, bool isMasked = false);
  /// Converts the values that a sweep carried to the form that `combine` and the folds take.
  SmallVector<Value> leave(ValueRange carried, unsigned lanes);
  /// Combines `carried` with the operands at the frame's index. Lanes outside of
  /// the frame's mask, and all of them where `active` does not hold, take no part.
  SmallVector<Value> accumulate(Frame &frame, ValueRange carried, Value active = Value());
  /// The same for several frames in order, `then` called after each; together they are a tile.
  SmallVector<Value> accumulate(ArrayRef<Frame *> frames, ValueRange carried,
                                ArrayRef<Value> active,
                                llvm::function_ref<void(Frame &)> then = nullptr);
  /// Whether the result depends on which frames are accumulated in one call.
  static bool takesTiles(const KernelProgram &program);
  /// Combines two sets of running values, lane by lane.
  SmallVector<Value> combine(ValueRange a, ValueRange b);
  /// Folds the lanes of vectors to scalars, in a fixed order.
  SmallVector<Value> foldLanes(ValueRange values);
  /// Folds over groups of `threads` (a power of two that divides the block).
  SmallVector<Value> foldThreads(ValueRange values, uint32_t threads);
  /// Folds over the blocks of the cluster a value that all threads of a block have. The first call
  /// in a kernel must pass `isFirst`.
  SmallVector<Value> foldCluster(ValueRange values, bool isFirst);
  /// Begins the exchanges of `foldCluster`, one for each level; comes first in the kernel.
  static void beginExchanges(GpuFunction &function);
  /// Binds the results of the reductions in the frame.
  void supply(Frame &frame, ValueRange values);

  /// Bytes of shared memory that `foldThreads` and `foldCluster` need over all phases.
  static uint32_t getSharedBytes(const KernelProgram &program, uint32_t blockThreads,
                                 uint32_t groupThreads, uint32_t clusterBlocks = 1);
  /// The number of values of all phases before `levels`.
  static unsigned countValues(const KernelProgram &program, unsigned levels);
  /// The number of values of these Reduce nodes.
  static unsigned countValuesOf(const KernelProgram &program, ArrayRef<unsigned> nodes);

private:
  void add(ArrayRef<unsigned> nodes);
  /// The offsets in shared memory of what the blocks of a cluster send each other, and of the
  /// barrier objects of these exchanges, one for each level.
  static int64_t getClusterSlots(const GpuFunction &function);
  static int64_t getExchanges(const GpuFunction &function);

  struct Reduce {
    unsigned node;
    unsigned first, count;
    mutable ReduceOp op;
    bool isArg;
  };
  SmallVector<Value> accumulateOne(Frame &frame, ValueRange carried, Value active);
  SmallVector<Value> combineOne(const Reduce &reduce, ValueRange a, ValueRange b);
  Welford deviationsOf(const Reduce &reduce);
  Value startOf(const Reduce &reduce, unsigned which);

  GpuFunction &function;
  OpBuilder &builder;
  Location loc;
  SmallVector<Reduce> reduces;
  SmallVector<Type> types;
  unsigned level = 0, slot = 0;
};

} // namespace mlir::frit
