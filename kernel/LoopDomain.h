#pragma once

#include "kernel/LoopSpace.h"

#include "llvm/ADT/SmallBitVector.h"

/// The iteration domain of a kernel: parallel dims P and reduced dims R of one loop counter.
///
/// This class computes the domains of loop nests, regions and kernels. Fusion compares the domains
/// of loop nests and refines them to a common one. `choose-schedules` writes the domain of a
/// region's body into `#frit.schedule`, from which the kernel's program reads it; a kernel without
/// that attribute has the domain of its own body.
///
///   sum over the last dim of [s0, s1, 64]             (s0, s1 | 64)
///   the same beside a result of [s0 * s1, 8, 8]       (s0, s1 | 8, 8)
namespace mlir::frit {

class LoopDomain {
public:
  /// A null domain, for something that has none yet.
  LoopDomain() = default;

  /// Every element of a shape.
  static LoopDomain pointwise(ArrayRef<SizeExpr> sizes, MLIRContext *context);
  /// Every element of a shape, some of whose dims are reduced.
  static LoopDomain reduction(ArrayRef<SizeExpr> sizes, ArrayRef<int64_t> reducedDims,
                              MLIRContext *context);
  static LoopDomain reduction(ReduceOp op);
  /// Every element of a shape, one dim of which is swept: R is that dim.
  static LoopDomain scan(ScanOp op);
  /// What the loop nest of an operation runs over.
  static LoopDomain ofNest(Operation *op);
  /// What the body of a region or kernel runs over: the shape of its first reduction, or of its
  /// first result, refined by the other results and reductions. A result that cannot refine it
  /// takes its place if it has more dims. With a scan it is the scan's own, not refined.
  static LoopDomain ofBody(Block &body);

  /// Splits dims until `others`, a shape of as many elements, has dims that are products of this
  /// domain's. False, and no change, if there is no common refinement.
  [[nodiscard]] bool refine(ArrayRef<SizeExpr> others);

  bool reduces() const { return isReduction; }
  /// Its result belongs to every element, and the dims of R are in order.
  bool scans() const { return isScan; }
  /// Reduces, and not along the innermost dim.
  bool isColumn() const;
  /// All sizes in the order of memory.
  ArrayRef<SizeExpr> getSizes() const { return sizes; }
  SizeExpr getTotal() const { return total; }
  MLIRContext *getContext() const { return total.getContext(); }
  /// P and R as merged digits of the loop counter: equal for equal domains, however refined.
  /// Without a reduction P is everything and R is empty.
  const Signature &getParallel() const { return parallel; }
  const Signature &getReduced() const { return reduced; }
  /// The number of points of P, and of R.
  SizeExpr countRows() const { return countOf(parallel, getContext()); }
  SizeExpr getRowLength() const { return countOf(reduced, getContext()); }

  /// The sizes of P and of R as a kernel counts them: without dims of size 1, except that a
  /// reduction over such dims only keeps one of them.
  SmallVector<SizeExpr> getParallelSizes() const;
  SmallVector<SizeExpr> getReducedSizes() const;
  /// The product of the parallel sizes inside the innermost reduced dim: how many neighbours a
  /// column reduction finds in memory.
  SizeExpr getInnerWidth() const;

private:
  SmallVector<SizeExpr> sizes;
  /// Which of them are reduced.
  llvm::SmallBitVector isReduced;
  SizeExpr total;
  Signature parallel, reduced;
  bool isReduction = false, isScan = false;
};

/// A concatenation of equal pieces (`ConcatOp::isStacked`).
bool isStacked(Operation *op);
/// The sizes that a loop nest of this operation runs over.
SmallVector<SizeExpr> getLoopSizes(Operation *op);

} // namespace mlir::frit
