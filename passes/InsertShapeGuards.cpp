// Records what a graph and the kernels of its regions assume about sizes and memory.
#include "ir/FritAttributes.h"
#include "ir/SourceLines.h"
#include "passes/Layouts.h"
#include "passes/Passes.h"
#include "passes/ShapeGuards.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "frit-insert-shape-guards"

namespace mlir::frit {
#define GEN_PASS_DEF_INSERTSHAPEGUARDSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

/// The most pairs of a written argument and another one that are listed. The executor checks that
/// all written arguments are disjoint from all others, listed or not.
static constexpr size_t kMostPairs = 64;

namespace {
struct InsertShapeGuardsPass : frit::impl::InsertShapeGuardsPassBase<InsertShapeGuardsPass> {
  using frit::impl::InsertShapeGuardsPassBase<InsertShapeGuardsPass>::InsertShapeGuardsPassBase;

  void runOnOperation() override {
    graph = getOperation();
    context = &getContext();
    if (target != "gpu" && target != "cpu") {
      graph.emitError("unknown guard target '") << target << "': expected cpu or gpu";
      return signalPassFailure();
    }
    facts.emplace(graph.getSizeFacts());
    Block &body = graph.getBody().front();
    SmallVector<Operation *> operations;
    for (Operation &op : body) {
      operations.push_back(&op);
    }
    builder.emplace(OpBuilder::atBlockBegin(&body));
    for (BlockArgument argument : body.getArguments()) {
      describeArgument(argument);
    }
    separateArguments(body);
    for (Operation *op : operations) {
      builder->setInsertionPoint(op);
      assumeSizes(op);
      if (auto region = dyn_cast<RegionOp>(op)) {
        for (Operation &inner : region.getBody().front()) {
          assumeSizes(&inner);
        }
        if (target == "gpu") {
          proposeNarrowIndices(region);
        }
      }
    }
  }

private:
  SizeExpr constant(int64_t value) { return SizeExpr::constant(context, value); }

  void guard(Location loc, GuardKind kind, ArrayRef<int64_t> operands, ArrayRef<SizeAttr> sizes,
             StringRef origin) {
    auto assumption = AssumptionAttr::get(context, kind, operands, sizes, origin);
    LDBG() << "the graph is guarded by " << assumption;
    GuardOp::create(*builder, loc, assumption);
    ++guards;
  }

  //===--- arguments ------------------------------------------------------===//

  /// The first operation that reads an argument, inside of regions too.
  static Operation *firstReader(BlockArgument argument) {
    Operation *first = nullptr;
    for (Operation *user : argument.getUsers()) {
      if (!first || user->isBeforeInBlock(first)) {
        first = user;
      }
    }
    if (auto region = dyn_cast_or_null<RegionOp>(first)) {
      for (auto [operand, inner] :
           llvm::zip_equal(region.getOperands(), region.getBody().getArguments())) {
        if (operand == argument && !inner.use_empty()) {
          Operation *reader = *inner.user_begin();
          while (isView(reader) && reader->hasOneUse()) {
            reader = *reader->user_begin();
          }
          return reader;
        }
      }
    }
    return first;
  }

  void describeArgument(BlockArgument argument) {
    unsigned number = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    Operation *reader = firstReader(argument);
    if (!type || !reader || isa<ReturnOp>(reader) || kArgumentConstantAttr.isOn(graph, number)) {
      return;
    }
    std::string origin = originOf(reader);
    kArgumentOriginAttr.set(graph, number, StringAttr::get(context, origin));
    // ATen takes any strides, so arguments that only it reads need no guard.
    bool onlyCalled = llvm::all_of(argument.getUsers(),
                                   [](Operation *user) { return isa<AtenOp, ReturnOp>(user); });
    if (type.getRank() && !onlyCalled) {
      LayoutAttr layout = getArgumentLayout(graph, number);
      guard(reader->getLoc(), GuardKind::Strides, {number}, layout.getStrides(), origin);
    }
  }

  /// An argument that is written in place must not overlap any other that is read.
  void separateArguments(Block &body) {
    llvm::MapVector<BlockArgument, Operation *> written = getWrittenArguments(body);
    SmallVector<std::pair<BlockArgument, BlockArgument>> pairs;
    for (auto [argument, writer] : written) {
      for (BlockArgument other : body.getArguments()) {
        bool counted = written.contains(other) && other.getArgNumber() < argument.getArgNumber();
        if (other != argument && !counted && !other.use_empty() &&
            isa<RankedTensorType>(other.getType())) {
          pairs.push_back({argument, other});
        }
      }
      if (pairs.size() > kMostPairs) {
        return;
      }
    }
    for (auto [argument, other] : pairs) {
      Operation *writer = written.lookup(argument);
      guard(writer->getLoc(), GuardKind::Disjoint, {argument.getArgNumber(), other.getArgNumber()},
            {}, originOf(writer));
    }
  }

  //===--- sizes ----------------------------------------------------------===//

  void assumeSizes(Operation *op) {
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      assumeEqual(op, getNumElements(cast<RankedTensorType>(reshape.getOperand().getType())),
                  getNumElements(cast<RankedTensorType>(reshape.getType())));
    } else if (auto concat = dyn_cast<ConcatOp>(op)) {
      SizeExpr sum = constant(0);
      for (Value piece : concat.getOperands()) {
        sum = sum + getSizes(cast<RankedTensorType>(piece.getType()))[concat.getDim()];
      }
      assumeEqual(op, sum, getSizes(cast<RankedTensorType>(concat.getType()))[concat.getDim()]);
    } else if (auto reindex = dyn_cast<ReindexOp>(op); reindex && !reindex.getMap().hasBounds()) {
      assumeInside(reindex);
    }
  }

  void assumeEqual(Operation *op, SizeExpr a, SizeExpr b) {
    if (facts->simplify(a - b) != constant(0)) {
      guard(op->getLoc(), GuardKind::Equal, {}, {a.getAttr(), b.getAttr()}, originOf(op));
    }
  }

  /// The least and the greatest value of `index` over nonempty `sizes`; nullopt if the sign of a
  /// step is not known.
  std::optional<std::pair<SizeExpr, SizeExpr>> endsOf(SizeExpr index, ArrayRef<SizeExpr> sizes) {
    SizeExpr least = index, most = index;
    for (auto [dim, extent] : llvm::enumerate(sizes)) {
      SizeSymbolAttr symbol = SizeSymbolAttr::dim(context, dim);
      auto high = most.splitLinear(symbol), low = least.splitLinear(symbol);
      if (!high || !low) {
        return std::nullopt;
      }
      bool rises = facts->provablyNonNegative(high->first);
      if (!rises && !facts->provablyNonNegative(-high->first)) {
        return std::nullopt;
      }
      most = rises ? high->second + high->first * (extent - 1) : high->second;
      least = rises ? low->second : low->second + low->first * (extent - 1);
    }
    return std::pair(least, most);
  }

  /// Checks that every index of a view lies within its operand. Ranges prove most; the rest becomes
  /// a guard on the last index.
  void assumeInside(ReindexOp view) {
    auto from = cast<RankedTensorType>(view.getOperand().getType());
    if (from.hasStaticShape() && cast<RankedTensorType>(view.getType()).hasStaticShape()) {
      return;
    }
    SmallVector<SizeExpr> sizes = getSizes(cast<RankedTensorType>(view.getType()));
    SizeFacts indices = *facts;
    for (auto [dim, size] : llvm::enumerate(sizes)) {
      auto least = facts->lowerBound(size);
      if (!least || *least < 1) {
        return; // an empty view reads nothing
      }
      indices.setExtent(SizeSymbolAttr::dim(context, dim), size);
    }
    for (auto [index, size] : llvm::zip_equal(view.getMap().getResults(), getSizes(from))) {
      auto ends = endsOf(index, sizes);
      if (!ends) {
        return;
      }
      auto [least, most] = *ends;
      bool above = indices.provablyLess(index, size) || facts->provablyLess(most, size);
      bool below = indices.provablyNonNegative(index) || facts->provablyNonNegative(least);
      auto inside = [&](SizeExpr value) {
        SizeAttr range[] = {value, constant(0), size - 1};
        guard(view.getLoc(), GuardKind::Range, {}, range, originOf(view));
      };
      if (!above) {
        inside(most);
      }
      if (!below && least != most) {
        inside(least);
      }
    }
  }

  //===--- variants -------------------------------------------------------===//

  /// The distance in memory from the first to the last element, plus one, in elements.
  SizeExpr spanOf(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    LayoutAttr layout = getAssignedLayout(value);
    if (layout.getStrides() == getContiguousLayout(type).getStrides()) {
      return getNumElements(type);
    }
    SizeExpr last = constant(1);
    for (auto [size, stride] : llvm::zip_equal(getSizes(type), layout.getStrides())) {
      last = last + (size - 1) * SizeExpr(stride);
    }
    return last;
  }

  /// Proposes a variant with 32-bit indices: a GPU divides 32-bit numbers three times as fast as
  /// 64-bit ones, and addresses take half the registers. Half of the range is left to sizes that
  /// are rounded up to whole blocks.
  void proposeNarrowIndices(RegionOp region) {
    ScheduleAttr schedule = region.getScheduleAttr();
    // A kernel over a list counts only within a block's share.
    if (!schedule || region.getGroup()) {
      return;
    }
    SmallVector<SizeExpr> extents = {
        product(context, SmallVector<SizeExpr>(schedule.getDomain().getSizes()))};
    auto span = [&](Value value) {
      if (isa<RankedTensorType>(value.getType())) {
        extents.push_back(spanOf(value));
      }
    };
    llvm::for_each(region.getOperands(), span);
    llvm::for_each(region.getResults(), span);
    // An iota with a step reaches beyond the size of any tensor.
    for (auto iota : region.getBody().getOps<IotaOp>()) {
      if (auto ends = endsOf(iota.getExpr(), getSizes(cast<RankedTensorType>(iota.getType())))) {
        extents.push_back(ends->second);
      }
    }
    for (auto random : region.getBody().getOps<RandomOp>()) {
      extents.push_back(getNumElements(cast<RankedTensorType>(random.getType())));
    }
    std::string origin = originOf(region);
    SmallVector<AssumptionAttr> assumptions;
    for (SizeExpr extent : extents) {
      SizeAttr doubled = extent * 2;
      bool known = llvm::any_of(assumptions,
                                [&](AssumptionAttr one) { return one.getSizes()[0] == doubled; });
      auto most = facts->upperBound(doubled);
      if (!known && !(most && *most < int64_t(1) << 31)) {
        assumptions.push_back(
            AssumptionAttr::get(context, GuardKind::Index32, {}, doubled, origin));
      }
    }
    if (!assumptions.empty()) {
      LDBG() << region.getLoc() << " has a variant with 32-bit indices under " << assumptions.size()
             << " assumptions";
      region.setVariantsAttr(builder->getArrayAttr({VariantAttr::get(context, assumptions)}));
      ++variants;
    }
  }

  GraphOp graph;
  MLIRContext *context = nullptr;
  std::optional<SizeFacts> facts;
  std::optional<OpBuilder> builder;
};
} // namespace
