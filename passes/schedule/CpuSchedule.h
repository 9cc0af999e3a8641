#pragma once

#include "kernel/KernelProgram.h"

/// The schedule of a CPU kernel as a pure function of numbers: `CpuKernelSummary` holds what a
/// schedule depends on, `listCpuSchedules` turns it into candidates.
namespace mlir::frit {

/// The fewest elements of each part of a row that is divided, and the fewest steps of each part of
/// a reduction across the lanes.
inline constexpr int64_t kSplitRowElements = 16384, kPartSteps = 128;

/// The properties of the machine that schedules need.
struct CpuVectors {
  /// Lanes of 32 bits.
  unsigned lanes = 16;
  /// Elements below 32 bits can be loaded and stored under a mask.
  bool masksNarrow = true;
};

struct CpuKernelSummary {
  /// The innermost dim has few members and was unrolled (boxes, colours, complex numbers).
  bool unrollMembers = false;
  /// The dim along which vectors run; none if the domain has no dims.
  std::optional<unsigned> lane;
  /// Elements that are worth a thread.
  double elementsOfThread = 1;
  /// Estimates: elements of the lane dim, and of all reduced dims.
  int64_t laneLength = 1, reducedLength = 1;
  /// The domain is known to have so few elements that schedules make no difference.
  bool isSmall = false;
  /// The order of additions must not depend on the number of rows, nor on what else the kernel
  /// computes, which may.
  bool isInvariant = false;

  // Without reductions.
  /// A dim beside the lane dim along which an operand is contiguous.
  std::optional<unsigned> tileDim;
  /// The body is so long that it had better be emitted once, under masks, and can be. Also of the
  /// tiles of reductions across the lanes.
  bool isLong = false;

  /// One round of reductions: sweeps that need no result of each other.
  struct Round {
    unsigned reductions = 1;
    /// Work of an element; what is costly counts eight times.
    unsigned weight = 1;
    bool isLong = false;
  };
  SmallVector<Round> rounds;

  // Where the lane dim is reduced.
  bool isLaneReduced = false;
  /// Costly values that several sweeps of a row read.
  unsigned keptValues = 0;
  /// The last sweep from kept values, and without them.
  bool isWriteLong = false, isRecomputeLong = false;
  /// There is one row, which may be long, and nothing but its reductions' results is written.
  bool canSplit = false;

  // Where the lane dim is parallel.
  unsigned reductions = 0;
  /// The innermost parallel dim that a load of the reduction does not depend on; a load with a
  /// stride along the lanes if there is one.
  std::optional<unsigned> rowDim;
  /// Tiles beside each other can be walked together (`canSumInBlocks`).
  bool canSumInBlocks = false;
  /// Then the reduced dim can be shared out, too: the lanes are all of the parallel dims, and there
  /// may be several parts.
  bool canShareOut = false;
  /// Loads that are the same for all rows of a tile have a stride along the lanes, and can be
  /// copied into lane order.
  bool canPack = false;
};

/// Lane dims and members are chosen here too: `program` is left with the dims that the schedule
/// names.
CpuKernelSummary summarizeCpuKernel(KernelProgram &program, CpuVectors vectors);

/// The dim along which vectors run: where most bytes are contiguous, or, where every operand of a
/// reduction is shared by the rows of a pair of parallel dims, one of these. Where bits must not
/// depend on the number of rows, it follows from the shape that is reduced.
std::optional<unsigned> chooseLaneDim(const KernelProgram &program);

/// #frit.cpu_pointwise, #frit.cpu_rows or #frit.cpu_columns, best first; never empty.
SmallVector<Attribute> listCpuSchedules(MLIRContext *context, const CpuKernelSummary &kernel,
                                        CpuVectors vectors);

} // namespace mlir::frit
