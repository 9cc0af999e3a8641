#pragma once

#include "kernel/KernelBudgets.h"

#include "llvm/ADT/SmallVector.h"

#include <utility>

/// The schedule of a region as a pure function of numbers: what the region
/// computes and on what it runs go in, an ordered list of candidates comes out.
/// No IR is looked at here, so a table of cases can hold every decision.
namespace mlir::frit {

/// The device that schedules are chosen for: the oldest that is compiled for.
struct ScheduleDevice {
  unsigned arch = 80;

  /// Threads that a processor holds, as far as their registers allow.
  int64_t threads() const { return arch >= 120 || arch == 86 || arch == 89 ? 1536 : 2048; }
  unsigned processors() const { return arch >= 100 ? 148 : arch >= 90 ? 132 : 108; }
  /// Bytes that a processor has to wait for at once to keep memory busy: latency x bandwidth /
  /// processors, with 800 ns of a loaded memory and the 2.0 TB/s of an A100, 4.8 of an H200, 8.0 of
  /// a B200 (15, 29 and 43 KB).
  int64_t bytesInFlight() const {
    return int64_t(800) * (arch >= 100 ? 8000 : arch >= 90 ? 4800 : 2039) / processors();
  }
  /// What the blocks of a processor share: registers of 32 bits, and bytes of shared memory.
  int64_t registers() const { return 65536; }
  int64_t sharedBytes() const {
    return (arch == 80 || arch == 87 ? 164 : arch >= 90 && arch < 120 ? 228 : 100) << 10;
  }
  /// Blocks that run at once and share their memory.
  unsigned mostClusterBlocks() const { return arch >= 90 ? kMostRowBlocks : 1; }
};

/// Of a pass's option `arch`: an error at `graph` unless schedules know it.
LogicalResult checkArchitecture(GraphOp graph, unsigned arch);

struct RegionSummary {
  /// Estimated element counts: rows and the length of a row.
  double rows = 1, columns = 1;
  bool reduces = false;
  /// P is provably one point.
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
  /// Without reductions: bytes of an element of the one operand that a point of the domain reads
  /// from memory, at its own place; 0 where there are more of them or none, or it is read
  /// elsewhere. What is small comes from a cache.
  unsigned streamedBytes = 0;
  /// The length of a row where it is known, else 0, and how many operands of its size the
  /// reductions read.
  int64_t knownColumns = 0;
  unsigned keptOperands = 1;
  /// Columns that lie next to each other, where their number is known, else 0.
  int64_t knownWidth = 0;
  /// What the reductions carry for a point of P: values, and 32-bit registers of them.
  unsigned carriedValues = 1, carriedRegisters = 1;
  /// Bytes of shared memory of a value.
  unsigned slotBytes = 8;
};

struct ScheduleCandidate {
  ScheduleKind kind;
  SmallVector<std::pair<llvm::StringRef, int64_t>, 4> parameters;

  int64_t get(llvm::StringRef name) const {
    for (const auto &[key, value] : parameters) {
      if (key == name) {
        return value;
      }
    }
    return 0;
  }
};

/// Which way a region's loops run. On a CPU later passes need no more than this of a region; the
/// schedules of its kernels are in CpuSchedule.h.
ScheduleKind chooseFamily(const RegionSummary &region);

/// The schedules of a region on a GPU, best first; never empty.
SmallVector<ScheduleCandidate, 2> listSchedules(const RegionSummary &region,
                                                ScheduleDevice device = {});

/// Whether a region that reads its rows again after a reduction finds them where a block or a
/// cluster has kept them. Rows of unknown length count as kept: most of them are.
bool keepsRows(const RegionSummary &region, ScheduleDevice device);

/// Reductions over the rows of a region that reduces along them too (a norm's backward): what they
/// add to it.
struct ColumnsBeside {
  /// How many there are, and operands that are common to all rows.
  unsigned results = 1, common = 0;
  /// Bytes of a point of the domain that a kernel of their own would read again.
  double bytesSaved = 0;
};

struct BothWays {
  /// Why not: null where there is a schedule.
  enum class Refusal { None, UnknownLength, TooManyRegisters, TooFewRows } refusal = Refusal::None;
  ScheduleCandidate schedule = {ScheduleKind::RowReduction, {}};
  /// Of a thread and of a block, as estimated; the shared memory includes that of the exchanges
  /// along a row.
  int64_t registers = 0, sharedBytes = 0;

  explicit operator bool() const { return refusal == Refusal::None; }
};

/// The schedule that sweeps rows once for reductions both ways, if there is one that pays: how many
/// threads take a row, rows a block, and blocks (`parts`) of a grid that stays for all rows.
/// `region.keptOperands` are all operands of the size of the domain.
BothWays scheduleBothWays(const RegionSummary &region, const ColumnsBeside &columns,
                          ScheduleDevice device = {});

} // namespace mlir::frit
