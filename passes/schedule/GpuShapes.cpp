#include "passes/schedule/GpuShapes.h"

#include "kernel/KernelBudgets.h"
#include "kernel/StagedAccesses.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir::frit;

GpuFamily mlir::frit::chooseGpuFamily(const FamilyFacts &kernel) {
  // Threads of a block that has a part of a row, and rounds in which one block has a whole row.
  constexpr int64_t threads = 256, rounds = 16;
  if (kernel.reducesAcross) {
    return GpuFamily::RowsAndColumns;
  }
  if (kernel.isList) {
    return GpuFamily::Pointwise;
  }
  if (kernel.transposes) {
    return GpuFamily::Transpose;
  }
  if (!kernel.reduces || !kernel.hasLane) {
    return GpuFamily::Pointwise;
  }
  if (!kernel.hasParallel || (kernel.isLaneReduced && kernel.splits)) {
    return kernel.mostChunks && *kernel.mostChunks <= rounds * threads ? GpuFamily::Rows
                                                                       : GpuFamily::SplitRows;
  }
  return kernel.isLaneReduced ? GpuFamily::Rows : GpuFamily::Columns;
}

unsigned mlir::frit::chooseVectorWidth(const LaneAccesses &accesses) {
  if (accesses.narrowest == 0) {
    return 1;
  }
  unsigned width = std::min(8u, 16 / accesses.narrowest);
  while (width > 1 && (width * accesses.accesses * std::max(4u, accesses.widest) > 256 ||
                       (accesses.heavyFunctions > 4 && width > 4))) {
    width /= 2;
  }
  return width;
}

int64_t mlir::frit::chooseTogether(const SingleAccesses &thread) {
  int64_t together = 1, wanted = thread.heavyFunctions > 0 ? 16 : 32;
  while (thread.bytes > 0 && together < thread.elements && together * thread.bytes < wanted) {
    together *= 2;
  }
  return together;
}

int64_t mlir::frit::chooseSingles(SingleAccesses thread, int64_t elements) {
  constexpr int64_t mostElements = 16, fewestThreads = 1 << 18;
  thread.elements = mostElements;
  int64_t singles = chooseTogether(thread);
  while (singles > 1 && elements / singles < fewestThreads) {
    singles /= 2;
  }
  return singles;
}

/// Elements that a thread holds of a row of unknown length, if these are enough.
static constexpr int64_t kUnknownElements = 32;

static uint32_t powerOfTwo(int64_t value, uint32_t low, uint32_t high) {
  return static_cast<uint32_t>(std::clamp<uint64_t>(
      llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(value, 0))), low, high));
}

/// With fewer threads, which is eight rounds of an H100, a thread takes one row.
static constexpr int64_t kManyThreads = 1 << 20;

/// Rows at once: 32 bytes for a thread, in no more registers than four blocks leave it.
static uint32_t chooseRowsAtOnce(const RowNumbers &row, const RowShape &shape) {
  constexpr int64_t mostBytes = 32, mostRows = 4;
  uint32_t rows = 1;
  if (!row.chunks || shape.threads > 32 || shape.kept == 0 || row.isWide || row.hasPositions) {
    return rows;
  }
  int64_t elements = int64_t(shape.kept) * row.width;
  auto fits = [&](int64_t count) {
    return count <= mostRows && count * elements * row.bytes <= mostBytes &&
           row.expectedRows / count >= kManyThreads / shape.threads;
  };
  while (fits(2 * rows)) {
    rows *= 2;
  }
  return rows;
}

/// Blocks of kept rows that the registers of a processor hold: a thread needs one for each value
/// that waits for a later phase, `ownRegisters` more, and at least 64 (72 in a cluster). ptxas
/// would take a few more, as it does not know that other blocks load while one waits: on an H200 a
/// layer norm over rows of 4096 halves then took 7 % longer, and a softmax over rows of 131,072
/// took 19 %. Positions take registers that are hard to count.
static uint32_t chooseResident(const RowNumbers &row, const RowShape &shape) {
  constexpr int64_t most = 128, all = 65536;
  int64_t values = int64_t(std::max({row.values, row.loads, 1u})) * (row.isWide ? 2 : 1);
  int64_t registers =
      llvm::alignTo(row.ownRegisters + int64_t(shape.kept) * row.width * shape.rows * values, 8);
  bool isCounted = shape.kept > 0 && !row.hasPositions && registers <= most;
  if (!isCounted && shape.cluster == 1) {
    return 1;
  }
  registers = isCounted ? std::max<int64_t>(registers, shape.cluster > 1 ? 72 : 64) : most;
  return static_cast<uint32_t>(std::max<int64_t>(all / (registers * shape.block), 1));
}

/// Threads for a row of `chunks` chunks.
static uint32_t threadsFor(int64_t chunks) {
  if (chunks <= 128) {
    return chunks <= 8 ? 8 : chunks <= 16 ? 16 : 32;
  }
  return powerOfTwo((chunks + 3) / 4, 64, kMostRowThreads);
}

/// Chooses threads and blocks that keep a row of known length in registers: more threads than the
/// length alone needs if several operands are kept, and more blocks than the schedule asks for if
/// need be. Returns false and changes nothing if the largest numbers are not enough.
static bool keepKnown(const RowNumbers &row, RowShape &shape) {
  auto keepBy = [&](uint32_t threads, uint32_t cluster) {
    int64_t share = int64_t(threads) * cluster, each = (*row.chunks + share - 1) / share;
    bool fits = keepsChunks(each, row.width, std::max(row.loads, 1u));
    if (fits) {
      shape = {threads, cluster > 1 ? threads : std::max(shape.block, threads),
               static_cast<unsigned>(each), cluster};
    }
    return fits;
  };
  for (uint32_t blocks = powerOfTwo(row.cluster, 1, kMostRowBlocks);
       blocks > 1 && blocks <= kMostRowBlocks; blocks *= 2) {
    uint32_t enough = threadsFor((*row.chunks + blocks - 1) / blocks),
             wanted = powerOfTwo(row.threads, 128, kMostRowThreads);
    for (uint32_t threads = std::max(128u, std::min(enough, wanted)); threads <= kMostRowThreads;
         threads *= 2) {
      if (keepBy(threads, blocks)) {
        return true;
      }
    }
  }
  for (uint32_t threads = shape.threads; threads <= kMostRowThreads; threads *= 2) {
    if (keepBy(threads, 1)) {
      return true;
    }
  }
  return false;
}

static bool keepUnknown(const RowNumbers &row, RowShape &shape) {
  int64_t operands = std::max({row.loads, row.values, 1u}) * (row.isWide ? 4 : 1),
          most = row.isWide ? kUnknownElements : kMostKeptElements;
  auto keepBy = [&](uint32_t threads, int64_t chunks, int64_t mostElements) {
    int64_t each = llvm::divideCeil(std::max<int64_t>(chunks, 1), threads);
    bool fits = keepsChunks(each, row.width, operands, mostElements);
    if (fits) {
      shape.threads = threads;
      shape.block = std::max(shape.block, threads);
      shape.kept = static_cast<unsigned>(each);
      int64_t elements = std::min(
          {each * row.width, mostElements / operands, kUnknownElements / std::max(row.loads, 1u)});
      shape.keptElements =
          row.hasWholeChunks || row.width == 1 ? 0 : static_cast<unsigned>(elements);
      int64_t usual = llvm::divideCeil(row.expectedChunks, threads);
      shape.usual = usual < each ? static_cast<unsigned>(usual) : 0;
    }
    return fits;
  };
  if (row.mostChunks && keepBy(shape.threads, *row.mostChunks, kUnknownElements)) {
    return true;
  }
  int64_t expected =
      llvm::divideCeil(4 * std::clamp<int64_t>(row.threads, 8, 1024) * row.vector, row.width);
  int64_t wanted = row.mostChunks ? std::min(*row.mostChunks, 2 * expected) : 2 * expected;
  // Values that wait for a later phase may take more registers than operands, which single elements
  // of other rows take as well.
  int64_t mostLoaded = kUnknownElements / (std::max(row.loads, 1u) * row.width);
  for (bool isLimited : {true, false}) {
    for (uint32_t threads = std::min(2 * shape.threads, kMostRowThreads);
         threads <= kMostRowThreads; threads *= 2) {
      bool isFew = llvm::divideCeil(wanted, threads) <= mostLoaded;
      if ((isFew || !isLimited) && keepBy(threads, wanted, most)) {
        return true;
      }
    }
  }
  return keepBy(kMostRowThreads, std::min(wanted, expected), most);
}

RowShape mlir::frit::shapeRows(const RowNumbers &row) {
  RowShape shape;
  if (row.chunks) {
    shape.threads = row.rowThreads > 0 ? powerOfTwo(row.rowThreads, 8, kMostRowThreads)
                                       : threadsFor(*row.chunks);
  } else {
    shape.threads = powerOfTwo(row.threads, 8, kMostRowThreads);
    if (row.mostChunks) {
      shape.threads = std::min(shape.threads, threadsFor(*row.mostChunks));
    }
  }
  shape.block = std::max(shape.threads, 128u);
  if (row.rows && *row.rows > 0 && *row.rows < 4) {
    shape.block = std::max(std::min(shape.block, powerOfTwo(*row.rows, 1, 4) * shape.threads), 32u);
  }
  if (row.chunks && *row.chunks > 0 && row.hasWholeChunks) {
    keepKnown(row, shape);
    shape.rows = chooseRowsAtOnce(row, shape);
    shape.resident = chooseResident(row, shape);
  } else if (!row.chunks && row.isReadAgain) {
    keepUnknown(row, shape);
  }
  return shape;
}

/// With fewer elements, tiles of 64 x 64 would give too few blocks for a device.
static constexpr int64_t kFewElements = 1 << 20;

/// Whether a tile of this edge covers an extent with at most a quarter of it beyond the end.
static bool covers(int64_t edge, std::optional<int64_t> extent) {
  return extent && 4 * llvm::alignTo(*extent, edge) <= 5 * *extent;
}

/// Elements of a vector of 16 bytes, if threads turn squares of so many: halves and floats, at most
/// three vectors for each row of a square, no more shared memory than a launch gets, and enough for
/// blocks of 256 threads on all processors.
static unsigned chooseSquare(const TileNumbers &tile) {
  constexpr int64_t blocks = 256, threads = 256, mostAccesses = 3;
  unsigned width = 16 / std::max(1u, tile.widestOfAll);
  auto isWhole = [&](std::optional<int64_t> extent) {
    return covers(tileOf(width), extent) && *extent % width == 0;
  };
  bool turns = tile.isPlain && tile.narrowestOfAll >= 2 && tile.widestOfAll <= 4 &&
               tile.accesses <= mostAccesses && isWhole(tile.lanes) && isWhole(tile.across) &&
               tileOf(width) * tileOf(width) * tile.bytes <= kMostTileBytes;
  return turns && tile.elements && *tile.elements >= blocks * threads * width * width ? width : 0;
}

unsigned mlir::frit::chooseNeighbours(const TileNumbers &tile) {
  if (unsigned width = chooseSquare(tile)) {
    return width;
  }
  auto isOdd = [](std::optional<int64_t> extent) { return extent && *extent % 2 != 0; };
  // Four 4-byte elements a thread keep memory busy, so pairs pay only for narrower ones; 8-byte
  // elements would have bank conflicts.
  bool pays = tile.narrowest <= 2 && tile.widest <= 4 && tile.bytesOfPairs <= kMostTileBytes;
  bool isLarge = !tile.elements || *tile.elements >= kFewElements;
  return pays && isLarge && !isOdd(tile.lanes) && !isOdd(tile.across) ? 2 : 1;
}

ScanShape mlir::frit::shapeScan(const ScanNumbers &scan) {
  // Columns that fill the device even in blocks of one warp, rows that are not worth a group of
  // threads, and the bytes that a thread keeps in flight.
  constexpr int64_t manyColumns = 4096, fewRows = 64, blocks = 256, bytes = 32, mostElements = 16;
  if (scan.isAcross && (scan.rows >= manyColumns || scan.chunks * scan.width <= fewRows)) {
    int64_t unroll = powerOfTwo(bytes / std::max(1u, scan.bytes), 4, mostElements);
    return {1, powerOfTwo(scan.rows / blocks, 32, 128), unroll};
  }
  int64_t unroll = std::clamp<int64_t>(mostElements / scan.width, 1, 4);
  int64_t threads = powerOfTwo((scan.chunks + unroll - 1) / unroll, 8, kMostRowThreads);
  // All threads of a block meet at barriers where a row has several warps.
  return {threads, threads > 32 ? threads : 128, unroll};
}
