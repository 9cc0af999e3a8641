// Which family, then its numbers.
#include "passes/Schedule.h"

#include "llvm/ADT/bit.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::frit;

static int64_t powerOfTwo(double value, int64_t low, int64_t high) {
  auto floor = static_cast<int64_t>(
      llvm::bit_floor(static_cast<uint64_t>(std::clamp(value, 1.0, 1e9))));
  return std::clamp(floor, low, high);
}

/// GPU: 16-byte accesses of the narrowest type, at most 8 elements a thread so
/// that wide partners stay in registers.
static int64_t vectorWidth(const RegionSummary &region) {
  return std::clamp<int64_t>(16 / std::max(1u, region.narrowestBytes), 1,
                             region.widestBytes >= 8 ? 2 : 8);
}

static ScheduleCandidate pointwise(const RegionSummary &region, ScheduleTarget target) {
  if (target == ScheduleTarget::Cpu) {
    return {ScheduleKind::Pointwise, {{"unroll", region.weight > 64 ? 1 : 4}}};
  }
  return {ScheduleKind::Pointwise, {{"threads", 256}, {"vector", vectorWidth(region)}}};
}

/// A row to a warp while it is short, to a block when it is long; several short
/// rows to a block.
static ScheduleCandidate rows(const RegionSummary &region, ScheduleTarget target) {
  if (target == ScheduleTarget::Cpu) {
    return {ScheduleKind::RowReduction, {{"unroll", 4}}};
  }
  int64_t vector = vectorWidth(region);
  double perThread = vector * 4.0;
  // Rows that leave most of a device idle and are long enough to be worth a second launch. Who reads a row again afterwards would
  // read it once from registers: there it takes fewer and longer ones.
  bool isLong = region.columns > (region.hasEpilogue ? 32768 : 8192), isFew = region.rows < (region.hasEpilogue ? 64 : 256);
  if (isLong && isFew) {
    return {ScheduleKind::RowReduction,
            {{"threads", 256},
             {"rows", 1},
             {"split", powerOfTwo(region.columns / (256 * perThread), 2, 512)},
             {"vector", vector}}};
  }
  if (region.columns <= 1024) {
    int64_t lanes = powerOfTwo(region.columns / vector, 1, 32);
    return {ScheduleKind::RowReduction,
            {{"threads", 32}, {"rows", std::max<int64_t>(4, 128 / lanes / 4)}, {"vector", vector}}};
  }
  return {ScheduleKind::RowReduction,
          {{"threads", powerOfTwo(region.columns / perThread, 128, 1024)},
           {"rows", 1},
           {"vector", vector}}};
}

static ScheduleCandidate columns(const RegionSummary &region, ScheduleTarget target) {
  // Few columns and many of what is reduced: split the sweep.
  double width = std::max(1.0, region.rows);
  int64_t split = width < 4096 && region.columns > 1024
                      ? powerOfTwo(region.columns / 256, 1, 64)
                      : 1;
  if (target == ScheduleTarget::Cpu) {
    return {ScheduleKind::ColumnReduction, {{"split", split}}};
  }
  return {ScheduleKind::ColumnReduction, {{"threads", 256}, {"rows", 8}, {"split", split}}};
}

static ScheduleCandidate full(const RegionSummary &region, ScheduleTarget target) {
  if (target == ScheduleTarget::Cpu) {
    return {ScheduleKind::FullReduction, {{"unroll", 4}}};
  }
  return {ScheduleKind::FullReduction, {{"threads", 256}, {"vector", vectorWidth(region)}}};
}

SmallVector<ScheduleCandidate, 2> mlir::frit::listSchedules(const RegionSummary &region,
                                                            ScheduleTarget target) {
  if (!region.reduces) {
    return {pointwise(region, target)};
  }
  if (region.singleRow && !region.hasEpilogue) {
    return {full(region, target), rows(region, target)};
  }
  bool alongColumns = region.bytesAlongParallel > region.bytesAlongReduced;
  if (alongColumns && !region.singleRow && !region.hasEpilogue) {
    return {columns(region, target), rows(region, target)};
  }
  return {rows(region, target)};
}
