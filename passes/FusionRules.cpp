// Compares domains and read places. Limits on operations and pointers are checked in
// FusionClusters.
#include "passes/FusionRules.h"

#include "passes/LoopNests.h"

using namespace mlir;
using namespace mlir::frit;

LoopShape LoopShape::pointwise(ArrayRef<SizeExpr> sizes, MLIRContext *context) {
  LoopShape shape;
  shape.sizes.assign(sizes.begin(), sizes.end());
  shape.total = product(context, sizes);
  shape.parallel = ReadPlace::rowMajor(sizes, context).getSignature();
  return shape;
}

/// The shape of a nest over the operand that sweeps `dims`.
static LoopShape sweepOf(Value operand, ArrayRef<int64_t> dims) {
  MLIRContext *context = operand.getContext();
  LoopShape shape;
  shape.sizes = getSizes(cast<RankedTensorType>(operand.getType()));
  shape.total = product(context, shape.sizes);
  ReadPlace place = ReadPlace::rowMajor(shape.sizes, context);
  SmallVector<Digit> kept, reduced;
  for (auto [i, digit] : llvm::enumerate(place.getDigits())) {
    (llvm::is_contained(dims, static_cast<int64_t>(i)) ? reduced : kept).push_back(digit);
  }
  shape.parallel = mergeDigits(kept);
  shape.reduced = mergeDigits(reduced);
  return shape;
}

LoopShape LoopShape::reduction(ReduceOp op) {
  LoopShape shape = sweepOf(op.getOperand(), op.getDims());
  shape.reduces = true;
  return shape;
}

LoopShape LoopShape::scan(ScanOp op) {
  LoopShape shape = sweepOf(op.getOperand(), {static_cast<int64_t>(op.getDim())});
  shape.scans = true;
  return shape;
}

LoopShape LoopShape::of(Operation *loop) {
  if (auto reduce = dyn_cast<ReduceOp>(loop)) {
    return reduction(reduce);
  }
  auto scanned = dyn_cast<ScanOp>(loop);
  return scanned ? scan(scanned) : pointwise(getLoopSizes(loop), loop->getContext());
}

bool LoopShape::isColumn() const {
  return !reduced.empty() &&
         llvm::none_of(reduced, [](const Digit &digit) { return digit.stride.isConstant(1); });
}

StringRef mlir::frit::stringify(FusionRefusal refusal) {
  switch (refusal) {
  case FusionRefusal::None:
    return "none";
  case FusionRefusal::DomainsDiffer:
    return "domains differ";
  case FusionRefusal::ReducesOtherDims:
    return "reduces other dims";
  case FusionRefusal::ReadsElsewhere:
    return "reads a value at another place than it is computed";
  case FusionRefusal::NeedsWholeReduction:
    return "needs a reduction that is split over threads";
  case FusionRefusal::ColumnEpilogue:
    return "needs a column reduction at every row";
  case FusionRefusal::BesideScan:
    return "only elementwise operations share a kernel with a scan";
  case FusionRefusal::TooManyOperations:
    return "too many operations";
  case FusionRefusal::TooManyPointers:
    return "too many operands and results";
  case FusionRefusal::WouldMakeCycle:
    return "would make a cycle";
  case FusionRefusal::OtherOperator:
    return "another operator, and fusion is off";
  }
  return "unknown";
}

bool FusionRules::splitsRows(const LoopShape &shape) const {
  MLIRContext *context = shape.total.getContext();
  return estimate(countOf(shape.parallel, context)) < limits.fewRows &&
         estimate(countOf(shape.reduced, context)) >= limits.longRow;
}

FusionRefusal FusionRules::link(const LoopShape &kernel, ArrayRef<SizeExpr> sizes, LoopLevel level,
                                const LinkedRead &read) const {
  if (read.place.isElsewhere()) {
    return FusionRefusal::ReadsElsewhere;
  }
  Signature place = read.place.getSignature();
  Signature whole = ReadPlace::rowMajor(sizes, kernel.total.getContext()).getSignature();
  bool ofRow = read.level == LoopLevel::Row;
  if (level == LoopLevel::Row) {
    return ofRow && place == whole ? FusionRefusal::None : FusionRefusal::ReadsElsewhere;
  }
  if (place != (ofRow ? kernel.parallel : whole)) {
    return FusionRefusal::ReadsElsewhere;
  }
  if (ofRow && splitsRows(kernel)) {
    return FusionRefusal::NeedsWholeReduction;
  }
  return ofRow && kernel.isColumn() ? FusionRefusal::ColumnEpilogue : FusionRefusal::None;
}

FusionVerdict FusionRules::join(const LoopShape &kernel, const LoopShape &nest,
                                ArrayRef<LinkedRead> reads) const {
  MLIRContext *context = nest.total.getContext();
  if ((kernel.scans && (nest.scans || nest.reduces)) || (nest.scans && kernel.reduces)) {
    return FusionVerdict::no(FusionRefusal::BesideScan);
  }
  if (nest.total == kernel.total) {
    auto sizes = refineSizes(kernel.sizes, nest.sizes, context);
    if (failed(sizes)) {
      return FusionVerdict::no(FusionRefusal::DomainsDiffer);
    }
    if (nest.reduces && kernel.reduces &&
        (nest.parallel != kernel.parallel || nest.reduced != kernel.reduced)) {
      return FusionVerdict::no(FusionRefusal::ReducesOtherDims);
    }
    for (const LinkedRead &read : reads) {
      FusionRefusal refusal = link(kernel, nest.sizes, LoopLevel::Full, read);
      if (refusal != FusionRefusal::None) {
        return FusionVerdict::no(refusal);
      }
    }
    FusionVerdict verdict;
    verdict.shape = nest.reduces || nest.scans ? nest : kernel;
    verdict.shape.sizes = std::move(*sizes);
    verdict.level = nest.reduces ? LoopLevel::Row : LoopLevel::Full;
    return verdict;
  }
  if (kernel.reduces && !nest.reduces && nest.total == countOf(kernel.parallel, context)) {
    for (const LinkedRead &read : reads) {
      FusionRefusal refusal = link(kernel, nest.sizes, LoopLevel::Row, read);
      if (refusal != FusionRefusal::None) {
        return FusionVerdict::no(refusal);
      }
    }
    FusionVerdict verdict;
    verdict.shape = kernel;
    verdict.level = LoopLevel::Row;
    return verdict;
  }
  return FusionVerdict::no(FusionRefusal::DomainsDiffer);
}

FusionVerdict FusionRules::merge(const LoopShape &a, const LoopShape &b) const {
  if (a.scans || b.scans) {
    return FusionVerdict::no(FusionRefusal::BesideScan);
  }
  if (a.total != b.total) {
    return FusionVerdict::no(FusionRefusal::DomainsDiffer);
  }
  auto sizes = refineSizes(a.sizes, b.sizes, a.total.getContext());
  if (failed(sizes)) {
    return FusionVerdict::no(FusionRefusal::DomainsDiffer);
  }
  if (a.reduces && b.reduces && (a.parallel != b.parallel || a.reduced != b.reduced)) {
    return FusionVerdict::no(FusionRefusal::ReducesOtherDims);
  }
  // A kernel that splits rows over threads or sweeps columns cannot also compute unrelated results
  // over the full domain.
  for (const auto &[one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (one->reduces && !other->reduces && (one->isColumn() || splitsRows(*one))) {
      return FusionVerdict::no(FusionRefusal::ColumnEpilogue);
    }
  }
  FusionVerdict verdict;
  verdict.shape = a.reduces ? a : b;
  verdict.shape.sizes = std::move(*sizes);
  return verdict;
}
