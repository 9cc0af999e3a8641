#pragma once

#include <cstdint>
#include <optional>

/// Decisions about a kernel that its region's numbers (passes/schedule/Schedule.h) leave open,
/// because they need the final accesses and divisibilities. They are pure functions of numbers,
/// tested with a table of cases (tests/unit/passes/GpuShapesTest.cpp).
namespace mlir::frit {

enum class GpuFamily { Pointwise, Transpose, Rows, SplitRows, Columns, RowsAndColumns };

/// The facts that decide the family of a kernel.
struct FamilyFacts {
  /// It also reduces over its rows; it is the kernel of a list.
  bool reducesAcross = false, isList = false;
  /// Its accesses are contiguous along two dims, for which tiles pay.
  bool transposes = false;
  bool reduces = false;
  /// There is a lane dim, and it is reduced; there are parallel dims.
  bool hasLane = false, isLaneReduced = false, hasParallel = false;
  /// Several blocks shall share a row.
  bool splits = false;
  /// The most chunks of a row, if there is a bound.
  std::optional<int64_t> mostChunks;
};

/// Rows that one block sweeps in sixteen rounds are not split.
GpuFamily chooseGpuFamily(const FamilyFacts &kernel);

/// Accesses that are contiguous along the lanes.
struct LaneAccesses {
  /// Bytes of the narrowest and of the widest element; `narrowest` is 0 without an access.
  unsigned narrowest = 0, widest = 1;
  unsigned accesses = 0;
  /// Math functions that are computed for each element.
  unsigned heavyFunctions = 0;
};

/// Elements of a chunk: 16 bytes of the narrowest element, at most 8 elements. Fewer if the loaded
/// values take more than 64 registers, or the code of each lane is long.
unsigned chooseVectorWidth(const LaneAccesses &accesses);

/// A thread of a pointwise kernel whose accesses cannot be vectors.
struct SingleAccesses {
  /// Its elements, bytes of all operands that are loaded for one, and math functions of one.
  int64_t elements = 1;
  unsigned bytes = 0, heavyFunctions = 0;
};

/// How many elements the thread loads before it stores the first: 32 bytes, which in all resident
/// threads are twice what a processor needs in flight; 16 bytes where the code of an element is
/// long.
int64_t chooseTogether(const SingleAccesses &thread);

/// How many elements a thread takes of a kernel in which no access can be a vector, all of them
/// together: as above, but fewer where `elements`, those of the whole kernel, would not fill a
/// device.
int64_t chooseSingles(SingleAccesses thread, int64_t elements);

/// The numbers of a row reduction. Lengths are in chunks of `width` elements.
struct RowNumbers {
  /// The length of a row if it is known, and otherwise its upper bound, if there is one.
  std::optional<int64_t> chunks, mostChunks;
  /// Its length in the first call.
  int64_t expectedChunks = 0;
  /// The number of rows, if it is known, and an estimate.
  std::optional<int64_t> rows;
  int64_t expectedRows = 0;
  /// The length is known to be a multiple of the width.
  bool hasWholeChunks = true;
  /// The row is read again after a reduction.
  bool isReadAgain = false;
  unsigned width = 1;
  /// Operands of the row's size that reductions read.
  unsigned loads = 1;
  /// The most values of an element that stay live from one phase to a later one; counts instead of
  /// `loads` where it is greater.
  unsigned values = 1;
  /// Some operands have 64-bit elements; positions are reduced.
  bool isWide = false, hasPositions = false;
  /// Of an element, over the operands that reductions read.
  unsigned bytes = 4;
  /// Registers of a thread beside the values that wait.
  int64_t ownRegisters = 32;
  /// From the region. `rowThreads`: threads of a row of any known length, 0: chosen here.
  /// `vector`: elements of its chunk; four chunks a thread are the expected length.
  int64_t rowThreads = 0, threads = 256, cluster = 1, vector = 1;
};

struct RowShape {
  /// Threads of a block that share a row, and threads of a block: powers of two, at most 512.
  uint32_t threads = 0, block = 0;
  /// Chunks that each thread keeps in registers, if the row has no more; 0: none.
  unsigned kept = 0;
  /// Blocks of a row.
  uint32_t cluster = 1;
  /// Single elements that each thread keeps of a row of unknown length that is not a whole number
  /// of chunks; 0: none.
  unsigned keptElements = 0;
  /// Chunks of each thread for a row of unknown length that is as long as in the first call; 0 if
  /// it keeps no more.
  unsigned usual = 0;
  /// Rows that the threads of a row load before they use the first.
  uint32_t rows = 1;
  /// Blocks that the registers of a processor hold; 1 if they cannot be counted.
  uint32_t resident = 1;
};

/// Chooses the threads of a row by its length. If a row of known length is not register-resident
/// with those, takes more threads, or the blocks of a cluster, as long as the operands of the
/// reductions fit into 64 registers a thread. Rows of dynamic length keep up to twice the expected
/// length, within 32 registers a thread for operands and 64 for what later phases need. If 512
/// threads are too few for that, the limit is 64 registers, and at least the expected length is
/// kept. 64-bit values count twice. Threads of
/// short rows of known length take up to four of them, so that each loads 64 bytes at once, if
/// there are rows enough for that.
RowShape shapeRows(const RowNumbers &row);

/// The numbers of a transpose: of the tensors that are contiguous across the lanes and go through
/// shared memory.
struct TileNumbers {
  /// Bytes of their narrowest and of their widest element.
  unsigned narrowest = 4, widest = 4;
  /// Bytes of shared memory for tiles of pairs.
  int64_t bytesOfPairs = 0;
  /// Bytes of an element, over all of them.
  unsigned bytes = 4;
  /// Sizes of the domain, where known; the kernel tests unknown ones.
  std::optional<int64_t> lanes, across, elements;
  /// Of all accesses with more than one dim: their number, and bytes of the narrowest and of the
  /// widest element. `isPlain`: each is contiguous along one of the two dims, and no random number
  /// is drawn.
  unsigned accesses = 2, narrowestOfAll = 4, widestOfAll = 4;
  bool isPlain = false;
};

/// Neighbouring elements that a thread of a tile takes at once: 4 or 8, which are 16 bytes, where
/// it can access memory by such vectors and turn squares of them in its registers; 2 where single
/// elements would not keep memory busy, else 1.
unsigned chooseNeighbours(const TileNumbers &tile);

/// The numbers that decide how a scan runs: along its dim there are chunks of `width` elements, and
/// beside it rows, which are adjacent in memory if it is `isAcross`. Both counts may be estimates.
struct ScanNumbers {
  bool isAcross = false;
  int64_t chunks = 1, width = 1, rows = 1;
  /// Of an element, over all operands.
  unsigned bytes = 4;
};

/// One thread takes a column, several share a row (#frit.gpu_scan).
struct ScanShape {
  int64_t threads = 1, block = 128, unroll = 1;
};

ScanShape shapeScan(const ScanNumbers &scan);

} // namespace mlir::frit
