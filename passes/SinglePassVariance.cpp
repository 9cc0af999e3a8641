// Rewrites a two-pass variance to a single-pass one (Welford) where the row cannot stay in
// registers between the passes.
//
// The pass runs before fusion, which then finds two sibling reductions of one operand over the same
// dims. Whether a region would keep its rows in registers is decided by the function that
// `choose-schedules` uses later.
#include "ir/FritAttributes.h"
#include "passes/FusionRules.h"
#include "passes/LoopNests.h"
#include "passes/Passes.h"
#include "passes/schedule/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::frit {
#define GEN_PASS_DEF_SINGLEPASSVARIANCEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

/// The value behind views; updates `place`, where it is read.
static Value throughViews(Value value, ReadPlace &place) {
  while (Operation *def = value.getDefiningOp()) {
    if (auto view = dyn_cast<ReindexOp>(def); view && !view.getMap().hasBounds()) {
      place = place.through(view);
    } else if (auto view = dyn_cast<ReshapeOp>(def)) {
      place = place.through(view);
    } else {
      break;
    }
    value = def->getOperand(0);
  }
  return value;
}

/// Whether every element of `value` is `count`, in its type.
static bool isCount(Value value, SizeExpr count) {
  ReadPlace anywhere = ReadPlace::elsewhere();
  value = throughViews(value, anywhere);
  if (auto known = value.getDefiningOp<arith::ConstantOp>()) {
    auto constant = dyn_cast<DenseElementsAttr>(known.getValue());
    auto number = count.getConstant();
    if (!number || !constant || !constant.isSplat() || !isa<FloatType>(constant.getElementType())) {
      return false;
    }
    llvm::APFloat same(constant.getSplatValue<llvm::APFloat>().getSemantics());
    same.convertFromAPInt(llvm::APInt(64, *number, true), true, llvm::APFloat::rmNearestTiesToEven);
    return same == constant.getSplatValue<llvm::APFloat>();
  }
  auto cast = value.getDefiningOp<arith::SIToFPOp>();
  auto element =
      cast ? cast.getIn().getDefiningOp<tensor::FromElementsOp>() : tensor::FromElementsOp();
  auto size = element && element.getElements().size() == 1
                  ? element.getElements()[0].getDefiningOp<SizeOp>()
                  : SizeOp();
  return size && SizeExpr(size.getSize()) == count;
}

/// x where the reduction is sum((x - sum(x) / n)^2) over the same dims; null if it is not.
static Value findDeviations(ReduceOp squares) {
  auto square = squares.getOperand().getDefiningOp<arith::MulFOp>();
  if (squares.getKind() != ReduceKind::Sum || !square || square.getLhs() != square.getRhs()) {
    return {};
  }
  auto centred = square.getLhs().getDefiningOp<arith::SubFOp>();
  if (!centred) {
    return {};
  }
  Value x = centred.getLhs();
  LoopDomain domain = LoopDomain::reduction(squares);
  ReadPlace place = ReadPlace::rowMajor(domain.getSizes(), squares.getContext());
  auto mean = throughViews(centred.getRhs(), place).getDefiningOp<arith::DivFOp>();
  if (!mean || !isCount(mean.getRhs(), domain.getRowLength())) {
    return {};
  }
  auto sum = throughViews(mean.getLhs(), place).getDefiningOp<ReduceOp>();
  bool isSame = sum && sum.getKind() == ReduceKind::Sum && sum.getOperand() == x &&
                sum.getDims() == squares.getDims();
  return isSame && !place.isElsewhere() && place.getSignature() == domain.getParallel() ? x
                                                                                        : Value();
}

namespace {
struct SinglePassVariancePass : frit::impl::SinglePassVariancePassBase<SinglePassVariancePass> {
  using SinglePassVariancePassBase::SinglePassVariancePassBase;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    if (failed(checkArchitecture(graph, arch))) {
      return signalPassFailure();
    }
    SizeEstimate estimate(graph);
    SmallVector<ReduceOp> reduces(graph.getBody().front().getOps<ReduceOp>());
    for (ReduceOp reduce : reduces) {
      Value x = findDeviations(reduce);
      if (!x) {
        continue;
      }
      if (isKept(reduce, x, estimate)) {
        ++kept;
        continue;
      }
      OpBuilder builder(reduce);
      auto once = ReduceOp::create(builder, reduce.getLoc(), reduce.getType(),
                                   ReduceKind::Deviations, x, reduce.getDims(), false);
      if (IntegerAttr which = kOperatorAttr.get(reduce)) {
        kOperatorAttr.set(once, which);
      }
      reduce.replaceAllUsesWith(once.getResult());
      // The squares are erased with their last reader; the differences may have other readers.
      Value unused = reduce.getOperand();
      reduce.erase();
      while (Operation *def = unused.getDefiningOp()) {
        if (!def->use_empty() || !isa<arith::MulFOp, arith::SubFOp>(def)) {
          break;
        }
        unused = def->getOperand(0);
        def->erase();
      }
      ++single;
    }
  }

private:
  bool isKept(ReduceOp reduce, Value x, const SizeEstimate &estimate) {
    LoopDomain domain = LoopDomain::reduction(reduce);
    FusionRules rules([&](SizeExpr size) { return estimate.of(size); });
    SizeExpr rows = domain.countRows(), columns = domain.getRowLength();
    RegionSummary region;
    region.reduces = region.hasEpilogue = true;
    region.rows = estimate.of(rows);
    region.columns = estimate.of(columns);
    region.knownColumns = columns.getConstant().value_or(0);
    region.singleRow = rows.isConstant(1);
    // An operand that is widened before the reduction is loaded in its narrow type.
    Operation *def = x.getDefiningOp();
    Value source = isa_and_nonnull<arith::ExtFOp>(def) ? def->getOperand(0) : x;
    region.narrowestBytes = getStoredBytes(source);
    region.widestBytes = getStoredBytes(x);
    return !domain.isColumn() && !rules.splitsRows(domain) &&
           keepsRows(region, ScheduleDevice{arch});
  }
};
} // namespace
