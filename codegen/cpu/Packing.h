#pragma once

#include "codegen/cpu/CpuFunction.h"

/// Packs operands of a column reduction in the order of its lanes.
///
/// A load with a stride along the lanes is a gather. If the rows of a tile share it, it is done
/// once for all of them: a stretch of the reduced dim by the unit's lanes is copied into scratch,
/// vector by vector as the tiles read it. An operand that is contiguous along the reduced dim is
/// read along that dim and transposed in squares, so that its stride along the lanes, known or not,
/// costs nothing.
namespace mlir::frit {

class Packing {
public:
  /// For kernels with one reduced dim, and units of `vectors` vectors.
  Packing(const KernelProgram &program, CpuFunction &f, Emitter &emitter, unsigned lane,
          unsigned vectors);

  /// Chooses the loads that do not depend on `rowDim`, for stretches of at most `steps`.
  void choose(unsigned rowDim, int64_t steps);
  /// Copies [low, high) of the reduced dim for the lanes from `column` on; lanes from `laneCount`
  /// on get arbitrary values.
  void emit(Frame &unit, Value column, Value laneCount, Value low, Value high);
  /// Supplies the copied values to a frame in which the lanes and the reduced dim are bound.
  void supply(Frame &frame, Value low, Value column);

private:
  struct Packed {
    unsigned node;
    Value buffer;
    bool isTurned;
  };

  void gather(Frame &unit, Value column, Value laneCount, Value low, Value step);
  void turn(Frame &unit, Value column, Value laneCount, Value low, Value high, Value first);
  Value address(const Packed &operand, Value at);

  const KernelProgram &program;
  CpuFunction &f;
  Emitter &emitter;
  unsigned lane, reduced, lanes, wide;
  SmallVector<Packed> operands;
};

} // namespace mlir::frit
