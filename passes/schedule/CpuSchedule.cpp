// Chooses the family of a CPU kernel, then its numbers.
#include "passes/schedule/CpuSchedule.h"

#include "kernel/KernelCosts.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::frit;

/// Long enough to hide the start of a unit; a multiple of every lane count and cache line.
static constexpr int64_t kStretch = 4096;
/// Rows of a tile that transposes: with 16 of them every line that a gather touches is used whole
/// before it leaves the cache.
static constexpr int64_t kTileRows = 16;
/// Rows of a unit of a column reduction, and where operands are packed for them.
static constexpr int64_t kUnitRows = 32, kPackedUnitRows = 128;
/// Vectors that a unit of a column reduction reads of a row, and the units that there should be.
static constexpr int64_t kFewVectors = 4, kManyVectors = 16, kColumnUnits = 8;
/// The vectors of a row that a unit reads whose steps are shared out.
static constexpr int64_t kPartVectors = 32;
/// The most costly values of a row that are stored, and the most parts of a row that is divided.
static constexpr int64_t kMostKept = 4, kMostParts = 64;

namespace {
using CpuCandidates = SmallVector<Attribute>;

int64_t grainOf(const CpuKernelSummary &kernel, int64_t elementsOfUnit) {
  return std::max<int64_t>(1, static_cast<int64_t>(kernel.elementsOfThread) /
                                  std::max<int64_t>(elementsOfUnit, 1));
}

/// The fields of #frit.cpu_pointwise, to be changed one by one.
struct Pointwise {
  int64_t stretch = kStretch, unroll = 1;
  bool streams = true;

  Attribute get(MLIRContext *context, const CpuKernelSummary &kernel) const {
    int64_t tileRows = kernel.tileDim ? kTileRows : 1;
    int64_t elements = std::min(kernel.laneLength, stretch) * tileRows;
    return CpuPointwiseAttr::get(context, kernel.unrollMembers, kernel.lane, kernel.tileDim,
                                 tileRows, stretch, unroll, kernel.isLong, streams,
                                 kernel.lane ? grainOf(kernel, elements) : 1);
  }
};

CpuCandidates pointwise(MLIRContext *context, const CpuKernelSummary &kernel) {
  Pointwise base;
  CpuCandidates list = {base.get(context, kernel)};
  if (kernel.lane && !kernel.isSmall) {
    list.push_back(Pointwise{.streams = false}.get(context, kernel));
    if (kernel.laneLength > kStretch) {
      list.push_back(Pointwise{.stretch = 4 * kStretch}.get(context, kernel));
    }
    if (!kernel.isLong) {
      list.push_back(Pointwise{.unroll = 4}.get(context, kernel));
    }
  }
  return list;
}

/// The fields of #frit.cpu_rows.
struct Rows {
  /// Times the accumulators that a round has by itself.
  double unroll = 1;
  int64_t keep = kMostKept;
  int64_t splitElements = kSplitRowElements;

  Attribute get(MLIRContext *context, const CpuKernelSummary &kernel) const {
    SmallVector<int64_t> unrolls;
    SmallVector<bool> once;
    for (const CpuKernelSummary::Round &round : kernel.rounds) {
      // Each accumulator is a vector register for each reduction; what is emitted once costs none.
      bool isLight =
          kernel.isInvariant || round.isLong || (round.weight <= 12 && round.reductions <= 2);
      unrolls.push_back(static_cast<int64_t>((isLight ? 4 : 2) * unroll));
      once.push_back(round.isLong);
    }
    bool writesOnce = keep > 0 ? kernel.isWriteLong : kernel.isRecomputeLong;
    return CpuRowsAttr::get(
        context, kernel.unrollMembers, *kernel.lane, DenseI64ArrayAttr::get(context, unrolls),
        DenseBoolArrayAttr::get(context, once), keep, writesOnce, kernel.isRecomputeLong,
        /*streams=*/true, kernel.canSplit ? splitElements : 0, kernel.canSplit ? kMostParts : 0,
        kernel.canSplit ? 1 : grainOf(kernel, kernel.reducedLength));
  }
};

CpuCandidates rows(MLIRContext *context, const CpuKernelSummary &kernel) {
  CpuCandidates list = {Rows{}.get(context, kernel)};
  if (kernel.isSmall) {
    return list;
  }
  list.push_back(Rows{.unroll = 2}.get(context, kernel));
  list.push_back(Rows{.unroll = 0.5}.get(context, kernel));
  if (kernel.keptValues) {
    list.push_back(Rows{.keep = 0}.get(context, kernel));
  }
  if (kernel.canSplit) {
    list.push_back(Rows{.splitElements = 4 * kSplitRowElements}.get(context, kernel));
  }
  return list;
}

/// The fields of #frit.cpu_columns.
struct Columns {
  int64_t rows = 1, vectors = 1, tiles = 1, partSteps = 0;

  Attribute get(MLIRContext *context, const CpuKernelSummary &kernel, CpuVectors vectorsOf) const {
    int64_t unitRows = !kernel.rowDim ? 1 : kernel.canPack ? kPackedUnitRows : kUnitRows;
    int64_t steps = partSteps > 0 ? partSteps : kernel.reducedLength;
    int64_t elements = steps * unitRows * vectorsOf.lanes * vectors * tiles;
    return CpuColumnsAttr::get(context, kernel.unrollMembers, *kernel.lane, kernel.rowDim, rows,
                               vectors, unitRows, kernel.canPack, kernel.isLong,
                               grainOf(kernel, elements), tiles, partSteps,
                               partSteps > 0 ? kMostParts : 0);
  }
};

/// One candidate: other tiles never won by 3 % (docs/Rationale.md).
CpuCandidates columns(MLIRContext *context, const CpuKernelSummary &kernel, CpuVectors vectors) {
  Columns tile;
  bool isLight = kernel.reductions <= 2;
  // Long code hides its latencies by itself.
  if (!kernel.isLong) {
    tile.rows = !kernel.rowDim ? 1 : kernel.reductions == 1 ? 4 : 2;
    tile.vectors = !isLight ? 1 : kernel.rowDim ? 2 : 4;
  }
  // A tile that walks all of a long dim reads one line of each page.
  if (kernel.canSumInBlocks && (kernel.canShareOut || kernel.reducedLength > kSumSteps[0])) {
    int64_t all = llvm::divideCeil(kernel.laneLength, vectors.lanes);
    if (kernel.canShareOut) {
      tile.partSteps = kPartSteps;
      tile.tiles = kPartVectors / tile.vectors;
    } else {
      tile.tiles = std::clamp(all / kColumnUnits, kFewVectors, kManyVectors) / tile.vectors;
    }
    tile.tiles = std::clamp<int64_t>(tile.tiles, 1, llvm::divideCeil(all, tile.vectors));
  }
  return {tile.get(context, kernel, vectors)};
}
} // namespace

CpuCandidates mlir::frit::listCpuSchedules(MLIRContext *context, const CpuKernelSummary &kernel,
                                           CpuVectors vectors) {
  return kernel.rounds.empty()                     ? pointwise(context, kernel)
         : kernel.isLaneReduced || kernel.canSplit ? rows(context, kernel)
                                                   : columns(context, kernel, vectors);
}
