// Compares domains and read places. Limits on operations and pointers are checked in
// FusionClusters.
#include "passes/FusionRules.h"

#include "passes/LoopNests.h"

using namespace mlir;
using namespace mlir::frit;

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

bool FusionRules::splitsRows(const LoopDomain &domain) const {
  return estimate(domain.countRows()) < limits.fewRows &&
         estimate(domain.getRowLength()) >= limits.longRow;
}

FusionRefusal FusionRules::link(const LoopDomain &kernel, ArrayRef<SizeExpr> sizes, LoopLevel level,
                                const LinkedRead &read) const {
  if (read.place.isElsewhere()) {
    return FusionRefusal::ReadsElsewhere;
  }
  Signature place = read.place.getSignature();
  Signature whole = ReadPlace::rowMajor(sizes, kernel.getContext()).getSignature();
  bool ofRow = read.level == LoopLevel::Row;
  if (level == LoopLevel::Row) {
    return ofRow && place == whole ? FusionRefusal::None : FusionRefusal::ReadsElsewhere;
  }
  if (place != (ofRow ? kernel.getParallel() : whole)) {
    return FusionRefusal::ReadsElsewhere;
  }
  if (ofRow && splitsRows(kernel)) {
    return FusionRefusal::NeedsWholeReduction;
  }
  return ofRow && kernel.isColumn() ? FusionRefusal::ColumnEpilogue : FusionRefusal::None;
}

FusionVerdict FusionRules::unify(const LoopDomain &a, const LoopDomain &b) {
  if (a.getTotal() != b.getTotal()) {
    return FusionVerdict::no(FusionRefusal::DomainsDiffer);
  }
  FusionVerdict verdict;
  bool isFirst = a.reduces() || a.scans();
  verdict.domain = isFirst ? a : b;
  if (!verdict.domain.refine((isFirst ? b : a).getSizes())) {
    return FusionVerdict::no(FusionRefusal::DomainsDiffer);
  }
  if (a.reduces() && b.reduces() &&
      (a.getParallel() != b.getParallel() || a.getReduced() != b.getReduced())) {
    return FusionVerdict::no(FusionRefusal::ReducesOtherDims);
  }
  return verdict;
}

FusionVerdict FusionRules::join(const LoopDomain &kernel, const LoopDomain &nest,
                                ArrayRef<LinkedRead> reads) const {
  if ((kernel.scans() && (nest.scans() || nest.reduces())) || (nest.scans() && kernel.reduces())) {
    return FusionVerdict::no(FusionRefusal::BesideScan);
  }
  FusionVerdict verdict;
  LoopLevel level = LoopLevel::Full;
  if (nest.getTotal() == kernel.getTotal()) {
    verdict = unify(kernel, nest);
    verdict.level = nest.reduces() ? LoopLevel::Row : LoopLevel::Full;
  } else if (kernel.reduces() && !nest.reduces() && nest.getTotal() == kernel.countRows()) {
    verdict.domain = kernel;
    verdict.level = level = LoopLevel::Row;
  } else {
    return FusionVerdict::no(FusionRefusal::DomainsDiffer);
  }
  for (const LinkedRead &read : reads) {
    if (!verdict) {
      break;
    }
    verdict.refusal = link(kernel, nest.getSizes(), level, read);
  }
  return verdict;
}

FusionVerdict FusionRules::merge(const LoopDomain &a, const LoopDomain &b) const {
  if (a.scans() || b.scans()) {
    return FusionVerdict::no(FusionRefusal::BesideScan);
  }
  FusionVerdict verdict = unify(a, b);
  if (!verdict) {
    return verdict;
  }
  // A kernel that splits rows over threads or sweeps columns cannot also compute unrelated results
  // over the full domain.
  for (const auto &[one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (one->reduces() && !other->reduces() && (one->isColumn() || splitsRows(*one))) {
      return FusionVerdict::no(FusionRefusal::ColumnEpilogue);
    }
  }
  return verdict;
}
