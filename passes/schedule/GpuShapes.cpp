#include "passes/schedule/GpuShapes.h"

#include "kernel/KernelBudgets.h"

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

/// Elements that a thread holds of a row of unknown length, if these are enough.
static constexpr int64_t kUnknownElements = 32;

static uint32_t powerOfTwo(int64_t value, uint32_t low, uint32_t high) {
  return static_cast<uint32_t>(std::clamp<uint64_t>(
      llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(value, 0))), low, high));
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
    for (uint32_t threads = std::max(128u, threadsFor((*row.chunks + blocks - 1) / blocks));
         threads <= kMostRowThreads; threads *= 2) {
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
    }
    return fits;
  };
  if (row.mostChunks && keepBy(shape.threads, *row.mostChunks, kUnknownElements)) {
    return true;
  }
  int64_t expected =
      llvm::divideCeil(4 * std::clamp<int64_t>(row.threads, 8, 1024) * row.vector, row.width);
  int64_t wanted = row.mostChunks ? std::min(*row.mostChunks, 2 * expected) : 2 * expected;
  for (int64_t mostElements : {kUnknownElements, most}) {
    for (uint32_t threads = std::min(2 * shape.threads, kMostRowThreads);
         threads <= kMostRowThreads; threads *= 2) {
      if (keepBy(threads, wanted, mostElements)) {
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
  } else if (!row.chunks && row.isReadAgain) {
    keepUnknown(row, shape);
  }
  return shape;
}

/// With fewer elements, tiles of 64 x 64 would give too few blocks for a device.
static constexpr int64_t kFewElements = 1 << 20;

unsigned mlir::frit::chooseNeighbours(const TileNumbers &tile) {
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
