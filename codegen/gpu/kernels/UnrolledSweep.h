#pragma once

#include "codegen/gpu/emit/Odometer.h"

/// A thread's share of a sweep over steps that the threads of a block take in turns, and the blocks
/// of a grid, if several share it.
///
/// A block takes runs of threads x unroll steps, every parts-th of them; a thread takes each
/// threads-th step of a run. All loads of its steps in a run are emitted before the first is used;
/// they are used in order. Steps behind the last whole run are the last part's, one by one. So the
/// order is a function of the sizes alone, whether steps are emitted one after the other or in a
/// loop.
///
/// Where finding the place of a step would divide by sizes that are not known, the thread carries
/// the place from step to step.
namespace mlir::frit {

struct UnrolledSweep {
  SizeExpr extent;
  /// Which of how many threads; steps of a thread in a run.
  Value thread;
  int64_t threads = 1;
  unsigned unroll = 1;
  /// Which of how many blocks; null where one takes all.
  Value part;
  SizeAttr parts;
  /// The steps of a run in a loop: no loads ahead, and no code for each.
  bool isRolled = false;
  /// What carries the place of a step, if that saves divisions; a step is its number otherwise.
  const Odometer *odometer = nullptr;

  int64_t run() const { return threads * unroll; }
};

/// `bind` binds a frame within `outer` to a step, by its number or, if it is not empty, its place;
/// `body` gets the frames of a run (or one of them, behind the last whole run and where runs are
/// rolled), and what is carried from one call to the next. `loads` are nodes.
SmallVector<Value>
emitUnrolledSweep(GpuFunction &function, const UnrolledSweep &sweep, Frame &outer,
                  ArrayRef<unsigned> loads, ValueRange carried,
                  llvm::function_ref<void(Frame &, Value, ArrayRef<Value>)> bind,
                  llvm::function_ref<SmallVector<Value>(ArrayRef<Frame *>, ValueRange)> body);

/// The loads below `roots` that lie along reduced dims.
SmallVector<unsigned> getSweptLoads(const KernelProgram &program, ArrayRef<unsigned> roots);

} // namespace mlir::frit
