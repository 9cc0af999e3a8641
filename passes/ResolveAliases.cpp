// Records where the program can observe that two tensors share storage, while the graph still says
// which operators allocate and which return views. Later passes see only values: `x * 1` becomes
// `x`, a slice of a sum is computed beside the sum, a copy in front of a view folds away. None of
// this changes a value, but all of it would change what shares memory with what.
#include "ir/FritAttributes.h"
#include "passes/AtenAliases.h"
#include "passes/Layouts.h"
#include "passes/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::frit {
#define GEN_PASS_DEF_RESOLVEALIASESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

/// Whether a dimension repeats elements (stride 0).
static bool overlaps(LayoutAttr layout, RankedTensorType type) {
  return llvm::any_of(llvm::zip(getSizes(type), layout.getStrides()), [](auto dim) {
    return SizeExpr(std::get<1>(dim)).isConstant(0) && !std::get<0>(dim).isConstant(1);
  });
}

/// Whether elements of the storage that the call copies are known to overlap although no dimension
/// has stride 0. In the copy they are separate.
static bool sharesPlaces(AtenOp op) {
  ArrayAttr layouts = op.getOperandLayoutsAttr();
  auto layout = layouts ? dyn_cast<LayoutAttr>(layouts[0]) : LayoutAttr();
  auto type = cast<RankedTensorType>(op.getOperand(0).getType());
  if (!layout || overlaps(layout, type)) {
    return false;
  }
  std::optional<StorageSpan> span = getStorageSpan(layout, type);
  return span && span->overlaps;
}

namespace {
struct ResolveAliasesPass : frit::impl::ResolveAliasesPassBase<ResolveAliasesPass> {
  using ResolveAliasesPassBase::ResolveAliasesPassBase;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    TracedPlaces places(graph);
    for (AtenOp op : llvm::make_early_inc_range(graph.getBody().front().getOps<AtenOp>())) {
      places.add(op);
      if (Value copied = copiesStorageOf(op); copied && sharesPlaces(op)) {
        op.setReason("its elements share places, so that a write of one writes others");
        keepStorage(copied);
      }
      if (op.getOpName() == "aten.as_strided.default") {
        resolveStrided(op, places);
      } else if (op.getOpName() == "aten.as_strided_scatter.default") {
        resolveScatter(op, places);
      }
    }
    resolveResults(graph, places);
  }

  /// The root of the storage of a call's first operand, if both have one dtype, so that the call
  /// counts in the root's elements; nullopt if it is not known.
  static std::optional<Place> rootOf(AtenOp op, const TracedPlaces &places) {
    std::optional<Place> place = places.find(op.getOperand(0));
    std::optional<Place> root = place ? places.find(place->root) : std::nullopt;
    return root && root->dtype == place->dtype && op.getOperandLayouts() ? root : std::nullopt;
  }

  /// Lets the call read `root` instead of a view of it, and makes its offset, argument `position`,
  /// explicit.
  static void readRoot(AtenOp op, const Place &root, unsigned position, SizeExpr offset) {
    MLIRContext *context = op.getContext();
    SmallVector<Attribute> arguments(op.getArguments().getValue()),
        layouts(op.getOperandLayouts()->getValue());
    op.setOperand(0, root.root);
    layouts[0] = root.layout;
    if (isa<UnitAttr>(arguments[position])) {
      if (auto known = offset.getConstant()) {
        arguments[position] = IntegerAttr::get(IntegerType::get(context, 64), *known);
      } else {
        OpBuilder builder(op);
        SmallVector<Attribute> dtypes(op.getOperandDtypes().getValue());
        arguments[position] = OperandAttr::get(context, op.getNumOperands());
        Value size = SizeOp::create(builder, op.getLoc(), builder.getI64Type(), offset.getAttr());
        op->insertOperands(op.getNumOperands(), size);
        dtypes.push_back(DTypeAttr::get(context, DType::I64));
        layouts.push_back(UnitAttr::get(context));
        op.setOperandDtypesAttr(ArrayAttr::get(context, dtypes));
      }
    }
    op.setArgumentsAttr(ArrayAttr::get(context, arguments));
    op.setOperandLayoutsAttr(ArrayAttr::get(context, layouts));
  }

  /// Whether eager's tensor behind `root` fills a storage of its own: it is new, or a clone of such
  /// a tensor.
  static bool fillsStorage(Value root, const TracedPlaces &places) {
    while (auto op = root.getDefiningOp<AtenOp>()) {
      Value copied = copiesStorageOf(op);
      if (!copied) {
        return true;
      }
      std::optional<Place> place = places.find(copied);
      if (!place || place->root != copied) {
        return false;
      }
      root = copied;
    }
    return false;
  }

  /// Only eager's tensors have the memory around a value in its storage. So ATen makes the clones
  /// and views that lead to this value, back to the argument or the new tensor from which they
  /// start.
  static void keepStorage(Value value) {
    while (auto op = value.getDefiningOp<AtenOp>()) {
      Access access = getAccess(op);
      Value copied = copiesStorageOf(op);
      if (!copied && (!access.views || !access.writes.empty())) {
        return;
      }
      op.setReason("as_strided reads the whole storage behind its result");
      value = copied ? copied : op.getOperand(*access.views);
    }
  }

  /// A conjugate or negative bit belongs to the tensor, not to its value. So ATen makes the views
  /// that lead to a result with such a bit: an equal value without a bit must not replace them. Nor
  /// must the value of another result, which has its own memory: the copy would have no bit.
  static void keepLazyViews(Value value, StorageAttr storage) {
    SmallVector<AtenOp> views;
    bool isLazy = false;
    while (auto op = value.getDefiningOp<AtenOp>()) {
      Access access = getAccess(op);
      if (!access.views || !access.writes.empty()) {
        break;
      }
      isLazy |= isLazyView(op);
      views.push_back(op);
      value = op.getOperand(*access.views);
    }
    if (!isLazy) {
      return;
    }
    bool isFresh = storage && storage.getKind() == StorageKind::Fresh;
    if (auto root = value.getDefiningOp<AtenOp>(); root && isFresh) {
      views.push_back(root);
    }
    for (AtenOp op : views) {
      op.setReason("its result has a lazy conjugate or negative bit");
      if (isFresh) {
        kLazyInAttr.set(op, storage);
      }
    }
  }

  /// `as_strided` counts from the start of the storage, whatever view it is called on.
  void resolveStrided(AtenOp op, TracedPlaces &places) {
    std::optional<Place> root = rootOf(op, places), place = places.find(op.getResult(0));
    if (!root || !place || !(isa<BlockArgument>(root->root) || fillsStorage(root->root, places))) {
      keepStorage(op.getOperand(0));
      places.forget(op.getResult(0));
      return;
    }
    if (!isa<BlockArgument>(root->root)) {
      readRoot(op, *root, /*position=*/3, place->layout.getOffset());
      op.setPlaced(true);
    } else if (!isa<UnitAttr>(op.getArguments()[3])) {
      // Where the caller's tensor begins in its storage is known only at the call, so the result
      // has no known place relative to it.
      readRoot(op, *root, /*position=*/3, place->layout.getOffset());
      places.forget(op.getResult(0));
    } else if (op.getOperand(0) != root->root) {
      OpBuilder builder(op);
      auto type = cast<RankedTensorType>(op.getResult(0).getType());
      Value alias = createAlias(builder, op.getLoc(), *root, *place, type);
      op.getResult(0).replaceAllUsesWith(alias);
      places.note(alias, *place);
      op.erase();
    } else {
      return;
    }
    ++numRoots;
  }

  /// `as_strided_scatter` counts from the start of the storage too: the new value of a view is a
  /// view of the new value of the storage.
  void resolveScatter(AtenOp op, TracedPlaces &places) {
    std::optional<Place> root = rootOf(op, places), place = places.find(op.getOperand(0));
    if (!root || !(isa<BlockArgument>(root->root) || fillsStorage(root->root, places))) {
      return keepStorage(op.getOperand(0));
    }
    if (isa<BlockArgument>(root->root) && isa<UnitAttr>(op.getArguments()[4])) {
      return;
    }
    Value viewed = op.getOperand(0), result = op.getResult(0);
    readRoot(op, *root, /*position=*/4, place->layout.getOffset());
    if (!isa<BlockArgument>(root->root)) {
      op.setPlaced(true);
    }
    ++numRoots;
    if (viewed == root->root) {
      return;
    }
    // The whole storage after the write, and the view of it.
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    auto type = cast<RankedTensorType>(result.getType());
    result.setType(root->root.getType());
    op.setResultLayoutsAttr(builder.getArrayAttr({root->layout}));
    places.add(op);
    Value view =
        createAlias(builder, op.getLoc(), {result, root->layout, root->dtype}, *place, type);
    result.replaceAllUsesExcept(view, view.getDefiningOp());
    places.note(view, {result, place->layout, place->dtype});
  }

  /// Results in the storage of an argument become aliases of the argument. Results that share
  /// storage become aliases of it, and so does a result that has gaps or overlaps itself.
  void resolveResults(GraphOp graph, const TracedPlaces &places) {
    auto op = cast<ReturnOp>(graph.getBody().front().getTerminator());
    OpBuilder builder(op);
    llvm::MapVector<Attribute, SmallVector<OpOperand *>> fresh;
    for (OpOperand &use : op->getOpOperands()) {
      unsigned number = use.getOperandNumber();
      auto storage = kResultStorageAttr.get(graph, number);
      // The user cannot observe what only the backward reads. Overlapping elements still need an
      // alias, as a copy never has them.
      auto layout = kResultLayoutAttr.get(graph, number);
      bool isKept = firstKept >= 0 && number >= firstKept;
      keepLazyViews(use.get(), storage);
      if (!storage ||
          (isKept && (!layout || !overlaps(layout, cast<RankedTensorType>(use.get().getType()))))) {
        continue;
      }
      if (storage.getKind() == StorageKind::Fresh) {
        fresh[storage].push_back(&use);
      } else if (auto place = places.find(use.get());
                 place && place->root != use.get() && isa<BlockArgument>(place->root)) {
        look(builder, use, places);
      }
    }
    for (auto &[storage, uses] : fresh) {
      llvm::SmallSetVector<Value, 4> values, roots;
      for (OpOperand *use : uses) {
        std::optional<Place> place = places.find(use->get());
        values.insert(use->get());
        roots.insert(place ? place->root : Value());
      }
      if (roots.size() != 1 || !roots[0] || isa<BlockArgument>(roots[0])) {
        continue;
      }
      for (OpOperand *use : uses) {
        auto type = cast<RankedTensorType>(use->get().getType());
        if (use->get() != roots[0] &&
            (values.size() > 1 || !isDense(places.find(use->get())->layout, type))) {
          look(builder, *use, places);
        }
      }
    }
  }

  void look(OpBuilder &builder, OpOperand &use, const TracedPlaces &places) {
    Place place = *places.find(use.get()), root = *places.find(place.root);
    auto type = cast<RankedTensorType>(use.get().getType());
    if (Value alias = createAlias(builder, use.get().getLoc(), root, place, type)) {
      use.set(alias);
      ++numAliases;
    }
  }
};
} // namespace
