// Which family, then its numbers.
#include "passes/schedule/Schedule.h"

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::frit;

LogicalResult mlir::frit::checkArchitecture(GraphOp graph, unsigned arch) {
  if (arch == 80 || arch == 90 || arch == 100) {
    return success();
  }
  return graph.emitError("unknown architecture ") << arch << ": expected 80, 90 or 100";
}

static int64_t powerOfTwo(double value, int64_t low, int64_t high) {
  auto floor =
      static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(std::clamp(value, 1.0, 1e9))));
  return std::clamp(floor, low, high);
}

/// GPU: 16-byte accesses of the narrowest type, at most 8 elements a thread so
/// that wide partners stay in registers.
static int64_t vectorWidth(const RegionSummary &region) {
  return std::clamp<int64_t>(16 / std::max(1u, region.narrowestBytes), 1,
                             region.widestBytes >= 8 ? 2 : 8);
}

/// The same, or fewer elements, of which a row of known length is a multiple.
static int64_t wholeVectorWidth(const RegionSummary &region) {
  int64_t vector = vectorWidth(region);
  while (vector > 1 && region.knownColumns % vector != 0) {
    vector /= 2;
  }
  return vector;
}

using Candidates = SmallVector<ScheduleCandidate, 2>;

/// Whether so much is computed of an element that it takes registers of its own, and ones that are
/// hard to tell.
static bool isHeavy(const RegionSummary &region) { return region.weight > 16; }

/// Vectors that a thread loads before it uses the first: one, since there are many threads, but two
/// where one vector of all threads that a processor holds is less than twice what it has to wait
/// for (the next block comes when the last warp of one has gone). Only of a single operand: several
/// are several loads under way. And only where there are eight rounds of blocks, so that the last,
/// which is not whole, is little, and where the math is not what takes the time.
static int64_t vectorsAtOnce(const RegionSummary &region, int64_t threads, int64_t vector,
                             ScheduleDevice device) {
  constexpr int64_t rounds = 8, most = 2;
  if (region.streamedBytes == 0 || isHeavy(region) ||
      device.threads() * vector * region.streamedBytes >= 2 * device.bytesInFlight()) {
    return 1;
  }
  double ofRound = static_cast<double>(device.threads() / threads * device.processors() * threads *
                                       vector * most);
  return region.rows * region.columns >= rounds * ofRound ? most : 1;
}

/// So many vectors a thread; the other way, and fewer threads a block, are worth a try.
static Candidates pointwise(const RegionSummary &region, ScheduleDevice device) {
  int64_t vector = vectorWidth(region), unroll = vectorsAtOnce(region, 256, vector, device);
  ScheduleCandidate one = {ScheduleKind::Pointwise, {{"threads", 256}, {"vector", vector}}};
  ScheduleCandidate two = {ScheduleKind::Pointwise,
                           {{"threads", 256}, {"vector", vector}, {"unroll", 2}}};
  Candidates list = {unroll > 1 ? two : one};
  double elements = region.rows * region.columns;
  // Each thread's share has to exist, and its registers.
  if (elements >= 1 << 20 && region.weight <= 64) {
    list.push_back(unroll > 1 ? one : two);
  }
  if (elements >= 1 << 16) {
    list.push_back({ScheduleKind::Pointwise, {{"threads", 128}, {"vector", vector}}});
  }
  return list;
}

/// Blocks that keep a row of known length in their registers together: 1, a cluster of 2 to 8, or 0
/// where none can.
static int64_t blocksThatKeep(const RegionSummary &region, int64_t vector, ScheduleDevice device) {
  for (int64_t blocks = 1; blocks <= device.mostClusterBlocks(); blocks *= 2) {
    int64_t share = kMostRowThreads * blocks,
            each = ((region.knownColumns + vector - 1) / vector + share - 1) / share;
    if (keepsChunks(each, vector, region.keptOperands)) {
      return region.knownColumns > 0 ? blocks : 0;
    }
  }
  return 0;
}

bool mlir::frit::keepsRows(const RegionSummary &region, ScheduleDevice device) {
  return region.knownColumns == 0 || blocksThatKeep(region, wholeVectorWidth(region), device) > 0;
}

/// Clusters for rows that are read again after a reduction: of as many blocks as keep them, then of
/// twice as many. Long rows that one block keeps are shared out too where there are fewer of them
/// than processors.
static Candidates clusters(const RegionSummary &region, ScheduleDevice device) {
  int64_t vector = wholeVectorWidth(region);
  int64_t blocks = blocksThatKeep(region, vector, device);
  if (!region.hasEpilogue || blocks == 0 || device.mostClusterBlocks() == 1) {
    return {};
  }
  auto canBeMore = [&] {
    // Two chunks a thread at least.
    return 2 * blocks <= device.mostClusterBlocks() &&
           region.knownColumns >= 4 * blocks * kMostRowThreads * vector;
  };
  bool isLong = static_cast<double>(region.knownColumns) * region.widestBytes >= 64 << 10;
  while (isLong && region.rows * blocks < device.processors() && canBeMore()) {
    blocks *= 2;
  }
  Candidates list;
  auto add = [&] {
    list.push_back(
        {ScheduleKind::RowReduction,
         {{"threads", kMostRowThreads}, {"rows", 1}, {"cluster", blocks}, {"vector", vector}}});
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

/// What a thread needs beside its share of the data, in registers, and what it may take.
static constexpr int64_t kOwnRegisters = 32, kMostRegisters = 128;
/// Blocks of a processor that run at once, as far as more of them are of use, and shared memory
/// that needs no asking for.
static constexpr int64_t kMostResident = 4, kMostShared = 48 << 10;

/// How many of these blocks a processor holds.
static int64_t residentBlocks(int64_t threads, int64_t registers, int64_t sharedBytes,
                              ScheduleDevice device) {
  // The driver keeps 1 KB of each block.
  int64_t blocks = std::min(device.registers() / ((registers + 7) / 8 * 8 * threads),
                            device.sharedBytes() / (sharedBytes + 1024));
  return std::clamp<int64_t>(blocks, 1, kMostResident);
}

/// Elements of a chunk: 16 bytes of the narrowest type. What is wide (the positions of an
/// arg-reduction) is counted in registers.
static int64_t chunkWidth(const RegionSummary &region) {
  return std::clamp<int64_t>(16 / std::max(1u, region.narrowestBytes), 1, 8);
}

/// Of a thread that sweeps: running values, a chunk as it is computed with, and the chunks that are
/// loaded.
static int64_t registersOf(const RegionSummary &region, double bytes, int64_t vector,
                           int64_t unroll) {
  return (isHeavy(region) ? 2 : 1) * kOwnRegisters +
         vector * (region.carriedRegisters + (region.narrowestBytes > 4 ? 2 : 1)) +
         static_cast<int64_t>(static_cast<double>(unroll * vector) * bytes / 4);
}

/// How many chunks a thread that sweeps loads at once, and how many such blocks a processor holds;
/// the assembler is to keep to the registers which that leaves, where they can be told.
struct SweepShape {
  int64_t unroll = 1, resident = 1;
  int64_t promised = 1;
};

/// Loads under way: as many as a processor has to wait for, twice over, since a thread asks for the
/// next ones when the last of these is there; fewer where their registers would cost a block.
static SweepShape shapeSweep(const RegionSummary &region, double bytes, int64_t vector,
                             int64_t threads, int64_t sharedBytes, ScheduleDevice device) {
  bytes = std::max(1.0, bytes);
  auto residentBy = [&](int64_t unroll) {
    int64_t registers = registersOf(region, bytes, vector, unroll);
    return unroll > 1 && registers > kMostRegisters
               ? 0
               : residentBlocks(threads, registers, sharedBytes, device);
  };
  SweepShape shape;
  shape.resident = residentBy(1);
  auto isEnough = [&] {
    double underWay = static_cast<double>(shape.resident * threads * shape.unroll * vector) * bytes;
    return underWay >= static_cast<double>(2 * device.bytesInFlight());
  };
  while (shape.unroll < (isHeavy(region) ? 2 : 8) && !isEnough() &&
         residentBy(2 * shape.unroll) == shape.resident) {
    shape.unroll *= 2;
  }
  // Comparisons of several arg-reductions take more than what they carry: held to an estimate, they
  // would spill.
  shape.promised = isHeavy(region) || region.carriedValues > 2 ? 1 : shape.resident;
  return shape;
}

/// Blocks that share a row of which there are so many, until they fill the device; four chunks a
/// thread at least. See codegen/gpu/kernels/FullReduction.cpp.
static ScheduleCandidate sharedRow(const RegionSummary &region, ScheduleKind kind, int64_t fewest,
                                   ScheduleDevice device) {
  constexpr int64_t threads = 256;
  int64_t vector = chunkWidth(region);
  SweepShape shape = shapeSweep(region, region.bytesAlongReduced, vector, threads,
                                8 * (threads / 32) * region.carriedValues, device);
  auto share = static_cast<double>(threads * vector * std::max<int64_t>(4, shape.unroll));
  auto most = static_cast<int64_t>(std::min(region.columns / share, 1e9));
  double blocks = static_cast<double>(shape.resident * device.processors());
  int64_t split = std::clamp<int64_t>(static_cast<int64_t>(blocks / std::max(1.0, region.rows)),
                                      fewest, std::max(most, fewest));
  return {kind,
          {{"threads", threads},
           {"rows", 1},
           {"split", split},
           {"unroll", shape.unroll},
           {"vector", vector},
           {"resident", shape.promised}}};
}

/// A row to a warp while it is short, to a block when it is long; several short
/// rows to a block.
static Candidates rows(const RegionSummary &region, ScheduleDevice device) {
  int64_t vector = vectorWidth(region);
  double perThread = vector * 4.0;
  Candidates list = clusters(region, device);
  // Rows that leave most of a device idle and are long enough to be worth a second launch. Who
  // reads a row again afterwards would read it once from registers, if it fits into them: there it
  // takes fewer and longer ones.
  bool isKept = region.hasEpilogue && keepsRows(region, device);
  bool isLong = region.columns > (region.hasEpilogue ? 32768 : 8192),
       isFew = region.rows < (isKept ? 64 : 256);
  if (isLong && isFew) {
    list.push_back(sharedRow(region, ScheduleKind::RowReduction, 2, device));
    return list;
  }
  if (region.columns <= 1024) {
    int64_t lanes = powerOfTwo(region.columns / vector, 1, 32);
    list.push_back(
        {ScheduleKind::RowReduction,
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
    if (list.size() < 3 && chunks >= 2 * lanes && chunks <= kMostKeptChunks * lanes) {
      list.push_back(
          {ScheduleKind::RowReduction, {{"lanes", lanes}, {"rows", 1}, {"vector", vector}}});
    }
  }
  return list;
}

/// Threads side by side for so many chunks: a warp, or a part of one that leaves fewer of its
/// threads idle.
static int64_t chooseLanes(double chunks) {
  int64_t count = static_cast<int64_t>(std::clamp(chunks, 1.0, 1e9)), best = 0, least = 0;
  for (int64_t lanes : {32, 16, 8}) {
    int64_t taken = (count + lanes - 1) / lanes * lanes;
    if (8 * (taken - count) <= taken) {
      return lanes;
    }
    if (best == 0 || taken < least) {
      best = lanes;
      least = taken;
    }
  }
  return count >= 8 ? best : static_cast<int64_t>(llvm::bit_ceil(static_cast<uint64_t>(count)));
}

/// Blocks of 256 threads, some of them side by side, that share the rows until they fill the
/// device; see codegen/gpu/kernels/ColumnReduction.cpp.
static Candidates columns(const RegionSummary &region, ScheduleDevice device) {
  double width = std::max(1.0, region.rows);
  constexpr int64_t threads = 256, warps = threads / 32;
  int64_t vector = chunkWidth(region);
  while (vector > 1 && region.knownWidth % vector != 0) {
    vector /= 2;
  }
  int64_t lanes = 1, shared = 0;
  double bytes = std::max(1.0, region.bytesAlongParallel);
  for (;; vector /= 2) {
    lanes = chooseLanes(width / static_cast<double>(vector));
    shared = region.slotBytes * warps * lanes * vector * region.carriedValues;
    if (vector == 1 ||
        (shared <= kMostShared && registersOf(region, bytes, vector, 1) <= kMostRegisters)) {
      break;
    }
  }
  SweepShape shape = shapeSweep(region, bytes, vector, threads, shared, device);
  int64_t unroll = shape.unroll;
  // A part is worth its launch and its partial results from 16 rows a thread on, and four rounds.
  int64_t rowsOfPart = threads / lanes * std::max<int64_t>(16, 4 * unroll);
  int64_t blocks = shape.resident * device.processors();
  double groups = std::ceil(width / static_cast<double>(vector * lanes));
  auto most = static_cast<int64_t>(std::min(region.columns, 1e9)) / rowsOfPart;
  int64_t parts = std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(blocks) / groups), 1,
                                      std::max<int64_t>(most, 1));
  Candidates list;
  auto add = [&](int64_t split) {
    list.push_back({ScheduleKind::ColumnReduction,
                    {{"threads", threads},
                     {"lanes", lanes},
                     {"vector", vector},
                     {"unroll", unroll},
                     {"split", split},
                     {"rows_of_part", rowsOfPart},
                     {"resident", shape.promised}}});
  };
  add(parts);
  // The other way.
  if (region.columns > 1024 && !region.hasEpilogue && most > 1) {
    add(parts > 1 ? 1 : std::min<int64_t>(most, 8));
  }
  return list;
}

ScheduleKind mlir::frit::chooseFamily(const RegionSummary &region) {
  if (!region.reduces) {
    return ScheduleKind::Pointwise;
  }
  if (region.hasEpilogue) {
    return ScheduleKind::RowReduction;
  }
  return region.singleRow                                       ? ScheduleKind::FullReduction
         : region.bytesAlongParallel > region.bytesAlongReduced ? ScheduleKind::ColumnReduction
                                                                : ScheduleKind::RowReduction;
}

Candidates mlir::frit::listSchedules(const RegionSummary &region, ScheduleDevice device) {
  Candidates list;
  switch (chooseFamily(region)) {
  case ScheduleKind::Pointwise:
    return pointwise(region, device);
  case ScheduleKind::RowReduction:
    return rows(region, device);
  case ScheduleKind::ColumnReduction:
    list = columns(region, device);
    break;
  case ScheduleKind::FullReduction:
    list = {sharedRow(region, ScheduleKind::FullReduction, 1, device)};
    break;
  }
  list.push_back(rows(region, device).front());
  return list;
}

BothWays mlir::frit::scheduleBothWays(const RegionSummary &region, const ColumnsBeside &columns,
                                      ScheduleDevice device) {
  constexpr int64_t fewestThreads = 256;
  BothWays result;
  if (region.knownColumns <= 0) {
    result.refusal = BothWays::Refusal::UnknownLength;
    return result;
  }
  int64_t vector = wholeVectorWidth(region);
  int64_t chunks = region.knownColumns / vector, accumulators = columns.results;
  // One more for what is computed on the way.
  int64_t values = region.keptOperands + accumulators + columns.common + 1,
          slot = region.widestBytes > 4 ? 8 : 4;
  for (int64_t threads = 8;
       threads <= kMostRowThreads && threads < std::max<int64_t>(2 * chunks, 16); threads *= 2) {
    int64_t each = (chunks + threads - 1) / threads, block = std::max(threads, fewestThreads),
            rows = block / threads;
    int64_t registers = (kOwnRegisters + each * vector * values + 7) / 8 * 8;
    int64_t shared = 8 * (block / 32) * 8 + (rows > 1 ? block * vector * slot * accumulators : 0);
    if (each > kMostKeptChunks || registers > kMostRegisters || shared > kMostShared) {
      continue;
    }
    int64_t resident =
        powerOfTwo(static_cast<double>(device.registers()) / static_cast<double>(registers * block),
                   1, kMostResident);
    int64_t parts = device.processors() * resident;
    // What the blocks leave for each column is written and read once more: a quarter of what is
    // saved at most. What is small is read from a cache the second time.
    double left =
        8.0 * accumulators *
        std::min<double>(static_cast<double>(parts), region.rows / static_cast<double>(rows));
    double saved = region.rows * columns.bytesSaved;
    if (saved < 4 * left || saved * region.columns < 1 << 20) {
      result.refusal = BothWays::Refusal::TooFewRows;
      return result;
    }
    result.schedule.parameters = {{"threads", threads},
                                  {"rows", rows},
                                  {"vector", vector},
                                  {"parts", parts},
                                  {"resident", resident}};
    result.registers = registers;
    result.sharedBytes = shared;
    return result;
  }
  result.refusal = BothWays::Refusal::TooManyRegisters;
  return result;
}
