// Chooses the kind of schedule of a GPU kernel, then its numbers.
#include "passes/schedule/Schedule.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

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

/// GPU: 16-byte accesses of the narrowest type, but at most 8 elements per thread so that wide
/// operands stay in registers.
static int64_t vectorWidth(const RegionSummary &region) {
  return std::clamp<int64_t>(16 / std::max(1u, region.narrowestBytes), 1,
                             region.widestBytes >= 8 ? 2 : 8);
}

/// The same, halved until it divides a row of known length.
static int64_t wholeVectorWidth(const RegionSummary &region) {
  int64_t vector = vectorWidth(region);
  while (vector > 1 && region.knownColumns % vector != 0) {
    vector /= 2;
  }
  return vector;
}

using Candidates = SmallVector<ScheduleCandidate, 2>;

/// Whether computing an element needs registers of its own, in a number that is hard to estimate.
static bool isHeavy(const RegionSummary &region) { return region.weight > 16; }

/// Vectors that a thread loads before it uses the first. One is usually enough, as there are many
/// threads. Two if one vector of every resident thread is less than twice the bytes in flight that
/// a processor needs (the next block starts only when the last warp of one has finished). Only for
/// a single streamed operand, as several operands are several loads in flight; only with eight
/// waves of blocks, so that the partial last wave matters little; and only where arithmetic is not
/// the bottleneck.
static int64_t vectorsAtOnce(const RegionSummary &region, int64_t threads, int64_t vector,
                             ScheduleDevice device) {
  constexpr int64_t rounds = 8, most = 2;
  if (region.streamedBytes == 0 || isHeavy(region) ||
      device.threads() * vector * region.streamedBytes >= 2 * device.bytesInFlight()) {
    return 1;
  }
  int64_t resident = device.threads() / threads * device.processors() * threads;
  double ofRound = static_cast<double>(resident * vector * most);
  return region.rows * region.columns >= rounds * ofRound ? most : 1;
}

/// One or two vectors per thread; the other number and smaller blocks are further candidates.
static Candidates pointwise(const RegionSummary &region, ScheduleDevice device) {
  int64_t vector = vectorWidth(region), unroll = vectorsAtOnce(region, 256, vector, device);
  ScheduleCandidate one = {ScheduleKind::Pointwise, {.threads = 256}};
  ScheduleCandidate two = {ScheduleKind::Pointwise, {.threads = 256, .unroll = 2}};
  Candidates list = {unroll > 1 ? two : one};
  double elements = region.rows * region.columns;
  // Two vectors per thread need enough elements, and registers.
  if (elements >= 1 << 20 && region.weight <= 64) {
    list.push_back(unroll > 1 ? one : two);
  }
  if (elements >= 1 << 16) {
    list.push_back({ScheduleKind::Pointwise, {.threads = 128}});
  }
  return list;
}

/// The number of blocks whose registers together hold a row of known length: 1, a cluster of 2 to
/// 8, or 0 if none can.
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

/// Clusters for rows that are read again after a reduction: as few blocks as hold the row, then
/// twice as many. Long rows that one block could hold are distributed too if there are fewer rows
/// than processors. Where a block of 512 threads would be alone on its processor, so that nothing
/// is loaded while it computes, a row takes two or four times as many blocks of 256: of those three
/// are resident if a cluster of 8 is enough for that, and otherwise two.
static Candidates clusters(const RegionSummary &region, ScheduleDevice device) {
  int64_t vector = wholeVectorWidth(region);
  int64_t blocks = blocksThatKeep(region, vector, device);
  if (!region.hasEpilogue || blocks == 0 || device.mostClusterBlocks() == 1) {
    return {};
  }
  auto canBeMore = [&] {
    // At least two chunks per thread.
    return 2 * blocks <= device.mostClusterBlocks() &&
           region.knownColumns >= 4 * blocks * kMostRowThreads * vector;
  };
  bool isLong = static_cast<double>(region.knownColumns) * region.widestBytes >= 64 << 10;
  while (isLong && region.rows * blocks < device.processors() && canBeMore()) {
    blocks *= 2;
  }
  Candidates list;
  auto add = [&] {
    list.push_back({ScheduleKind::RowReduction,
                    {.threads = kMostRowThreads, .vector = vector, .cluster = blocks}});
  };
  auto elementsOf = [&](int64_t shared) {
    return llvm::divideCeil(llvm::divideCeil(region.knownColumns, vector), shared) * vector *
           region.keptOperands;
  };
  constexpr int64_t fewThreads = 256, fewElements = kMostKeptElements / 2;
  if (elementsOf(blocks * kMostRowThreads) > fewElements &&
      region.rows * static_cast<double>(blocks) >= device.processors() &&
      2 * blocks <= device.mostClusterBlocks()) {
    int64_t smaller = std::min<int64_t>(4 * blocks, device.mostClusterBlocks());
    if (elementsOf(smaller / 2 * fewThreads) <= fewElements) {
      smaller /= 2;
    }
    list.push_back({ScheduleKind::RowReduction,
                    {.threads = fewThreads, .vector = vector, .cluster = smaller}});
  }
  if (blocks > 1) {
    add();
    if (canBeMore()) {
      blocks *= 2;
      add();
    }
  }
  return list;
}

/// Registers that a thread needs beside its share of the data, and the most it may use.
static constexpr int64_t kOwnRegisters = 32, kMostRegisters = 128;
/// Of a row that is loaded ahead: numbers of the whole row, and its place.
static constexpr int64_t kRowRegisters = 8;
/// The most resident blocks per processor that still help, and the shared memory that a kernel may
/// use without opting in to more.
static constexpr int64_t kMostResident = 4, kMostShared = 48 << 10;

/// How many of these blocks are resident on a processor, up to kMostResident.
static int64_t residentBlocks(int64_t threads, int64_t registers, int64_t sharedBytes,
                              ScheduleDevice device) {
  // The driver reserves 1 KB of shared memory for each block.
  int64_t blocks = std::min(device.registers() / ((registers + 7) / 8 * 8 * threads),
                            device.sharedBytes() / (sharedBytes + 1024));
  return std::clamp<int64_t>(blocks, 1, kMostResident);
}

/// Elements of a chunk: 16 bytes of the narrowest type, at most 8. Wide values (the positions of an
/// arg-reduction) count in registersOf instead.
static int64_t chunkWidth(const RegionSummary &region) {
  return std::clamp<int64_t>(16 / std::max(1u, region.narrowestBytes), 1, 8);
}

/// Registers of a thread that sweeps: running values, the chunk being computed, and the chunks
/// being loaded.
static int64_t registersOf(const RegionSummary &region, double bytes, int64_t vector,
                           int64_t unroll) {
  return (isHeavy(region) ? 2 : 1) * kOwnRegisters +
         vector * (region.carriedRegisters + (region.narrowestBytes > 4 ? 2 : 1)) +
         static_cast<int64_t>(static_cast<double>(unroll * vector) * bytes / 4);
}

/// How many chunks a sweeping thread loads at once and how many such blocks are resident on a
/// processor. `promised` is the residency that the assembler has to allow for, which limits its
/// registers; 1 where they cannot be estimated.
struct SweepShape {
  int64_t unroll = 1, resident = 1;
  int64_t promised = 1;
};

/// Loads in flight: twice what the processor needs, since a thread requests the next chunks only
/// when the last of these has arrived; fewer if their registers would cost a resident block.
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
  // Comparisons of several arg-reductions need more registers than they carry; a limit by this
  // estimate would make them spill.
  shape.promised = isHeavy(region) || region.carriedValues > 2 ? 1 : shape.resident;
  return shape;
}

/// Several blocks share a row (`split`) until they fill the device; at least four chunks per
/// thread. See codegen/gpu/kernels/SplitRows.cpp.
static ScheduleCandidate sharedRow(const RegionSummary &region, ScheduleKind kind, int64_t fewest,
                                   ScheduleDevice device) {
  constexpr int64_t threads = 256;
  int64_t vector = chunkWidth(region);
  SweepShape shape = shapeSweep(region, region.bytesAlongReduced, vector, threads,
                                8 * (threads / 32) * region.carriedValues, device);
  auto share = static_cast<double>(threads * vector * std::max<int64_t>(4, shape.unroll));
  auto most = static_cast<int64_t>(std::min(region.columns / share, 1e9));
  // Where registers cannot be estimated there are blocks enough for those that ptxas finds.
  int64_t resident = isHeavy(region) ? kMostResident : shape.resident;
  double blocks = static_cast<double>(resident * device.processors());
  int64_t split = std::clamp<int64_t>(static_cast<int64_t>(blocks / std::max(1.0, region.rows)),
                                      fewest, std::max(most, fewest));
  return {kind,
          {.threads = threads,
           .vector = vector,
           .unroll = shape.unroll,
           .split = split,
           .resident = shape.promised}};
}

/// A short row goes to a warp, with several rows per block; a long row goes to a block.
static Candidates rows(const RegionSummary &region, ScheduleDevice device) {
  int64_t vector = vectorWidth(region);
  double perThread = vector * 4.0;
  Candidates list = clusters(region, device);
  // Split rows that are too few to fill the device and long enough to be worth a second launch. A
  // row with an epilogue that fits into registers would be read only once, so splitting pays only
  // for fewer and longer ones.
  bool isKept = region.hasEpilogue && keepsRows(region, device);
  bool isLong = region.columns > (region.hasEpilogue ? 32768 : 8192),
       isFew = region.rows < (isKept ? 64 : 256);
  if (isLong && isFew) {
    list.push_back(sharedRow(region, ScheduleKind::RowReduction, 2, device));
    return list;
  }
  int64_t threads = region.columns <= 1024 ? 32 : powerOfTwo(region.columns / perThread, 128, 1024);
  // All vectors of a row as long as in the first call are loaded at once, if it is kept.
  constexpr int64_t mostVectors = 8;
  double usual = std::ceil(region.columns / static_cast<double>(threads * vector));
  if (region.knownColumns > 0 || usual > mostVectors) {
    usual = 0;
  }
  list.push_back({ScheduleKind::RowReduction,
                  {.threads = threads, .vector = vector, .unroll = static_cast<int64_t>(usual)}});
  int64_t chunks = region.knownColumns / vector;
  for (int64_t rowThreads : {32, 128, 256}) {
    if (list.size() < 3 && chunks >= 2 * rowThreads && chunks <= kMostKeptChunks * rowThreads) {
      list.push_back({ScheduleKind::RowReduction, {.vector = vector, .rowThreads = rowThreads}});
    }
  }
  return list;
}

/// Threads along this many chunks: a warp, or a part of one that leaves fewer threads idle.
static int64_t chooseThreadsX(double chunks) {
  int64_t count = static_cast<int64_t>(std::clamp(chunks, 1.0, 1e9)), best = 0, least = 0;
  for (int64_t threadsX : {32, 16, 8}) {
    int64_t taken = (count + threadsX - 1) / threadsX * threadsX;
    if (8 * (taken - count) <= taken) {
      return threadsX;
    }
    if (best == 0 || taken < least) {
      best = threadsX;
      least = taken;
    }
  }
  return count >= 8 ? best : static_cast<int64_t>(llvm::bit_ceil(static_cast<uint64_t>(count)));
}

/// Blocks of 256 threads, `threadsX` of them along the columns; several blocks share the rows
/// (`split`) until they fill the device. See codegen/gpu/kernels/ColumnReduction.cpp.
static Candidates columns(const RegionSummary &region, ScheduleDevice device) {
  double width = std::max(1.0, region.rows);
  constexpr int64_t threads = 256, warps = threads / 32;
  int64_t vector = chunkWidth(region);
  while (vector > 1 && region.knownWidth % vector != 0) {
    vector /= 2;
  }
  int64_t threadsX = 1, shared = 0;
  double bytes = std::max(1.0, region.bytesAlongParallel);
  for (;; vector /= 2) {
    threadsX = chooseThreadsX(width / static_cast<double>(vector));
    shared = region.slotBytes * warps * threadsX * vector * region.carriedValues;
    if (vector == 1 ||
        (shared <= kMostShared && registersOf(region, bytes, vector, 1) <= kMostRegisters)) {
      break;
    }
  }
  SweepShape shape = shapeSweep(region, bytes, vector, threads, shared, device);
  int64_t unroll = shape.unroll;
  // A part pays for its launch and its partial results from 16 rows per thread on, and from four
  // unrolled steps on.
  int64_t rowsOfPart = threads / threadsX * std::max<int64_t>(16, 4 * unroll);
  int64_t blocks = shape.resident * device.processors();
  double groups = std::ceil(width / static_cast<double>(vector * threadsX));
  auto most = static_cast<int64_t>(std::min(region.columns, 1e9)) / rowsOfPart;
  int64_t parts = std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(blocks) / groups), 1,
                                      std::max<int64_t>(most, 1));
  Candidates list;
  auto add = [&](int64_t split) {
    list.push_back({ScheduleKind::ColumnReduction,
                    {.vector = vector,
                     .unroll = unroll,
                     .threadsX = threadsX,
                     .split = split,
                     .rowsOfPart = split > 1 ? rowsOfPart : 0,
                     .resident = shape.promised}});
  };
  add(parts);
  // The other choice: unsplit instead of split, or split instead of unsplit.
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
  case ScheduleKind::Scan:
    llvm_unreachable("chooseFamily knows no scans: ChooseSchedules gives them their schedule");
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
  // One more for intermediate values.
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
    // Partial results are written and read once more: at most a quarter of the bytes saved. Small
    // tensors come from a cache the second time, so there is nothing to save.
    double left =
        8.0 * accumulators *
        std::min<double>(static_cast<double>(parts), region.rows / static_cast<double>(rows));
    double saved = region.rows * columns.bytesSaved;
    if (saved < 4 * left || saved * region.columns < 1 << 20) {
      result.refusal = BothWays::Refusal::TooFewRows;
      return result;
    }
    // Two rows are in flight while one is computed, if their registers cost no resident block.
    auto ahead =
        2 *
        (static_cast<int64_t>(static_cast<double>(each * vector) * region.bytesAlongReduced / 4) +
         kRowRegisters);
    int64_t most = std::min(device.registers() / (resident * block), kMostRegisters);
    int64_t unroll = registers + ahead <= most ? 2 : 0;
    result.numbers = {.threads = threads,
                      .rows = rows,
                      .vector = vector,
                      .unroll = unroll,
                      .resident = resident,
                      .parts = parts};
    result.registers = registers + (unroll ? ahead : 0);
    result.sharedBytes = shared;
    return result;
  }
  result.refusal = BothWays::Refusal::TooManyRegisters;
  return result;
}
