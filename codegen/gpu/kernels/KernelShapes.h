#pragma once

#include <cstdint>
#include <optional>

/// What a kernel decides beyond its region's schedule (passes/schedule/Schedule.h), when it is
/// known which accesses are left and what divides what: pure functions of numbers, so that a table
/// of cases holds each decision (tests/unit/codegen/KernelShapes.cpp).
namespace mlir::frit {

/// Accesses that are contiguous along the lanes.
struct LaneAccesses {
  /// Bytes of the narrowest and the widest element; 0 without an access.
  unsigned narrowest = 0, widest = 1;
  unsigned accesses = 0;
  /// Library functions that are computed for each element.
  unsigned heavyFunctions = 0;
};

/// Elements of a chunk: 16 bytes of the narrowest, at most 8; fewer where the loaded values take
/// more than 64 registers, or each lane is long code.
unsigned chooseLanes(const LaneAccesses &accesses);

/// Rows that are reduced. A row is counted in chunks of `width` elements.
struct RowNumbers {
  /// Chunks of a row where they are known, or else their most, where it is.
  std::optional<int64_t> chunks, mostChunks;
  /// How many rows, where it is known.
  std::optional<int64_t> rows;
  /// The length is a multiple of the width.
  bool hasWholeChunks = true;
  /// Something after a reduction reads the row again.
  bool isReadAgain = false;
  unsigned width = 1;
  /// Operands of the row's size that reductions read.
  unsigned loads = 1;
  /// Most values of an element that wait from one phase for a later one: what is computed of the
  /// operands, where that is more.
  unsigned values = 1;
  /// Some have elements of 64 bits.
  bool isWide = false;
  /// Of the schedule; `lanes`: threads of a row whatever its length, 0 for none asked for.
  /// `vector`: elements of what it takes for a chunk; four a thread are the row that it expects.
  int64_t lanes = 0, threads = 256, cluster = 1, vector = 1;
};

struct RowShape {
  /// Threads of a row in a block, and of a block: powers of two, 512 at most.
  uint32_t threads = 0, block = 0;
  /// Chunks a thread keeps in registers, where the row has no more than that; 0: it keeps none.
  unsigned kept = 0;
  /// Blocks of a row.
  uint32_t cluster = 1;
  /// Elements a thread keeps, one by one, of a row of unknown length that is no whole number of
  /// chunks; 0: it keeps none.
  unsigned keptElements = 0;
};

/// Threads by the length of the row; as many more, up to the blocks of a cluster, as keep what the
/// reductions read in 64 registers a thread. Rows of dynamic length keep up to twice the expected
/// length, within 32 registers a thread; short rows leave most of these registers unused. Where no
/// block has enough threads for that, the limit is 64 registers, and the expected length is kept at
/// least. 64-bit values need as many registers again.
RowShape shapeRows(const RowNumbers &row);

/// Tensors that are contiguous along another dim than the lanes', which go through shared memory.
struct TileNumbers {
  /// Bytes of their narrowest and widest element.
  unsigned narrowest = 4, widest = 4;
  /// Bytes of shared memory that tiles of pairs would take.
  int64_t bytesOfPairs = 0;
  /// Of the domain; unknown ones are tested by the kernel.
  std::optional<int64_t> lanes, across, elements;
};

/// Shared memory that needs no asking for.
constexpr int64_t kMostTileBytes = 48 << 10;

/// Neighbours that a thread takes at a time of a tile: two where single elements leave memory idle.
unsigned chooseNeighbours(const TileNumbers &tile);

} // namespace mlir::frit
