// Gives every tensor outside of regions strides and an offset, and inserts a copying region where
// strides alone cannot satisfy a reader's demand.
#include "ir/FritAttributes.h"
#include "passes/AtenAliases.h"
#include "passes/Copies.h"
#include "passes/Layouts.h"
#include "passes/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "frit-assign-layouts"

namespace mlir::frit {
#define GEN_PASS_DEF_ASSIGNLAYOUTSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
struct AssignLayoutsPass : frit::impl::AssignLayoutsPassBase<AssignLayoutsPass> {
  using AssignLayoutsPassBase::AssignLayoutsPassBase;

  llvm::DenseMap<Value, LayoutAttr> layouts;
  /// The value that owns the storage of another one; a value that is not a view owns its own.
  llvm::DenseMap<Value, Value> bases;
  llvm::DenseMap<std::pair<Value, LayoutAttr>, Value> copiesMade;
  /// What each copy is a copy of.
  llvm::DenseMap<Value, Value> copiedFrom;
  /// The same as the statistic `copies`, which may be compiled out.
  int64_t numCopies = 0;
  /// Stores whose value a call has written into the argument already.
  SmallVector<StoreOp> doneStores;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    numCopies = 0;
    layouts.clear();
    bases.clear();
    copiesMade.clear();
    copiedFrom.clear();
    doneStores.clear();
    for (auto [i, argument] : llvm::enumerate(graph.getBody().getArguments())) {
      if (isa<RankedTensorType>(argument.getType())) {
        layouts[argument] = getArgumentLayout(graph, i);
        bases[argument] = argument;
      }
    }
    for (Operation &op : llvm::make_early_inc_range(graph.getBody().front())) {
      if (isa<ReturnOp>(op)) {
        promiseKeptResults(graph, cast<ReturnOp>(op));
        separateResults(graph, cast<ReturnOp>(op));
      }
      meetDemands(&op);
      if (auto call = dyn_cast<AtenOp>(op)) {
        ownMutatedOperands(call);
      }
      assign(&op);
    }
    for (StoreOp store : doneStores) {
      store.setInPlace(true);
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(graph.getBody().front()))) {
      if (isLook(&op) && op.use_empty()) {
        op.erase();
      }
    }
    // For the report: how many kernels only change strides.
    if (numCopies > 0) {
      kCopiesAttr.set(graph, IntegerAttr::get(IntegerType::get(&getContext(), 64), numCopies));
    }
  }

  /// Assigns layouts to an operation's results.
  void assign(Operation *op) {
    if (auto region = dyn_cast<RegionOp>(op)) {
      return assignRegion(region);
    }
    if (isView(op)) {
      Value base = op->getOperand(0);
      std::optional<LayoutAttr> layout = getViewLayout(op, layouts.lookup(base));
      if (!layout) {
        materialise(op);
        return;
      }
      setLayout(op->getResult(0), *layout, bases.lookup(base));
    } else if (auto alias = dyn_cast<AliasOp>(op)) {
      setLayout(alias, layoutOfAlias(alias), bases.lookup(alias.getBase()));
    } else {
      for (OpResult result : op->getResults()) {
        if (Value operand = getMutatedOperand(result)) {
          setLayout(result, layouts.lookup(operand), bases.lookup(operand));
        } else if (isa<RankedTensorType>(result.getType())) {
          Value viewed = getViewedOperand(result);
          setLayout(result, getCallResultLayout(op, result.getResultNumber()),
                    viewed ? bases.lookup(viewed) : result);
        }
      }
    }
    annotate(op);
  }

  /// The operand whose storage an operator's result shares, as far as its schema and the trace
  /// tell.
  static Value getViewedOperand(OpResult result) {
    auto call = dyn_cast<AtenOp>(result.getOwner());
    ArrayAttr storage = call ? call.getResultStorageAttr() : ArrayAttr();
    if (!storage) {
      return {};
    }
    auto known = dyn_cast<StorageAttr>(storage[result.getResultNumber()]);
    std::optional<unsigned> viewed = getAccess(call).views;
    bool isOwn = known && known.getKind() == StorageKind::Fresh;
    return viewed && !isOwn && isa<RankedTensorType>(call.getOperand(*viewed).getType())
               ? call.getOperand(*viewed)
               : Value();
  }

  /// The layout of an alias; its offset counts from where the base begins.
  LayoutAttr layoutOfAlias(AliasOp alias) {
    SizeExpr start = layouts.lookup(alias.getBase()).getOffset();
    int64_t from = getStoredBytes(alias.getBase().getType()), to = getStoredBytes(alias.getType());
    // meetDemands has made sure that a base with other element sizes begins at 0.
    SizeExpr offset = SizeExpr(alias.getLayout().getOffset()) + (from == to ? start : start * 0);
    return LayoutAttr::get(&getContext(), alias.getLayout().getStrides(), offset);
  }

  void setLayout(Value value, LayoutAttr layout, Value base) {
    layouts[value] = layout;
    bases[value] = base;
  }

  void annotate(Operation *op) {
    SmallVector<Attribute> all;
    for (Value result : op->getResults()) {
      if (isa<RankedTensorType>(result.getType())) {
        all.push_back(layouts.lookup(result));
      }
    }
    if (!all.empty()) {
      kLayoutsAttr.set(op, ArrayAttr::get(&getContext(), all));
    }
  }

  /// Gives a region's results the layouts that their strictest direct readers demand.
  void assignRegion(RegionOp region) {
    SmallVector<Attribute> all;
    bool given = false;
    for (OpResult result : region.getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      LayoutAttr chosen = getContiguousLayout(type);
      if (isChannelsLastInAndOut(region, result)) {
        chosen = getChannelsLastLayout(type);
        given = true;
      }
      for (OpOperand &use : result.getUses()) {
        LayoutDemand demand = getLayoutDemand(use);
        if (demand.kind == DemandKind::Exact && demand.layout != chosen &&
            isDense(demand.layout, type)) {
          chosen = LayoutAttr::get(&getContext(), demand.layout.getStrides(),
                                   SizeExpr::constant(&getContext(), 0));
          given = chosen != getContiguousLayout(type);
          break;
        }
      }
      if (ArrayAttr old = region.getResultLayoutsAttr()) {
        chosen = cast<LayoutAttr>(old[result.getResultNumber()]);
        given = true;
      }
      setLayout(result, chosen, result);
      all.push_back(chosen);
    }
    if (given) {
      region.setResultLayoutsAttr(ArrayAttr::get(&getContext(), all));
    }
    annotate(region);
  }

  /// Whether a region without demanding readers keeps the channels-last order of its operands.
  bool isChannelsLastInAndOut(RegionOp region, OpResult result) {
    auto type = cast<RankedTensorType>(result.getType());
    if (type.getRank() != 4) {
      return false;
    }
    LayoutAttr order = getChannelsLastLayout(type);
    bool reads = llvm::any_of(region.getOperands(), [&](Value operand) {
      auto from = dyn_cast<RankedTensorType>(operand.getType());
      return from && getSizes(from) == getSizes(type) && layouts.lookup(operand) == order;
    });
    return reads && llvm::all_of(result.getUses(), [](OpOperand &use) {
             return !isView(use.getOwner()) && getLayoutDemand(use).kind == DemandKind::Any;
           });
  }

  /// Results that only the backward graph reads promise the layout they have, if it is
  /// channels-last.
  void promiseKeptResults(GraphOp graph, ReturnOp op) {
    SmallVector<int64_t> relaid;
    for (OpOperand &use : op->getOpOperands()) {
      unsigned number = use.getOperandNumber();
      if (!kResultKeptAttr.remove(graph, number)) {
        continue;
      }
      auto type = cast<RankedTensorType>(use.get().getType());
      LayoutAttr layout = layouts.lookup(use.get());
      if (layout == getChannelsLastLayout(type) && layout != getContiguousLayout(type)) {
        kResultLayoutAttr.set(graph, number, layout);
        relaid.push_back(number);
      }
    }
    if (!relaid.empty()) {
      kChannelsLastResultsAttr.set(graph, DenseI64ArrayAttr::get(&getContext(), relaid));
    }
  }

  /// Copies operands whose layout the operation does not accept.
  void meetDemands(Operation *op) {
    for (OpOperand &use : op->getOpOperands()) {
      auto type = dyn_cast<RankedTensorType>(use.get().getType());
      if (!type || isView(op) || isa<RegionOp>(op)) {
        continue;
      }
      LayoutDemand demand = getLayoutDemand(use);
      LayoutAttr layout = layouts.lookup(use.get());
      if (satisfies(layout, type, demand) && startsRight(use, layout, demand)) {
        continue;
      }
      bool isWritable = demand.kind == DemandKind::Exact &&
                        (isDense(demand.layout, type) || readsStorage(use) || isViewed(use));
      use.set(copy(op, use.get(),
                   isWritable && !repeats(demand.layout, type) ? demand.layout
                                                               : getContiguousLayout(type)));
    }
  }

  /// Whether the operator's result is a view of the operand and therefore has its layout.
  static bool isViewed(OpOperand &use) {
    auto call = dyn_cast<AtenOp>(use.getOwner());
    return call && getAccess(call).views == use.getOperandNumber();
  }

  /// Whether the operation addresses the operand's storage, gaps included, instead of reading its
  /// elements.
  static bool readsStorage(OpOperand &use) {
    if (use.getOperandNumber() != 0) {
      return false;
    }
    auto call = dyn_cast<AtenOp>(use.getOwner());
    return isa<AliasOp>(use.getOwner()) ||
           (call && (call.getPlaced() || call.getOpName() == "aten.as_strided.default"));
  }

  /// Whether elements share memory: a dim of another size than 1 has stride 0.
  static bool repeats(LayoutAttr layout, RankedTensorType type) {
    return llvm::any_of(llvm::zip(layout.getStrides(), getSizes(type)), [](auto entry) {
      return SizeExpr(std::get<0>(entry)).isConstant(0) && !std::get<1>(entry).isConstant(1);
    });
  }

  /// Whether an operand whose storage is addressed begins where the operation counts from.
  bool startsRight(OpOperand &use, LayoutAttr layout, const LayoutDemand &demand) {
    if (!readsStorage(use)) {
      return true;
    }
    if (auto alias = dyn_cast<AliasOp>(use.getOwner())) {
      return getStoredBytes(use.get().getType()) == getStoredBytes(alias.getType()) ||
             SizeExpr(layout.getOffset()).isConstant(0);
    }
    if (isBorrowed(bases.lookup(use.get()))) {
      // Where an argument begins in the caller's storage is known only to ATen, at the call.
      auto call = dyn_cast<AtenOp>(use.getOwner());
      return !(call && call.getPlaced());
    }
    return demand.layout && layout.getOffset() == demand.layout.getOffset();
  }

  /// Whether the storage is not the graph's own: an argument's, or that of a call's result that may
  /// be a view of an operand.
  static bool isBorrowed(Value base) {
    auto call = base.getDefiningOp<AtenOp>();
    if (!call) {
      return isa<BlockArgument>(base);
    }
    ArrayAttr known = call.getResultStorageAttr();
    unsigned number = cast<OpResult>(base).getResultNumber();
    auto storage =
        known && number < known.size() ? dyn_cast<StorageAttr>(known[number]) : StorageAttr();
    return storage && storage.getKind() != StorageKind::Fresh;
  }

  /// A call that writes to an operand gets a tensor that nothing else reads afterwards: a value
  /// whose last use this is, the argument that the program wants written, or else a copy.
  void ownMutatedOperands(AtenOp call) {
    if (!call.getMutatedOperands()) {
      return;
    }
    ArrayRef<int64_t> mutated = *call.getMutatedOperands();
    size_t first = call->getNumResults() - mutated.size();
    for (auto [i, number] : llvm::enumerate(mutated)) {
      OpOperand &use = call->getOpOperand(number);
      auto type = dyn_cast<RankedTensorType>(use.get().getType());
      if (!type) {
        continue;
      }
      Value base = bases.lookup(use.get());
      StoreOp store;
      if (isa<BlockArgument>(base) && use.get() == base) {
        store = storeOf(call->getResult(first + i), base);
      }
      bool owned = inPlace && (store || (!isa<BlockArgument>(base) && isOwnStorage(base)));
      if (owned && isLastReader(call, number, base, store) && isWithoutRepeats(use.get())) {
        if (store) {
          doneStores.push_back(store);
        }
        // A copy that is written here no longer equals its source: later requests need another one.
        for (auto &[of, made] : copiesMade) {
          if (made && bases.lookup(made) == base) {
            made = Value();
          }
        }
        continue;
      }
      LayoutAttr layout = layouts.lookup(use.get());
      use.set(copy(call, use.get(), isDense(layout, type) ? layout : getContiguousLayout(type),
                   /*shared=*/false));
    }
  }

  /// Whether each element has a place of its own: nothing is repeated, but there may be gaps.
  bool isWithoutRepeats(Value value) {
    if (isDense(layouts.lookup(value), cast<RankedTensorType>(value.getType()))) {
      return true;
    }
    auto part = value.getDefiningOp<ReindexOp>();
    return part && isView(part) && part.getMap().getPermutation() &&
           isDense(layouts.lookup(part.getOperand()), part.getOperand().getType());
  }

  /// The store that writes `result` itself back to the argument.
  static StoreOp storeOf(Value result, Value argument) {
    for (Operation *user : result.getUsers()) {
      auto store = dyn_cast<StoreOp>(user);
      if (store && store.getValue() == result && store.getTarget() == argument) {
        return store;
      }
    }
    return {};
  }

  static bool isOwnStorage(Value base) {
    Operation *def = base.getDefiningOp();
    if (isa<RegionOp>(def)) {
      return true;
    }
    auto call = dyn_cast<AtenOp>(def);
    ArrayAttr storage = call ? call.getResultStorageAttr() : ArrayAttr();
    unsigned number = cast<OpResult>(base).getResultNumber();
    auto known =
        storage && number < storage.size() ? dyn_cast<StorageAttr>(storage[number]) : StorageAttr();
    return known && known.getKind() == StorageKind::Fresh;
  }

  /// Whether the call reads `base` through this operand alone and all later reads of it go through
  /// the call's result.
  static bool isLastReader(AtenOp call, unsigned operand, Value base, StoreOp store) {
    SmallVector<Value> aliases{base};
    while (!aliases.empty()) {
      for (OpOperand &use : aliases.pop_back_val().getUses()) {
        Operation *user = use.getOwner();
        if (user == call) {
          if (use.getOperandNumber() != operand) {
            return false;
          }
          continue;
        }
        if (user == store) {
          continue;
        }
        if (!user->isBeforeInBlock(call) || isa<StoreOp>(user)) {
          return false;
        }
        if (isLook(user)) {
          aliases.push_back(user->getResult(0));
        } else if (auto other = dyn_cast<AtenOp>(user)) {
          if (mayAliasOperands(other)) {
            return false;
          }
          for (OpResult result : other->getResults()) {
            if (getMutatedOperand(result) == use.get()) {
              aliases.push_back(result);
            }
          }
        }
      }
    }
    return true;
  }

  /// The insertion point for a copy of `value` while its storage still holds it: before the first
  /// later store to an argument, and before the producer of the stored value, which may write in
  /// place. Moves late views of `value` before the stores.
  static Operation *beforeWrites(ReturnOp op, Value value) {
    Operation *first = op;
    for (StoreOp store : op->getBlock()->getOps<StoreOp>()) {
      SmallVector<Operation *> late;
      Operation *made = value.getDefiningOp();
      for (; made && isLook(made) && !made->isBeforeInBlock(store);
           made = made->getOperand(0).getDefiningOp()) {
        late.push_back(made);
      }
      if (made && !made->isBeforeInBlock(store)) {
        continue;
      }
      for (Operation *view : llvm::reverse(late)) {
        view->moveBefore(store);
      }
      Operation *def = value.getDefiningOp();
      for (Operation *writer : {store.getOperation(), store.getValue().getDefiningOp()}) {
        if (writer && writer->isBeforeInBlock(first) && (!def || def->isBeforeInBlock(writer))) {
          first = writer;
        }
      }
    }
    return first;
  }

  /// What a copy is a copy of, or the value itself.
  Value originalOf(Value value) const {
    while (Value source = copiedFrom.lookup(value)) {
      value = source;
    }
    return value;
  }

  /// Results of distinct storage classes never share storage, and a fresh one never lies in
  /// borrowed or padded storage. Results of one class share theirs, so their base is copied once;
  /// also if it is stored to an argument, in whose storage it may be computed.
  void separateResults(GraphOp graph, ReturnOp op) {
    // Aliases of aliases, from the value itself down to what lies under them.
    auto aliasesOf = [](Value value) {
      SmallVector<AliasOp> aliases;
      while (auto alias = value.getDefiningOp<AliasOp>()) {
        aliases.push_back(alias);
        value = alias.getBase();
      }
      return aliases;
    };
    llvm::DenseMap<Value, Attribute> owners;
    // The one copy of a value in a storage class. Aliases of it decide how it lies.
    struct Copy {
      Value value;
      LayoutAttr layout;
    };
    llvm::DenseMap<std::pair<Attribute, Value>, Copy> made;
    auto freshStorageOf = [&](OpOperand &use) {
      auto storage = kResultStorageAttr.get(graph, use.getOperandNumber());
      bool isFresh = storage && storage.getKind() == StorageKind::Fresh;
      return isFresh && isa<RankedTensorType>(use.get().getType()) ? storage : StorageAttr();
    };
    llvm::SmallDenseSet<Value> stored;
    for (StoreOp store : op->getBlock()->getOps<StoreOp>()) {
      stored.insert(bases.lookup(store.getValue()));
    }
    llvm::SmallDenseMap<Attribute, unsigned> sharers;
    for (OpOperand &use : op->getOpOperands()) {
      ++sharers[freshStorageOf(use)];
    }
    for (OpOperand &use : op->getOpOperands()) {
      auto storage = freshStorageOf(use);
      SmallVector<AliasOp> aliases = aliasesOf(use.get());
      if (!storage || aliases.empty()) {
        continue;
      }
      Value base = aliases.back().getBase();
      auto type = cast<RankedTensorType>(base.getType());
      LayoutAttr demand = aliases.back().getBaseLayout();
      Copy &own = made[{storage, originalOf(base)}];
      own.layout = repeats(demand, type) ? getContiguousLayout(type) : demand;
      if (copiedFrom.contains(base) && owners.try_emplace(base, storage).first->second == storage) {
        own.value = base;
      }
    }
    for (OpOperand &use : op->getOpOperands()) {
      auto storage = freshStorageOf(use);
      if (!storage) {
        continue;
      }
      SmallVector<AliasOp> aliases = aliasesOf(use.get());
      Value source = aliases.empty() ? use.get() : aliases.back().getBase();
      Value base = bases.lookup(source);
      Copy &own = made[{storage, originalOf(source)}];
      auto [owner, isNew] = owners.try_emplace(base, storage);
      auto call = base.getDefiningOp<AtenOp>();
      bool isPadded = call && call.getPadded();
      bool isStored = sharers[storage] > 1 && stored.contains(base);
      if (!own.value && !isBorrowed(base) && !isStored && !isPadded &&
          (isNew || owner->second == storage)) {
        continue;
      }
      if (!own.layout) {
        auto type = cast<RankedTensorType>(source.getType());
        LayoutDemand demand = getLayoutDemand(use);
        own.layout = isDense(demand.layout, type) ? demand.layout : getContiguousLayout(type);
      }
      if (!own.value) {
        own.value = copy(isBorrowed(base) ? beforeWrites(op, source) : op, source, own.layout,
                         /*shared=*/false);
        owners[own.value] = storage;
      }
      Value result = own.value;
      for (AliasOp alias : llvm::reverse(aliases)) {
        OpBuilder builder(op);
        auto again = cast<AliasOp>(builder.clone(*alias));
        again.getBaseMutable().assign(result);
        assign(again);
        result = again;
      }
      use.set(result);
    }
  }

  Value copy(Operation *before, Value value, LayoutAttr layout, bool shared = true) {
    MLIRContext *context = &getContext();
    layout = LayoutAttr::get(context, layout.getStrides(), SizeExpr::constant(context, 0));
    Value &known = copiesMade[{value, layout}];
    if (known && shared) {
      return known;
    }
    OpBuilder builder(before);
    LDBG() << value.getLoc() << " is copied to " << layout << " for " << before->getName();
    Value made = createCopy(builder, value, layout);
    setLayout(made, layout, made);
    copiedFrom[made] = value;
    ++copies;
    ++numCopies;
    if (shared) {
      known = made;
    }
    return made;
  }

  /// Replaces a view that strides cannot express by a region that copies.
  void materialise(Operation *view) {
    OpBuilder builder(view);
    LDBG() << *view << " becomes a copy: no strides express it";
    Value operand = view->getOperand(0);
    auto region = RegionOp::create(builder, view->getLoc(), view->getResultTypes(),
                                   ValueRange{operand}, ScheduleAttr(), ArrayAttr());
    Block &body = region.getBody().emplaceBlock();
    body.addArgument(operand.getType(), operand.getLoc());
    view->getResult(0).replaceAllUsesWith(region.getResult(0));
    view->moveBefore(&body, body.end());
    view->setOperand(0, body.getArgument(0));
    builder.setInsertionPointToEnd(&body);
    YieldOp::create(builder, view->getLoc(), view->getResults());
    assignRegion(region);
    ++copies;
    ++numCopies;
  }
};
} // namespace
