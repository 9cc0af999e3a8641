#pragma once

#include "kernel/KernelBudgets.h"

#include "llvm/ADT/SmallVector.h"

#include <utility>

/// The schedule of a region as a pure function of numbers: from a summary of the region and of the
/// device it returns an ordered list of candidates. It does not see the IR, so that a table of
/// cases can test every decision.
namespace mlir::frit {

/// The device that schedules are chosen for: the oldest that is compiled for.
struct ScheduleDevice {
  unsigned arch = 80;

  /// The most threads resident on a multiprocessor ("processor" here), registers permitting.
  int64_t threads() const { return arch >= 120 || arch == 86 || arch == 89 ? 1536 : 2048; }
  unsigned processors() const { return arch >= 100 ? 148 : arch >= 90 ? 132 : 108; }
  /// Bytes that a processor must have in flight to saturate memory: latency x bandwidth /
  /// processors, with 800 ns latency under load and 2.0 TB/s for an A100, 4.8 for an H200, 8.0 for
  /// a B200 (15, 29 and 43 KB).
  int64_t bytesInFlight() const {
    return int64_t(800) * (arch >= 100 ? 8000 : arch >= 90 ? 4800 : 2039) / processors();
  }
  /// Shared by the blocks of a processor: 32-bit registers, and bytes of shared memory.
  int64_t registers() const { return 65536; }
  int64_t sharedBytes() const {
    return (arch == 80 || arch == 87 ? 164 : arch >= 90 && arch < 120 ? 228 : 100) << 10;
  }
  /// The most blocks of a cluster that shares a row; 1 where there are no clusters.
  unsigned mostClusterBlocks() const { return arch >= 90 ? kMostRowBlocks : 1; }
};

/// Checks a pass's option `arch`: emits an error at `graph` if schedules do not support it.
LogicalResult checkArchitecture(GraphOp graph, unsigned arch);

struct RegionSummary {
  /// Estimated element counts: rows and the length of a row.
  double rows = 1, columns = 1;
  bool reduces = false;
  /// There is provably one row (P is one point).
  bool singleRow = false;
  /// Something on the full domain follows a reduction (softmax, norms).
  bool hasEpilogue = false;
  /// Bytes a point of the domain reads with unit stride along the innermost
  /// reduced dim, and along the innermost parallel dim.
  double bytesAlongReduced = 0, bytesAlongParallel = 0;
  /// Widest element that is read or written, in bytes, and the narrowest.
  unsigned widestBytes = 4, narrowestBytes = 4;
  /// Work of a point in elementary operations.
  unsigned weight = 1;
  /// Without reductions: the element size in bytes of the operand that is streamed from memory, if
  /// there is exactly one large operand and each point reads its own element of it; else 0. Small
  /// operands come from a cache and do not count.
  unsigned streamedBytes = 0;
  /// The length of a row if it is known, else 0, and the number of operands of that length that the
  /// reductions read.
  int64_t knownColumns = 0;
  unsigned keptOperands = 1;
  /// The number of adjacent columns if it is known, else 0.
  int64_t knownWidth = 0;
  /// What the reductions carry for a point of P: the number of values, and of 32-bit registers for
  /// them.
  unsigned carriedValues = 1, carriedRegisters = 1;
  /// Bytes of shared memory per carried value.
  unsigned slotBytes = 8;
};

/// As in #frit.gpu_numbers; 0: no number.
struct GpuNumbers {
  int64_t threads = 0, rows = 0, vector = 0, unroll = 0, rowThreads = 0, threadsX = 0, cluster = 0,
          split = 0, rowsOfPart = 0, resident = 0, parts = 0;

  GpuNumbersAttr toAttr(MLIRContext *context) const {
    return GpuNumbersAttr::get(context, threads, rows, vector, unroll, rowThreads, threadsX,
                               cluster, split, rowsOfPart, resident, parts);
  }
};

struct ScheduleCandidate {
  ScheduleKind kind;
  GpuNumbers numbers;
};

/// The kind of a region's loops. On a CPU later passes need no more of a region; the schedules of
/// its kernels are in CpuSchedule.h.
ScheduleKind chooseFamily(const RegionSummary &region);

/// The schedules of a region on a GPU, best first; never empty.
SmallVector<ScheduleCandidate, 2> listSchedules(const RegionSummary &region,
                                                ScheduleDevice device = {});

/// Whether rows that are read again after a reduction stay in the registers of a block or a
/// cluster. Rows of unknown length count as kept: most of them are.
bool keepsRows(const RegionSummary &region, ScheduleDevice device);

/// What column reductions add to a row-reduction region that computes both (the backward of a
/// norm).
struct ColumnsBeside {
  /// The number of column results, and of operands that are common to all rows.
  unsigned results = 1, common = 0;
  /// Bytes per point of the domain that a separate column kernel would read again.
  double bytesSaved = 0;
};

struct BothWays {
  /// Why there is no schedule; None if there is one.
  enum class Refusal { None, UnknownLength, TooManyRegisters, TooFewRows } refusal = Refusal::None;
  GpuNumbers numbers;
  /// Estimates: registers of a thread, and shared memory of a block including the exchanges along a
  /// row.
  int64_t registers = 0, sharedBytes = 0;

  explicit operator bool() const { return refusal == Refusal::None; }
};

/// The schedule that sweeps rows once for row and column reductions, refused if it does not pay:
/// `threads` per row, `rows` per block, and `parts`, the blocks of a persistent grid that covers
/// all rows. `region.keptOperands` counts all operands of the size of the domain.
BothWays scheduleBothWays(const RegionSummary &region, const ColumnsBeside &columns,
                          ScheduleDevice device = {});

} // namespace mlir::frit
