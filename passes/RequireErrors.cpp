// Eager computes every element, so an index out of range or a division by zero always raises its
// error. Here only what the results need is computed. This pass finds what may raise and is not
// surely computed in full, and requires it. In a graph that writes to arguments or runs code that
// is not torch's, it requires everything that may raise, because such effects keep their order with
// `frit.require` but not with kernels.
#include "passes/Passes.h"
#include "passes/Raising.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::frit {
#define GEN_PASS_DEF_REQUIREERRORSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Which values of a graph are computed whole, whatever later simplifications do.
class Completeness {
public:
  explicit Completeness(GraphOp graph) : facts(graph.getSizeFacts()) {
    for (Operation &op : llvm::reverse(graph.getBody().front())) {
      visit(&op);
    }
  }

  bool isComplete(Value value) const { return complete.contains(value); }

  /// Whether each element of the operand is read, which is so along repeated dims only if they are
  /// surely not empty.
  bool covers(ReindexOp reindex) const {
    SmallVector<SizeExpr> extents = getSizes(reindex.getType());
    MapAttr map = reindex.getMap();
    llvm::SmallDenseSet<unsigned> used;
    for (auto [result, size] :
         llvm::zip_equal(map.getResults(), getSizes(tensorType(reindex.getOperand())))) {
      SizeExpr at(result);
      // The dims of the result on which the position depends.
      llvm::SmallSetVector<SizeSymbolAttr, 2> dims;
      at.forEachSymbol([&](SizeSymbolAttr symbol) {
        if (symbol.isDim()) {
          dims.insert(symbol);
        }
      });
      if (dims.empty() ? !at.isConstant(0) || !size.isConstant(1) : dims.size() > 1) {
        return false;
      }
      if (dims.empty()) {
        continue;
      }
      auto split = at.splitLinear(dims[0]);
      if (!split || !used.insert(dims[0].getPosition()).second) {
        return false;
      }
      auto [coefficient, first] = *split;
      SizeExpr last = first + extents[dims[0].getPosition()] - 1;
      if (coefficient.isConstant(-1)) {
        last = first;
        first = last - extents[dims[0].getPosition()] + 1;
      } else if (!coefficient.isConstant(1)) {
        return false;
      }
      if (!facts.provablyNonNegative(SizeExpr::constant(size.getContext(), 0) - first) ||
          !facts.provablyNonNegative(last - size + 1)) {
        return false;
      }
    }
    for (auto [dim, extent] : llvm::enumerate(extents)) {
      if (!used.contains(dim) && !facts.provablyNonNegative(extent - 1)) {
        return false;
      }
    }
    return boundsAreOperand(reindex);
  }

private:
  void visit(Operation *op) {
    bool isElementwise = OpTrait::hasElementwiseMappableTraits(op);
    bool isOfElements =
        isElementwise || isa<ElementOpInterface, ReshapeOp, tensor::FromElementsOp>(op);
    if (!isOfElements) {
      // A call or a store reads whole tensors, and an alias needs its base in memory. A call whose
      // result nothing reads is dropped.
      bool isNeeded =
          op->hasTrait<OpTrait::IsTerminator>() || !isMemoryEffectFree(op) ||
          llvm::any_of(op->getUsers(), [&](Operation *user) { return needed.contains(user); });
      if (isNeeded) {
        needed.insert(op);
        complete.insert_range(op->getOperands());
      }
      return;
    }
    if (llvm::any_of(op->getUsers(), [&](Operation *user) { return needed.contains(user); })) {
      needed.insert(op);
    }
    if (!complete.contains(op->getResult(0))) {
      return;
    }
    for (OpOperand &operand : op->getOpOperands()) {
      if (readsWhole(operand)) {
        complete.insert(operand.get());
      }
    }
  }

  /// Whether an operation that is computed whole reads the operand whole.
  bool readsWhole(OpOperand &operand) {
    Operation *op = operand.getOwner();
    if (OpTrait::hasElementwiseMappableTraits(op)) {
      return dependsOn(operand);
    }
    if (auto reindex = dyn_cast<ReindexOp>(op)) {
      return covers(reindex);
    }
    if (isa<GatherOp, SegmentSumOp>(op)) {
      return getElementRead(operand) == ElementRead::Here;
    }
    return isa<ReshapeOp, ConcatOp, ReduceOp, ScanOp>(op);
  }

  /// False if a fold may drop the operand, as in `x * 0`, `x - x` and a select of a known
  /// condition.
  bool dependsOn(OpOperand &operand) {
    Operation *op = operand.getOwner();
    auto others = llvm::make_filter_range(op->getOpOperands(), [&](OpOperand &other) {
      return other.getOperandNumber() != operand.getOperandNumber();
    });
    bool isSelect = isa<arith::SelectOp>(op);
    return llvm::all_of(others, [&](OpOperand &other) {
      if (other.get() == operand.get()) {
        return isa<arith::AddIOp, arith::MulIOp, arith::AddFOp, arith::SubFOp, arith::MulFOp,
                   arith::DivFOp, math::FmaOp>(op);
      }
      if (!isConstant(other.get())) {
        return true;
      }
      if (isSelect) {
        return operand.getOperandNumber() == 0 || other.getOperandNumber() != 0;
      }
      // A constant decides no sum, no test for equality and, of floats, nothing that keeps NaN.
      if (isa<arith::AddIOp, arith::SubIOp>(op)) {
        return true;
      }
      if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
        return compare.getPredicate() <= arith::CmpIPredicate::sge && !isExtreme(other.get());
      }
      if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::CmpFOp,
              arith::MaximumFOp, arith::MinimumFOp, math::FmaOp>(op)) {
        return true;
      }
      return isa<arith::MulIOp, arith::AndIOp, arith::OrIOp, arith::MaxSIOp, arith::MinSIOp>(op) &&
             !isExtreme(other.get());
    });
  }

  /// Whether the value depends on nothing that a call gives.
  bool isConstant(Value value) {
    auto [known, isNew] = constants.try_emplace(value, false);
    if (!isNew) {
      return known->second;
    }
    Operation *def = value.getDefiningOp();
    bool is = def && isMemoryEffectFree(def) && !isa<IotaOp, AtenOp>(def) &&
              llvm::all_of(def->getOperands(), [&](Value operand) { return isConstant(operand); });
    return constants[value] = is;
  }

  /// Whether a constant may be 0, -1 or a limit of its type: what is not a plain number may be.
  static bool isExtreme(Value value) {
    std::optional<APInt> number = getRepeatedInteger(value);
    return !number || number->isZero() || number->isAllOnes() || number->isMaxSignedValue() ||
           number->isMinSignedValue();
  }

  /// Whether the map's bounds only say where the operand begins and ends.
  static bool boundsAreOperand(ReindexOp reindex) {
    MapAttr map = reindex.getMap();
    SmallVector<SizeExpr> sizes = getSizes(tensorType(reindex.getOperand()));
    return llvm::all_of(
        llvm::zip_equal(map.getBoundExprs(), map.getBoundLows(), map.getBoundHighs()),
        [&](auto bound) {
          auto [at, low, high] = bound;
          return llvm::any_of(llvm::zip_equal(map.getResults(), sizes), [&](auto own) {
            auto [result, size] = own;
            return at == result && SizeExpr(low).isConstant(0) && SizeExpr(high) == size;
          });
        });
  }

  SizeFacts facts;
  llvm::DenseSet<Value> complete;
  llvm::DenseSet<Operation *> needed;
  llvm::DenseMap<Value, bool> constants;
};

namespace {
struct RequireErrorsPass : frit::impl::RequireErrorsPassBase<RequireErrorsPass> {
  using RequireErrorsPassBase::RequireErrorsPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> raising;
    for (Operation &op : getOperation().getBody().front()) {
      if (mayRaise(&op) && !(gpu && !isa<GatherOp>(op))) {
        raising.push_back(&op);
      }
    }
    if (raising.empty()) {
      return;
    }
    Block &block = getOperation().getBody().front();
    Operation *lastEffect = nullptr;
    for (Operation &op : block) {
      lastEffect = isIrreversible(&op) ? &op : lastEffect;
    }
    Completeness completeness(getOperation());
    for (Operation *op : raising) {
      bool isOrdered = !gpu && lastEffect && op->isBeforeInBlock(lastEffect);
      if (isOrdered || !completeness.isComplete(op->getResult(0))) {
        require(op, completeness, isOrdered);
        ++numRequired;
      }
    }
  }

private:
  /// A reduction reads every element, and of its one result `frit.require` has the need. `early`:
  /// it is required as early as it can be known.
  static void require(Operation *op, const Completeness &completeness, bool early) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    auto gather = dyn_cast<GatherOp>(op);
    if (!gather) {
      if (early) {
        moveUp(builder, op->getResult(0), op);
      }
      requireAll(builder, op->getResult(0), ReduceKind::Max);
      return;
    }
    // The indices alone, without what they address.
    for (auto [k, index] : llvm::enumerate(gather.getIndices())) {
      Value known = stripped(index, completeness);
      if (early) {
        moveUp(builder, known, op);
      }
      requireAll(builder, checkedAlone(builder, gather, k, known), ReduceKind::Sum);
    }
  }

  /// Moves the insertion point to where `value` can be known, not above sizes that something before
  /// `reader` binds. The computations of `value` that nothing holds back move along.
  static void moveUp(OpBuilder &builder, Value value, Operation *reader) {
    Operation *anchor = nullptr;
    auto holdBack = [&](Operation *op) {
      anchor = !anchor || anchor->isBeforeInBlock(op) ? op : anchor;
    };
    for (auto bind : reader->getBlock()->getOps<BindOp>()) {
      if (bind->isBeforeInBlock(reader)) {
        holdBack(bind);
      }
    }
    llvm::SmallSetVector<Operation *, 8> movable;
    auto visit = [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      // Of longer computations only the end moves.
      if (def && (!isMemoryEffectFree(def) || isa<AtenOp>(def) || movable.size() >= 64)) {
        holdBack(def);
      } else if (def) {
        movable.insert(def);
      }
    };
    visit(value);
    for (size_t at = 0; at < movable.size(); ++at) {
      llvm::for_each(movable[at]->getOperands(), visit);
    }
    SmallVector<Operation *> inOrder(movable.begin(), movable.end());
    llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (Operation *op : inOrder) {
      if (anchor && op->isBeforeInBlock(anchor)) {
        continue;
      }
      if (anchor) {
        op->moveAfter(anchor);
      } else {
        op->moveBefore(op->getBlock(), op->getBlock()->begin());
      }
      anchor = op;
    }
    if (anchor) {
      builder.setInsertionPointAfter(anchor);
    } else {
      builder.setInsertionPointToStart(reader->getBlock());
    }
  }

  static void requireAll(OpBuilder &builder, Value value, ReduceKind kind) {
    Location loc = value.getLoc();
    auto type = tensorType(value);
    if (type.getRank() > 0) {
      auto scalar = RankedTensorType::get({}, type.getElementType());
      auto reduce = ReduceOp::create(builder, loc, scalar, kind, value,
                                     llvm::to_vector(llvm::seq<int64_t>(type.getRank())),
                                     /*is_unsigned=*/false, /*across=*/false);
      value = reduce.getResult();
    }
    RequireOp::create(builder, loc, value);
  }

  /// The index before views of the same values: it is repeated along dims that are not empty, or
  /// its dims change their order.
  static Value stripped(Value index, const Completeness &completeness) {
    auto view = index.getDefiningOp<ReindexOp>();
    while (view && !view.getMap().hasBounds() && completeness.covers(view)) {
      index = view.getOperand();
      view = index.getDefiningOp<ReindexOp>();
    }
    return index;
  }

  /// The index, read from 0, 1, 2, .. with the check of the gather.
  static Value checkedAlone(OpBuilder &builder, GatherOp gather, unsigned k, Value index) {
    MLIRContext *context = builder.getContext();
    SizeExpr value = SizeExpr::value(context, k);
    ArrayRef<SizeAttr> results = gather.getMap().getResults();
    size_t dim =
        llvm::find_if(results, [&](SizeAttr result) { return SizeExpr(result) == value; }) -
        results.begin();
    SizeExpr extent = getSizes(tensorType(gather.getSource()))[dim];
    auto counting =
        IotaOp::create(builder, gather.getLoc(), getTensorType({extent}, builder.getI64Type()),
                       SizeAttr(SizeExpr::dim(context, 0)));
    SmallVector<SizeAttr> first = {SizeExpr::value(context, 0)};
    auto map = MapAttr::get(context, tensorType(index).getRank(), 1, first, {}, {}, {});
    auto checked = GatherOp::create(builder, gather.getLoc(), index.getType(), counting.getResult(),
                                    ValueRange{index}, map, gather.getCheck());
    checked.setRaisesAttr(gather.getRaisesAttr());
    checked.setDimension(gather.getDimension().value_or(dim));
    return checked.getResult();
  }
};
} // namespace
