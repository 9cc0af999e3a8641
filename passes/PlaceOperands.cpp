// Gives operands of operator calls the gaps and repetitions that they were traced with.
#include "passes/Copies.h"
#include "passes/Layouts.h"
#include "passes/LoopNests.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"

namespace mlir::frit {
#define GEN_PASS_DEF_PLACEOPERANDSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
/// Padding of a dim up to so many elements is alignment. More is kept if the tensor grows by a
/// small factor; else it is a slice of something large, which nobody wants to be allocated.
constexpr double kAlignment = 64, kMostGrowth = 4;

struct PlaceOperandsPass : frit::impl::PlaceOperandsPassBase<PlaceOperandsPass> {
  void runOnOperation() override {
    placed.clear();
    SizeEstimate estimate(getOperation());
    for (AtenOp call : getOperation().getBody().front().getOps<AtenOp>()) {
      for (OpOperand &use : call->getOpOperands()) {
        place(call, use, estimate);
      }
    }
  }

  void place(AtenOp call, OpOperand &use, const SizeEstimate &estimate) {
    auto type = dyn_cast<RankedTensorType>(use.get().getType());
    LayoutDemand demand = getLayoutDemand(use);
    if (!type || demand.kind != DemandKind::Exact || !isKernelElement(type.getElementType())) {
      return;
    }
    if (llvm::is_contained(call.getMutatedOperands().value_or(ArrayRef<int64_t>()),
                           use.getOperandNumber())) {
      placeWritten(call, use, demand.layout, estimate);
      return;
    }
    Value &known = placed[{use.get(), demand.layout}];
    if (!known) {
      LayoutAttr lies = layoutOf(use.get());
      bool isDenseThere = isDense(demand.layout, type);
      bool fits = lies && satisfies(lies, type, demand);
      if (fits && (!isDenseThere || lies.getStrides() == demand.layout.getStrides())) {
        return;
      }
      // Kernels may check the stride of a dim of one element too: rows of a mask for one query.
      known = make(call, use.get(), demand.layout, estimate, /*all=*/true);
      if (!known && !isDenseThere) {
        known = make(call, use.get(), demand.layout, estimate, /*all=*/false);
      }
    }
    if (known) {
      use.set(known);
    }
  }

  /// What the call writes to is a tensor of its own, unless it is a whole argument or a value
  /// without gaps, which the call may write in place.
  void placeWritten(AtenOp call, OpOperand &use, LayoutAttr wanted, const SizeEstimate &estimate) {
    if (!isDense(wanted, cast<RankedTensorType>(use.get().getType()))) {
      if (Value own = make(call, use.get(), wanted, estimate, /*all=*/true)) {
        use.set(own);
      }
    }
  }

  /// Where a value lies before anything is copied; null if strides cannot express it.
  static LayoutAttr layoutOf(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      return getArgumentLayout(cast<GraphOp>(argument.getOwner()->getParentOp()),
                               argument.getArgNumber());
    }
    Operation *def = value.getDefiningOp();
    if (isView(def)) {
      LayoutAttr operand = layoutOf(def->getOperand(0));
      return operand ? getViewLayout(def, operand).value_or(LayoutAttr()) : LayoutAttr();
    }
    return isFusible(def) ? getContiguousLayout(cast<RankedTensorType>(value.getType()))
                          : getCallResultLayout(def, cast<OpResult>(value).getResultNumber());
  }

  /// The value as a view of a tensor without gaps: what repeats is there once, and a dim is as long
  /// as its part of the next stride. `all`: strides of dims of one element count. Null if no tensor
  /// is like that, or if the value has no gaps and repeats nothing.
  Value make(AtenOp call, Value value, LayoutAttr wanted, const SizeEstimate &estimate, bool all) {
    MLIRContext *context = &getContext();
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<SizeExpr> sizes = getSizes(type);
    auto strideOf = [&](unsigned dim) { return SizeExpr(wanted.getStrides()[dim]); };
    SmallVector<unsigned> dims;
    bool repeats = false;
    for (unsigned dim = 0; dim < sizes.size(); ++dim) {
      bool isOne = sizes[dim].isConstant(1), isStill = strideOf(dim).isConstant(0);
      repeats |= isStill && !isOne;
      if (!isStill && (all || !isOne)) {
        dims.push_back(dim);
      }
    }
    llvm::stable_sort(dims, [&](unsigned a, unsigned b) {
      return std::pair(estimate.of(strideOf(a)), estimate.of(sizes[a])) >
             std::pair(estimate.of(strideOf(b)), estimate.of(sizes[b]));
    });
    if (dims.empty() || !strideOf(dims.back()).isConstant(1)) {
      return {};
    }
    SizeExpr zero = SizeExpr::constant(context, 0);
    SmallVector<SizeExpr> memory;
    SmallVector<SizeAttr> from(sizes.size(), zero), to, bounded, lows, highs;
    for (auto [place, dim] : llvm::enumerate(dims)) {
      SizeExpr size = sizes[dim], extent = size;
      if (place != 0) {
        std::optional<SizeExpr> part = strideOf(dims[place - 1]).divideExactly(strideOf(dim));
        if (!part) {
          return {};
        }
        extent = *part;
      }
      double have = estimate.of(size), want = estimate.of(extent);
      if (want < have || (want > have + kAlignment && want > have * kMostGrowth)) {
        return {};
      }
      memory.push_back(extent);
      from[dim] = SizeExpr::dim(context, place);
      to.push_back(SizeExpr::dim(context, dim));
      if (extent != size) {
        bounded.push_back(from[dim]);
        lows.push_back(zero);
        highs.push_back(size);
      }
    }
    if (bounded.empty() && !repeats) {
      return {};
    }
    OpBuilder builder(call);
    Type element = type.getElementType();
    auto lay = MapAttr::get(context, memory.size(), 0, from, bounded, lows, highs);
    auto fill = bounded.empty() ? TypedAttr() : builder.getZeroAttr(element);
    auto laid = ReindexOp::create(builder, value.getLoc(), getTensorType(memory, element), value,
                                  lay, fill);
    ++numPlaced;
    return ReindexOp::create(builder, value.getLoc(), type, laid,
                             MapAttr::get(context, sizes.size(), to), TypedAttr());
  }

  llvm::DenseMap<std::pair<Value, Attribute>, Value> placed;
};
} // namespace
