#pragma once

#include "kernel/LoopDomain.h"

#include <functional>

/// Decides whether loop nests may run in one kernel, and if not, why.
///
/// A kernel has one domain (kernel/LoopDomain.h). What runs in it is `full` (over P and R) or `row`
/// (over P only: the results of its reductions and what is computed from them). Several reductions
/// of one kernel reduce the same R over the same P; a value that depends on a reduction of the
/// kernel is read only at its own index, because the kernel cannot recompute reductions elsewhere.
///
///   softmax over [N, C]:  max (R) -> exp (full) -> sum (R) -> div (full)
///   mean, rstd, y of a layer norm: row, row, full
namespace mlir::frit {

enum class LoopLevel { Full, Row };

/// A read of a kernel's value by a nest that wants to join.
struct LinkedRead {
  LoopLevel level;
  ReadPlace place;
};

/// All reasons to refuse; each has a statistic.
enum class FusionRefusal {
  None,
  DomainsDiffer,
  ReducesOtherDims,
  ReadsElsewhere,
  NeedsWholeReduction,
  ColumnEpilogue,
  /// Only elementwise operations share a kernel with a scan.
  BesideScan,
  TooManyOperations,
  TooManyPointers,
  WouldMakeCycle,
  /// Fusion is off and the other operation comes from another operator.
  OtherOperator
};
llvm::StringRef stringify(FusionRefusal refusal);

struct FusionLimits {
  unsigned operations = 256;
  unsigned pointers = 64;
  /// A reduction of at least this many elements per row with fewer rows than
  /// `fewRows` is split over threads, so nothing in its kernel can follow it.
  double longRow = 16384;
  double fewRows = 16;
};

struct FusionVerdict {
  FusionRefusal refusal = FusionRefusal::None;
  LoopLevel level = LoopLevel::Full;
  /// The kernel's domain after the nest has joined.
  LoopDomain domain;

  explicit operator bool() const { return refusal == FusionRefusal::None; }
  static FusionVerdict no(FusionRefusal refusal) { return {refusal, LoopLevel::Full, {}}; }
};

class FusionRules {
public:
  FusionRules(std::function<double(SizeExpr)> estimate, FusionLimits limits = {})
      : estimate(std::move(estimate)), limits(limits) {}

  const FusionLimits &getLimits() const { return limits; }

  /// Whether a nest that reads these values of the kernel may join it.
  FusionVerdict join(const LoopDomain &kernel, const LoopDomain &nest,
                     ArrayRef<LinkedRead> reads) const;
  /// Whether two kernels may become one, as far as their domains go.
  FusionVerdict merge(const LoopDomain &a, const LoopDomain &b) const;
  /// Whether a nest of a kernel of this domain (the nest's sizes; `row` if it only runs over P) may
  /// read that value of the same kernel.
  FusionRefusal link(const LoopDomain &kernel, ArrayRef<SizeExpr> sizes, LoopLevel level,
                     const LinkedRead &read) const;

  /// Whether there are so few and so long rows that their reduction is split over threads.
  bool splitsRows(const LoopDomain &domain) const;

private:
  /// The common refinement of two domains that reduce the same dims, if both reduce.
  static FusionVerdict unify(const LoopDomain &a, const LoopDomain &b);

  std::function<double(SizeExpr)> estimate;
  FusionLimits limits;
};

} // namespace mlir::frit
