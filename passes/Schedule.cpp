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

using Candidates = SmallVector<ScheduleCandidate, 2>;

/// GPU: a thread takes one vector, so that many threads wait at once; two of them, or fewer threads a block, are worth a try.
static Candidates pointwise(const RegionSummary &region, ScheduleTarget target) {
  if (target == ScheduleTarget::Cpu) {
    return {{ScheduleKind::Pointwise, {{"unroll", region.weight > 64 ? 1 : 4}}}};
  }
  int64_t vector = vectorWidth(region);
  Candidates list = {{ScheduleKind::Pointwise, {{"threads", 256}, {"vector", vector}}}};
  double elements = region.rows * region.columns;
  // Each thread's share has to exist, and its registers.
  if (elements >= 1 << 20 && region.weight <= 64) {
    list.push_back({ScheduleKind::Pointwise, {{"threads", 256}, {"vector", vector}, {"unroll", 2}}});
  }
  if (elements >= 1 << 16) {
    list.push_back({ScheduleKind::Pointwise, {{"threads", 128}, {"vector", vector}}});
  }
  return list;
}

/// What a block and a thread of it can keep of a row: see codegen/gpu/RowReduction.cpp.
static constexpr int64_t kBlockThreads = 512, kKeptChunks = 16, kKeptRegisters = 64;

/// Blocks that keep a row of known length in their registers together: 1, a cluster of 2 to 8, or 0 where none can.
static int64_t blocksThatKeep(const RegionSummary &region, int64_t vector, ScheduleDevice device) {
  for (int64_t blocks = 1; blocks <= device.mostClusterBlocks(); blocks *= 2) {
    int64_t share = kBlockThreads * blocks, each = ((region.knownColumns + vector - 1) / vector + share - 1) / share;
    if (each <= kKeptChunks && each * vector * region.keptOperands <= kKeptRegisters) {
      return region.knownColumns > 0 ? blocks : 0;
    }
  }
  return 0;
}

/// Clusters for rows that are read again after a reduction: of as many blocks as keep them, then of twice as many. Long rows that one
/// block keeps are shared out too where there are fewer of them than processors.
static Candidates clusters(const RegionSummary &region, ScheduleDevice device) {
  int64_t vector = vectorWidth(region);
  while (vector > 1 && region.knownColumns % vector != 0) {
    vector /= 2;
  }
  int64_t blocks = blocksThatKeep(region, vector, device);
  if (!region.hasEpilogue || blocks == 0 || device.mostClusterBlocks() == 1) {
    return {};
  }
  auto canBeMore = [&] {
    // Two chunks a thread at least.
    return 2 * blocks <= device.mostClusterBlocks() && region.knownColumns >= 4 * blocks * kBlockThreads * vector;
  };
  bool isLong = static_cast<double>(region.knownColumns) * region.widestBytes >= 64 << 10;
  while (isLong && region.rows * blocks < device.processors() && canBeMore()) {
    blocks *= 2;
  }
  Candidates list;
  auto add = [&] {
    list.push_back({ScheduleKind::RowReduction, {{"threads", kBlockThreads}, {"rows", 1}, {"cluster", blocks}, {"vector", vector}}});
  };
  if (blocks > 1) {
    add();
    if (canBeMore()) {
      blocks *= 2;
      add();
    }
  }
  return list;
}

/// A row to a warp while it is short, to a block when it is long; several short
/// rows to a block.
static Candidates rows(const RegionSummary &region, ScheduleTarget target, ScheduleDevice device) {
  if (target == ScheduleTarget::Cpu) {
    return {{ScheduleKind::RowReduction, {{"unroll", 4}}}};
  }
  int64_t vector = vectorWidth(region);
  double perThread = vector * 4.0;
  Candidates list = clusters(region, device);
  // Rows that leave most of a device idle and are long enough to be worth a second launch. Who reads a row again afterwards would
  // read it once from registers: there it takes fewer and longer ones.
  bool isLong = region.columns > (region.hasEpilogue ? 32768 : 8192), isFew = region.rows < (region.hasEpilogue ? 64 : 256);
  if (isLong && isFew) {
    list.push_back({ScheduleKind::RowReduction,
                    {{"threads", 256},
                     {"rows", 1},
                     {"split", powerOfTwo(region.columns / (256 * perThread), 2, 512)},
                     {"vector", vector}}});
    return list;
  }
  if (region.columns <= 1024) {
    int64_t lanes = powerOfTwo(region.columns / vector, 1, 32);
    list.push_back({ScheduleKind::RowReduction,
                    {{"threads", 32}, {"rows", std::max<int64_t>(4, 128 / lanes / 4)}, {"vector", vector}}});
  } else {
    list.push_back({ScheduleKind::RowReduction,
                    {{"threads", powerOfTwo(region.columns / perThread, 128, 1024)},
                     {"rows", 1},
                     {"vector", vector}}});
  }
  // `lanes` is how many threads take a row, whatever its length.
  int64_t chunks = region.knownColumns / vector;
  for (int64_t lanes : {32, 128, 256}) {
    if (list.size() < 3 && chunks >= 2 * lanes && chunks <= kKeptChunks * lanes) {
      list.push_back({ScheduleKind::RowReduction, {{"lanes", lanes}, {"rows", 1}, {"vector", vector}}});
    }
  }
  return list;
}

static Candidates columns(const RegionSummary &region, ScheduleTarget target) {
  // Few columns and many of what is reduced: split the sweep.
  double width = std::max(1.0, region.rows);
  int64_t split = width < 4096 && region.columns > 1024
                      ? powerOfTwo(region.columns / 256, 1, 64)
                      : 1;
  if (target == ScheduleTarget::Cpu) {
    return {{ScheduleKind::ColumnReduction, {{"split", split}}}};
  }
  Candidates list = {{ScheduleKind::ColumnReduction, {{"threads", 256}, {"rows", 8}, {"split", split}}}};
  if (region.columns > 1024 && !region.hasEpilogue) {
    // The other way.
    int64_t other = split > 1 ? 1 : powerOfTwo(region.columns / 256, 2, 64);
    list.push_back({ScheduleKind::ColumnReduction, {{"threads", 256}, {"rows", 8}, {"split", other}}});
  }
  return list;
}

static ScheduleCandidate full(const RegionSummary &region, ScheduleTarget target) {
  if (target == ScheduleTarget::Cpu) {
    return {ScheduleKind::FullReduction, {{"unroll", 4}}};
  }
  return {ScheduleKind::FullReduction, {{"threads", 256}, {"vector", vectorWidth(region)}}};
}

Candidates mlir::frit::listSchedules(const RegionSummary &region, ScheduleTarget target, ScheduleDevice device) {
  if (!region.reduces) {
    return pointwise(region, target);
  }
  Candidates list;
  if (region.singleRow && !region.hasEpilogue) {
    list = {full(region, target)};
  } else if (region.bytesAlongParallel > region.bytesAlongReduced && !region.singleRow && !region.hasEpilogue) {
    list = columns(region, target);
  } else {
    return rows(region, target, device);
  }
  list.push_back(rows(region, target, device).front());
  return list;
}

/// What a thread needs beside its share of a row, in registers, what it may take, and what a processor has for all threads.
static constexpr int64_t kOwnRegisters = 32, kMostRegisters = 128, kRegisters = 65536;

BothWays mlir::frit::scheduleBothWays(const RegionSummary &region, const ColumnsBeside &columns, ScheduleDevice device) {
  constexpr int64_t fewestThreads = 256, mostShared = 48 << 10, mostBlocks = 4;
  BothWays result;
  if (region.knownColumns <= 0) {
    result.refusal = BothWays::Refusal::UnknownLength;
    return result;
  }
  int64_t vector = vectorWidth(region);
  while (vector > 1 && region.knownColumns % vector != 0) {
    vector /= 2;
  }
  int64_t chunks = region.knownColumns / vector, accumulators = columns.results;
  // One more for what is computed on the way.
  int64_t values = region.keptOperands + accumulators + columns.common + 1, slot = region.widestBytes > 4 ? 8 : 4;
  for (int64_t threads = 8; threads <= kBlockThreads && threads < std::max<int64_t>(2 * chunks, 16); threads *= 2) {
    int64_t each = (chunks + threads - 1) / threads, block = std::max(threads, fewestThreads), rows = block / threads;
    int64_t registers = (kOwnRegisters + each * vector * values + 7) / 8 * 8;
    int64_t shared = 8 * (block / 32) * 8 + (rows > 1 ? block * vector * slot * accumulators : 0);
    if (each > kKeptChunks || registers > kMostRegisters || shared > mostShared) {
      continue;
    }
    int64_t resident = powerOfTwo(static_cast<double>(kRegisters) / static_cast<double>(registers * block), 1, mostBlocks);
    int64_t parts = device.processors() * resident;
    // What the blocks leave for each column is written and read once more: a quarter of what is saved at most. What is small is read from
    // a cache the second time.
    double left = 8.0 * accumulators * std::min<double>(static_cast<double>(parts), region.rows / static_cast<double>(rows));
    double saved = region.rows * columns.bytesSaved;
    if (saved < 4 * left || saved * region.columns < 1 << 20) {
      result.refusal = BothWays::Refusal::TooFewRows;
      return result;
    }
    result.schedule.parameters = {{"threads", threads}, {"rows", rows}, {"vector", vector}, {"parts", parts}, {"resident", resident}};
    result.registers = registers;
    result.sharedBytes = shared;
    return result;
  }
  result.refusal = BothWays::Refusal::TooManyRegisters;
  return result;
}
