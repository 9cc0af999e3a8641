#pragma once

#include "codegen/gpu/emit/MixedRadixCounter.h"

/// A thread's share of a sweep whose steps are distributed over the threads of a block and, if
/// several blocks share it, over the blocks of a grid.
///
/// A block takes every parts-th run of threads x unroll steps; a thread takes every threads-th step
/// of a run. All loads of its steps in a run are emitted before the first is used, and used in
/// order. Steps after the last whole run belong to the last part and run one by one. So the order
/// depends on sizes alone, and is the same whether the steps of a run are unrolled or in a loop.
///
/// If finding the place of a step would divide by unknown sizes, the place is carried from step to
/// step.
namespace mlir::frit {

struct UnrolledSweep {
  SizeExpr extent;
  /// The number of this thread and of all threads, and the steps of a thread in a run.
  Value thread;
  int64_t threads = 1;
  unsigned unroll = 1;
  /// The number of this block and of all blocks; null if one block takes all steps.
  Value part;
  SizeAttr parts;
  /// The steps of a run are a loop, without loads ahead, which makes less code.
  bool isRolled = false;
  /// Carries the place of a step, if that saves divisions; otherwise a step is only a number.
  const MixedRadixCounter *counter = nullptr;

  int64_t run() const { return threads * unroll; }
};

/// `bind` binds a frame within `outer` to a step, by its place or, if that is empty, by its number.
/// `body` gets the frames of a run (a single frame after the last whole run and in rolled loops)
/// and the carried values, and returns their successors. `loads` are nodes.
SmallVector<Value>
emitUnrolledSweep(GpuFunction &function, const UnrolledSweep &sweep, Frame &outer,
                  ArrayRef<unsigned> loads, ValueRange carried,
                  llvm::function_ref<void(Frame &, Value, ArrayRef<Value>)> bind,
                  llvm::function_ref<SmallVector<Value>(ArrayRef<Frame *>, ValueRange)> body);

} // namespace mlir::frit
