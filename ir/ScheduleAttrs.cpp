// Verifiers of the attributes that say how kernels run, and those of GPUs in words.
#include "ir/FritOps.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::frit;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

LogicalResult ScheduleAttr::verify(EmitError emitError, ScheduleKind, DimsAttr domain,
                                   unsigned reducedRank, GpuNumbersAttr) {
  size_t rank = domain.getSizes().size();
  return reducedRank <= rank
             ? success()
             : emitError() << "reduces " << reducedRank << " dims of a domain of " << rank;
}

//===----------------------------------------------------------------------===//
// Schedules of CPU kernels
//===----------------------------------------------------------------------===//

static LogicalResult checkAtLeast(EmitError emitError, StringRef field, int64_t value,
                                  int64_t least) {
  return value >= least
             ? success()
             : emitError() << field << " is " << value << ", at least " << least << " is expected";
}

LogicalResult CpuPointwiseAttr::verify(EmitError emitError, bool, std::optional<unsigned> lane,
                                       std::optional<unsigned> tileDim, int64_t tileRows,
                                       int64_t stretch, int64_t unroll, bool, bool, int64_t grain) {
  if (tileDim && (!lane || tileDim == lane)) {
    return emitError() << "tileDim is a dim beside the lane dim";
  }
  if (!tileDim && tileRows != 1) {
    return emitError() << "tileRows is " << tileRows << " without a tileDim";
  }
  if (stretch < 64 || stretch % 64 != 0) {
    return emitError() << "stretch is " << stretch
                       << ", a multiple of 64 is expected: whole vectors";
  }
  return success(succeeded(checkAtLeast(emitError, "tileRows", tileRows, 1)) &&
                 succeeded(checkAtLeast(emitError, "unroll", unroll, 1)) &&
                 succeeded(checkAtLeast(emitError, "grain", grain, 1)));
}

LogicalResult CpuRowsAttr::verify(EmitError emitError, bool, unsigned, DenseI64ArrayAttr unroll,
                                  DenseBoolArrayAttr once, int64_t keep, bool, bool, bool,
                                  int64_t splitElements, int64_t mostParts, int64_t grain) {
  if (unroll.empty() || unroll.size() != once.size()) {
    return emitError() << "unroll and once have one entry for each round of reductions, not "
                       << unroll.size() << " and " << once.size();
  }
  for (int64_t accumulators : unroll.asArrayRef()) {
    // They are combined in pairs.
    if (accumulators < 1 || !llvm::isPowerOf2_64(accumulators)) {
      return emitError() << "unroll is " << accumulators << ", a power of two is expected";
    }
  }
  if (splitElements > 0 && unroll.size() > 1) {
    return emitError() << "a row that is split has one round of reductions";
  }
  return success(
      succeeded(checkAtLeast(emitError, "keep", keep, 0)) &&
      succeeded(checkAtLeast(emitError, "splitElements", splitElements, 0)) &&
      succeeded(checkAtLeast(emitError, "mostParts", mostParts, splitElements > 0 ? 1 : 0)) &&
      succeeded(checkAtLeast(emitError, "grain", grain, 1)));
}

LogicalResult CpuColumnsAttr::verify(EmitError emitError, bool, unsigned lane,
                                     std::optional<unsigned> rowDim, int64_t rows, int64_t vectors,
                                     int64_t unitRows, bool packs, bool once, int64_t grain,
                                     int64_t tiles, int64_t partSteps, int64_t mostParts) {
  if (rowDim == lane) {
    return emitError() << "rowDim is a dim beside the lane dim";
  }
  if (!rowDim && (rows != 1 || unitRows != 1 || packs)) {
    return emitError() << "rows, unitRows and packs need a rowDim";
  }
  if (rowDim && (tiles != 1 || partSteps != 0)) {
    return emitError() << "a unit with a rowDim has one tile of lanes and all of the reduced dim";
  }
  if (once && (rows != 1 || vectors != 1)) {
    return emitError() << "a tile that is emitted once is one vector";
  }
  return success(succeeded(checkAtLeast(emitError, "rows", rows, 1)) &&
                 succeeded(checkAtLeast(emitError, "vectors", vectors, 1)) &&
                 succeeded(checkAtLeast(emitError, "unitRows", unitRows, rows)) &&
                 succeeded(checkAtLeast(emitError, "grain", grain, 1)) &&
                 succeeded(checkAtLeast(emitError, "tiles", tiles, 1)) &&
                 succeeded(checkAtLeast(emitError, "partSteps", partSteps, 0)) &&
                 succeeded(checkAtLeast(emitError, "mostParts", mostParts, partSteps > 0 ? 1 : 0)));
}

//===----------------------------------------------------------------------===//
// Schedules of GPU kernels
//===----------------------------------------------------------------------===//

/// Threads, vectors and what is divided among them are powers of two.
static LogicalResult checkPower(EmitError emitError, StringRef field, int64_t value, int64_t least,
                                int64_t most) {
  return value >= least && value <= most && llvm::isPowerOf2_64(value)
             ? success()
             : emitError() << field << " is " << value << ", a power of two from " << least
                           << " to " << most << " is expected";
}

static LogicalResult checkResident(EmitError emitError, int64_t resident) {
  return resident >= 1 && resident <= 4
             ? success()
             : emitError() << "resident is " << resident << ", 1 to 4 is expected";
}

LogicalResult GpuNumbersAttr::verify(EmitError emitError, int64_t threads, int64_t rows,
                                     int64_t vector, int64_t unroll, int64_t rowThreads,
                                     int64_t threadsX, int64_t cluster, int64_t split,
                                     int64_t rowsOfPart, int64_t resident, int64_t parts) {
  for (int64_t number : {threads, rows, vector, unroll, rowThreads, threadsX, cluster, split,
                         rowsOfPart, resident, parts}) {
    if (number < 0) {
      return emitError() << "the numbers of a schedule are positive, or 0 for none, not " << number;
    }
  }
  return success();
}

LogicalResult GpuPointwiseAttr::verify(EmitError emitError, std::optional<unsigned> lane,
                                       int64_t width, int64_t threads, int64_t unroll,
                                       int64_t together, bool) {
  if (!lane && (width != 1 || unroll != 1)) {
    return emitError() << "one point has width 1 and unroll 1";
  }
  if (together > width * unroll) {
    return emitError() << "together is " << together << ", a thread has " << width * unroll
                       << " elements";
  }
  return success(succeeded(checkPower(emitError, "width", width, 1, 8)) &&
                 succeeded(checkPower(emitError, "threads", threads, 32, 1024)) &&
                 succeeded(checkPower(emitError, "unroll", unroll, 1, width == 1 ? 16 : 4)) &&
                 succeeded(checkPower(emitError, "together", together, 1, 32)));
}

LogicalResult GpuTransposeAttr::verify(EmitError emitError, unsigned lane, unsigned across,
                                       int64_t neighbours) {
  return lane == across ? emitError() << "across is a dim beside the lane dim"
                        : checkPower(emitError, "neighbours", neighbours, 1, 8);
}

LogicalResult GpuRowsAttr::verify(EmitError emitError, unsigned, int64_t width, int64_t threads,
                                  int64_t block, int64_t kept, int64_t keptElements, int64_t usual,
                                  bool, int64_t cluster, int64_t rows, int64_t resident) {
  if (rows > 1 && (threads > 32 || kept == 0 || cluster > 1)) {
    return emitError() << "threads that take several rows keep them, and are at most 32";
  }
  if (cluster > 1 && (threads != block || kept == 0)) {
    return emitError() << "a cluster keeps its row, with all threads of its blocks";
  }
  if (kept < 0 || keptElements < 0 || (kept == 0 && keptElements > 0)) {
    return emitError() << "kept is " << kept << " and keptElements " << keptElements
                       << ": elements are kept where chunks are";
  }
  if (usual < 0 || (usual > 0 && usual >= kept)) {
    return emitError() << "usual is " << usual << ", fewer than the " << kept
                       << " that are kept is expected";
  }
  return success(
      succeeded(checkPower(emitError, "width", width, 1, 8)) &&
      succeeded(checkPower(emitError, "threads", threads, 8, 512)) &&
      succeeded(checkPower(emitError, "block", block, std::max<int64_t>(threads, 32), 512)) &&
      succeeded(checkPower(emitError, "cluster", cluster, 1, 8)) &&
      succeeded(checkPower(emitError, "rows", rows, 1, 4)) &&
      succeeded(checkResident(emitError, resident)));
}

LogicalResult GpuSplitRowsAttr::verify(EmitError emitError, unsigned, int64_t width, int64_t unroll,
                                       int64_t split, int64_t chunksOfPart, int64_t resident) {
  return success(succeeded(checkPower(emitError, "width", width, 1, 8)) &&
                 succeeded(checkPower(emitError, "unroll", unroll, 1, 8)) &&
                 succeeded(checkAtLeast(emitError, "split", split, 1)) &&
                 succeeded(checkAtLeast(emitError, "chunksOfPart", chunksOfPart, 1)) &&
                 succeeded(checkResident(emitError, resident)));
}

LogicalResult GpuColumnsAttr::verify(EmitError emitError, unsigned, int64_t width, int64_t threadsX,
                                     int64_t unroll, int64_t split, int64_t rowsOfPart,
                                     int64_t resident) {
  if ((split > 1) != (rowsOfPart > 0)) {
    return emitError() << "split is " << split << " and rowsOfPart " << rowsOfPart
                       << ": rows are counted where columns are split";
  }
  return success(succeeded(checkPower(emitError, "width", width, 1, 8)) &&
                 succeeded(checkPower(emitError, "threadsX", threadsX, 1, 32)) &&
                 succeeded(checkPower(emitError, "unroll", unroll, 1, 8)) &&
                 succeeded(checkAtLeast(emitError, "split", split, 1)) &&
                 succeeded(checkResident(emitError, resident)));
}

LogicalResult GpuRowsAndColumnsAttr::verify(EmitError emitError, unsigned, int64_t width,
                                            int64_t threads, int64_t block, int64_t parts, bool,
                                            int64_t resident) {
  return success(
      succeeded(checkPower(emitError, "width", width, 1, 8)) &&
      succeeded(checkPower(emitError, "threads", threads, 8, 512)) &&
      succeeded(checkPower(emitError, "block", block, std::max<int64_t>(threads, 32), 512)) &&
      succeeded(checkAtLeast(emitError, "parts", parts, 1)) &&
      succeeded(checkResident(emitError, resident)));
}

LogicalResult GpuScanAttr::verify(EmitError emitError, unsigned, int64_t width, int64_t threads,
                                  int64_t block, int64_t unroll) {
  if (threads == 1 ? width != 1 : threads < 8) {
    return emitError() << "threads is " << threads << " and width " << width
                       << ": at least 8 threads share a row, one takes a column of width 1";
  }
  if (threads > 32 && block != threads) {
    return emitError() << "block is " << block << ", a block of " << threads
                       << " is expected: all of its threads meet at barriers";
  }
  return success(
      succeeded(checkPower(emitError, "width", width, 1, 8)) &&
      succeeded(checkPower(emitError, "threads", threads, 1, 512)) &&
      succeeded(checkPower(emitError, "block", block, std::max<int64_t>(threads, 32), 512)) &&
      succeeded(checkPower(emitError, "unroll", unroll, 1, 16)));
}

//===----------------------------------------------------------------------===//
// Schedules of GPU kernels in words
//===----------------------------------------------------------------------===//

static raw_ostream &lanes(raw_ostream &os, unsigned dim, int64_t width) {
  return os << "vectors of " << width << " along d" << dim;
}

static void several(raw_ostream &os, int64_t count, StringRef what) {
  if (count > 1) {
    os << ", " << count << " " << what;
  }
}

void GpuPointwiseAttr::describe(raw_ostream &os) const {
  os << "pointwise: ";
  if (!getLane()) {
    os << "one point";
    return;
  }
  lanes(os, *getLane(), getWidth()) << ", blocks of " << getThreads() << " threads";
  several(os, getUnroll(), "vectors a thread");
}

void GpuTransposeAttr::describe(raw_ostream &os) const {
  int64_t edge = (getNeighbours() > 2 ? 16 : 32) * getNeighbours();
  os << "transpose: tiles of " << edge << " by " << edge << ", d" << getLane() << " by d"
     << getAcross();
}

void GpuRowsAttr::describe(raw_ostream &os) const {
  lanes(os << "rows: ", getLane(), getWidth())
      << ", " << getThreads() << " threads a row, blocks of " << getBlock();
  several(os, getCluster(), "blocks a row");
  several(os, getRows(), "rows at once");
  if (getKept() > 0) {
    os << ", registers keep " << getKept() << " vectors a thread";
  }
}

void GpuSplitRowsAttr::describe(raw_ostream &os) const {
  lanes(os << "split rows: ", getLane(), getWidth()) << ", up to " << getSplit() << " blocks a row";
  several(os, getUnroll(), "vectors loaded at once");
}

void GpuColumnsAttr::describe(raw_ostream &os) const {
  lanes(os << "columns: ", getLane(), getWidth())
      << ", " << getThreadsX() << " of 256 threads along it";
  several(os, getUnroll(), "rows loaded at once");
  if (getSplit() > 1) {
    os << ", up to " << getSplit() << " blocks a column";
  }
}

void GpuRowsAndColumnsAttr::describe(raw_ostream &os) const {
  lanes(os << "rows and columns: ", getLane(), getWidth())
      << ", " << getThreads() << " threads a row, up to " << getParts() << " blocks of "
      << getBlock();
}

void GpuScanAttr::describe(raw_ostream &os) const {
  lanes(os << "scan: ", getLane(), getWidth());
  if (getThreads() == 1) {
    os << ", a thread a column, blocks of " << getBlock();
    return several(os, getUnroll(), "rows loaded at once");
  }
  os << ", " << getThreads() << " threads a row, blocks of " << getBlock();
  several(os, getUnroll(), "vectors loaded at once");
}
