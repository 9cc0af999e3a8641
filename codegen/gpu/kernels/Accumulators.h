#pragma once

#include "codegen/gpu/emit/GpuFunction.h"
#include "codegen/gpu/kernels/Welford.h"
#include "kernel/ReductionAlgebra.h"

/// The running values of all reductions of one phase, flattened: one value for a
/// sum, two (value, position) for an arg-reduction, four for the squares around a mean (Welford.h).
/// They start as vectors (a lane each), are folded to scalars, and then over threads by a butterfly
/// of shuffles; groups wider than a warp exchange one value a warp through shared memory. Every
/// thread of a group ends with the result. Each exchange has a slot of its own in
/// shared memory, so one barrier an exchange is enough. The blocks of a cluster write
/// their result into the shared memory of all, and each folds what it got in order. The order of
/// combination depends on lanes and threads alone: same input, same bits.
namespace mlir::frit {

class Accumulators {
public:
  Accumulators(GpuFunction &function, unsigned level);
  /// Of these Reduce nodes, which have no slots: for threads that keep their own.
  Accumulators(GpuFunction &function, ArrayRef<unsigned> nodes);

  bool isEmpty() const { return reduces.empty(); }
  unsigned numValues() const { return types.size(); }
  ArrayRef<Type> getTypes() const { return types; }

  SmallVector<Value> identity(unsigned lanes);
  /// What a sweep begins with, and what it leaves for `combine` of what it carried. `isMasked`:
  /// lanes of a frame may be outside of its mask.
  SmallVector<Value> start(unsigned lanes, bool isMasked = false);
  SmallVector<Value> leave(ValueRange carried, unsigned lanes);
  /// Combines `carried` with the operands at the frame's index. Lanes outside of
  /// the frame's mask, and all of them where `active` does not hold, take no part.
  SmallVector<Value> accumulate(Frame &frame, ValueRange carried, Value active = Value());
  /// The same for several frames in order, `then` called after each; together they are a tile.
  SmallVector<Value> accumulate(ArrayRef<Frame *> frames, ValueRange carried,
                                ArrayRef<Value> active,
                                llvm::function_ref<void(Frame &)> then = nullptr);
  /// Whether the result depends on which frames are accumulated together.
  static bool takesTiles(const KernelProgram &program);
  SmallVector<Value> combine(ValueRange a, ValueRange b);
  SmallVector<Value> foldLanes(ValueRange values);
  /// Folds over groups of `threads` (a power of two that divides the block).
  SmallVector<Value> foldThreads(ValueRange values, uint32_t threads);
  /// Folds over the blocks of the cluster what all threads of each have; the first of its calls in
  /// a kernel says so.
  SmallVector<Value> foldCluster(ValueRange values, bool isFirst);
  /// Gives the frame the results.
  void supply(Frame &frame, ValueRange values);

  /// Bytes of shared memory that `foldThreads` and `foldCluster` need over all phases.
  static uint32_t getSharedBytes(const KernelProgram &program, uint32_t blockThreads,
                                 uint32_t groupThreads, uint32_t clusterBlocks = 1);
  /// Values of all phases before `level`.
  static unsigned countValues(const KernelProgram &program, unsigned levels);
  /// Values of these Reduce nodes.
  static unsigned countValuesOf(const KernelProgram &program, ArrayRef<unsigned> nodes);
  /// What the reductions of a phase read.
  static SmallVector<unsigned> getOperands(const KernelProgram &program, unsigned level);

private:
  void add(ArrayRef<unsigned> nodes);

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
  unsigned slot = 0;
};

} // namespace mlir::frit
