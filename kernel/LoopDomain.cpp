// Computes the domain of a body, and refines the shapes of several results to one domain.
#include "kernel/LoopDomain.h"

using namespace mlir;
using namespace mlir::frit;

LoopDomain LoopDomain::pointwise(ArrayRef<SizeExpr> sizes, MLIRContext *context) {
  LoopDomain domain;
  domain.sizes.assign(sizes.begin(), sizes.end());
  domain.isReduced.resize(sizes.size());
  domain.total = product(context, sizes);
  domain.parallel = ReadPlace::rowMajor(sizes, context).getSignature();
  return domain;
}

LoopDomain LoopDomain::reduction(ArrayRef<SizeExpr> sizes, ArrayRef<int64_t> reducedDims,
                                 MLIRContext *context) {
  LoopDomain domain;
  domain.isReduction = true;
  domain.sizes.assign(sizes.begin(), sizes.end());
  domain.total = product(context, sizes);
  domain.isReduced.resize(sizes.size());
  for (int64_t dim : reducedDims) {
    domain.isReduced.set(dim);
  }
  ReadPlace place = ReadPlace::rowMajor(sizes, context);
  SmallVector<Digit> kept, reduced;
  for (auto [i, digit] : llvm::enumerate(place.getDigits())) {
    (domain.isReduced.test(i) ? reduced : kept).push_back(digit);
  }
  domain.parallel = mergeDigits(kept);
  domain.reduced = mergeDigits(reduced);
  return domain;
}

LoopDomain LoopDomain::reduction(ReduceOp op) {
  return reduction(op.getLoopSizes(), op.getDims(), op.getContext());
}

LoopDomain LoopDomain::scan(ScanOp op) {
  LoopDomain domain = reduction(frit::getSizes(cast<RankedTensorType>(op.getType())),
                                {static_cast<int64_t>(op.getDim())}, op.getContext());
  domain.isReduction = false;
  domain.isScan = true;
  return domain;
}

LoopDomain LoopDomain::ofNest(Operation *op) {
  if (auto scanned = dyn_cast<ScanOp>(op)) {
    return scan(scanned);
  }
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce ? reduction(reduce) : pointwise(getLoopSizes(op), op->getContext());
}

LoopDomain LoopDomain::ofBody(Block &body) {
  MLIRContext *context = body.getParentOp()->getContext();
  for (ScanOp op : body.getOps<ScanOp>()) {
    return scan(op);
  }
  ReduceOp first = getFirstReduce(body);
  LoopDomain domain = first ? reduction(first) : pointwise({}, context);
  for (Value result : body.getTerminator()->getOperands()) {
    Operation *def = result.getDefiningOp();
    SmallVector<SizeExpr> sizes = def && isStacked(def)
                                      ? getLoopSizes(def)
                                      : frit::getSizes(cast<RankedTensorType>(result.getType()));
    if (!first && domain.sizes.empty()) {
      domain = pointwise(sizes, context);
      continue;
    }
    bool isWhole = product(context, sizes) == domain.total;
    if (isWhole && !domain.refine(sizes) && !first && sizes.size() > domain.sizes.size()) {
      domain = pointwise(sizes, context);
    }
  }
  for (ReduceOp reduce : body.getOps<ReduceOp>()) {
    // One whose operand has no common refinement is placed by the kernel's program, or refused.
    (void)domain.refine(reduce.getLoopSizes());
  }
  return domain;
}

bool LoopDomain::refine(ArrayRef<SizeExpr> others) {
  FailureOr<SmallVector<SizeExpr>> refined = refineSizes(sizes, others, getContext());
  if (failed(refined)) {
    return false;
  }
  // The refined dims divide the old ones in order: match them from the innermost out.
  llvm::SmallBitVector isNewReduced(refined->size());
  size_t at = refined->size();
  for (size_t i = sizes.size(); i-- > 0 && isReduced.any();) {
    SizeExpr covered = SizeExpr::constant(getContext(), 1);
    while (covered != sizes[i] && at > 0) {
      covered = covered * (*refined)[--at];
      isNewReduced[at] = isReduced.test(i);
    }
  }
  sizes = std::move(*refined);
  isReduced = std::move(isNewReduced);
  return true;
}

bool LoopDomain::isColumn() const {
  return !reduced.empty() &&
         llvm::none_of(reduced, [](const Digit &digit) { return digit.stride.isConstant(1); });
}

SmallVector<SizeExpr> LoopDomain::getParallelSizes() const {
  SmallVector<SizeExpr> result;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (!isReduced.test(i) && !size.isConstant(1)) {
      result.push_back(size);
    }
  }
  return result;
}

SmallVector<SizeExpr> LoopDomain::getReducedSizes() const {
  SmallVector<SizeExpr> result;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (isReduced.test(i) && !size.isConstant(1)) {
      result.push_back(size);
    }
  }
  if ((isReduction || isScan) && result.empty()) {
    result.push_back(SizeExpr::constant(getContext(), 1));
  }
  return result;
}

SizeExpr LoopDomain::getInnerWidth() const {
  SizeExpr width = SizeExpr::constant(getContext(), 1);
  for (size_t i = sizes.size(); i-- > 0;) {
    if (!isReduced.test(i)) {
      width = width * sizes[i];
    } else if (!sizes[i].isConstant(1)) {
      break;
    }
  }
  return width;
}

bool mlir::frit::isStacked(Operation *op) {
  auto concat = dyn_cast<ConcatOp>(op);
  return concat && concat.isStacked();
}

SmallVector<SizeExpr> mlir::frit::getLoopSizes(Operation *op) {
  auto element = dyn_cast<ElementOpInterface>(op);
  return element ? element.getLoopSizes()
                 : getSizes(cast<RankedTensorType>(op->getResult(0).getType()));
}
