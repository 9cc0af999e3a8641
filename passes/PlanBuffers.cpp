// Decides which storage every region writes: its own, that of a temporary that is no longer needed,
// or that of the argument that the program mutates.
#include "ir/Planted.h"
#include "passes/Layouts.h"
#include "passes/Passes.h"
#include "passes/Raising.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "frit-plan-buffers"

namespace mlir::frit {
#define GEN_PASS_DEF_PLANBUFFERSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
struct Buffer {
  SizeExpr bytes;
  BufferKind kind;
  std::optional<unsigned> argument;
};

struct PlanBuffersPass : frit::impl::PlanBuffersPassBase<PlanBuffersPass> {
  using PlanBuffersPassBase::PlanBuffersPassBase;

  llvm::DenseMap<Operation *, unsigned> order;
  /// Position of the last reader of a value's storage, and the value that owns
  /// the storage.
  llvm::DenseMap<Value, unsigned> lastUse;
  llvm::DenseMap<Value, Value> owners;
  llvm::DenseSet<Value> returned;
  SmallVector<Buffer> buffers;
  llvm::DenseMap<Value, unsigned> bufferOf;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    order.clear();
    lastUse.clear();
    owners.clear();
    returned.clear();
    buffers.clear();
    bufferOf.clear();
    analyse(graph);
    if (reuse) {
      storeInPlace(graph);
    }
    place(graph);
    SmallVector<Attribute> described;
    Builder builder(&getContext());
    for (const Buffer &buffer : buffers) {
      described.push_back(
          BufferAttr::get(&getContext(), buffer.kind, buffer.argument, buffer.bytes));
    }
    graph.setBuffersAttr(builder.getArrayAttr(described));
  }

  Value ownerOf(Value value) const {
    auto it = owners.find(value);
    return it == owners.end() ? value : it->second;
  }

  /// Computes lifetimes by storage. A storage that an operator's result may alias lives as long as
  /// that result.
  void analyse(GraphOp graph) {
    unsigned position = 0;
    std::optional<uint64_t> group;
    for (Operation &op : graph.getBody().front()) {
      // Regions that share a launch run concurrently: none may overwrite what another one reads.
      auto region = dyn_cast<RegionOp>(op);
      std::optional<uint64_t> next = region ? region.getGroup() : std::nullopt;
      bool joins = std::exchange(group, next) == next && next;
      position += !joins;
      order[&op] = position;
      if (isLook(&op)) {
        owners[op.getResult(0)] = ownerOf(op.getOperand(0));
      }
      for (OpResult result : op.getResults()) {
        if (Value operand = getMutatedOperand(result)) {
          owners[result] = ownerOf(operand);
        }
      }
    }
    for (Operation &op : llvm::reverse(graph.getBody().front())) {
      unsigned until = order[&op];
      if (auto call = dyn_cast<AtenOp>(op); call && mayAliasOperands(call)) {
        for (Value result : op.getResults()) {
          until = std::max(until, lastUse.lookup(result));
          if (returned.contains(result)) {
            for (Value operand : op.getOperands()) {
              returned.insert(ownerOf(operand));
            }
          }
        }
      }
      for (Value operand : op.getOperands()) {
        Value owner = ownerOf(operand);
        lastUse[owner] =
            isPlanted(Mistake::EarlyReuse) ? until : std::max(lastUse.lookup(owner), until);
        if (isa<ReturnOp>(op)) {
          returned.insert(owner);
        }
      }
    }
  }

  SizeExpr bytesOf(RankedTensorType type) {
    return getNumElements(type) * int64_t(getStoredBytes(type));
  }

  /// Whether a body argument is read only at the place that is being computed:
  /// through elementwise operations, never through a view, and through a
  /// reduction only if its row is `whole` before anything is written.
  static bool isReadInPlace(BlockArgument argument, bool whole = false) {
    SmallVector<Value> stack{argument};
    llvm::SmallDenseSet<Value> seen;
    while (!stack.empty()) {
      Value value = stack.pop_back_val();
      if (!seen.insert(value).second) {
        continue;
      }
      for (Operation *user : value.getUsers()) {
        if (isa<YieldOp>(user) || (whole && isa<ReduceOp>(user))) {
          continue;
        }
        if (!isElementwise(user)) {
          return false;
        }
        stack.push_back(user->getResult(0));
      }
    }
    return true;
  }

  /// Whether shapes and element sizes agree: with equal layouts, element i of one lies where
  /// element i of the other does.
  static bool liesAs(Operation *region, unsigned result, Value value) {
    auto type = cast<RankedTensorType>(region->getResult(result).getType());
    auto other = dyn_cast<RankedTensorType>(value.getType());
    if (!other || mlir::frit::getSizes(type) != mlir::frit::getSizes(other)) {
      return false;
    }
    return getStoredBytes(type) == getStoredBytes(other);
  }

  /// A region writes the mutated argument itself if nothing needs the old value afterwards, the
  /// region reads it only where it writes, and no error is raised after it: otherwise the arguments
  /// would be in a state that no program has.
  void storeInPlace(GraphOp graph) {
    unsigned lastError = 0;
    for (Operation &op : graph.getBody().front()) {
      auto call = dyn_cast<AtenOp>(op);
      if (!gpu && (isa<RequireOp>(op) || (call && callMayRaise(call)))) {
        lastError = order[&op];
      }
    }
    for (StoreOp store : graph.getBody().front().getOps<StoreOp>()) {
      auto target = dyn_cast<BlockArgument>(store.getTarget());
      auto result = dyn_cast<OpResult>(store.getValue());
      auto region = result ? dyn_cast<RegionOp>(result.getOwner()) : RegionOp();
      if (store.getInPlace() || !target || !region || bufferOf.contains(result) ||
          returned.contains(result) || result.getType() != target.getType()) {
        continue;
      }
      if (order[region] < lastError) {
        ++storesAfterErrors;
        continue;
      }
      LayoutAttr have = getAssignedLayout(result), want = getAssignedLayout(target);
      if (have.getStrides() != want.getStrides() ||
          !canWriteInto(region, result.getResultNumber(), target, store)) {
        continue;
      }
      bufferOf[result] = buffers.size();
      buffers.push_back({bytesOf(cast<RankedTensorType>(result.getType())), BufferKind::Argument,
                         target.getArgNumber()});
      SmallVector<int64_t> writes;
      if (auto old = region.getWrites()) {
        writes.assign(old->begin(), old->end());
      }
      writes.push_back(target.getArgNumber());
      region.setWrites(writes);
      store.setInPlace(true);
      LDBG() << region.getLoc() << " writes result " << result.getResultNumber()
             << " into argument " << target.getArgNumber();
      ++storesInPlace;
    }
  }

  bool canWriteInto(RegionOp region, unsigned result, BlockArgument target, StoreOp store) {
    unsigned position = order[region];
    bool reduces = !region.getBody().front().getOps<ReduceOp>().empty();
    SmallVector<Value> stack{target};
    while (!stack.empty()) {
      Value value = stack.pop_back_val();
      for (OpOperand &use : value.getUses()) {
        Operation *user = use.getOwner();
        if (user == store) {
          continue;
        }
        if (user == region) {
          BlockArgument argument = region.getBody().getArgument(use.getOperandNumber());
          if (value != target || !isReadInPlace(argument) ||
              isLoadedLate(argument, result, reduces)) {
            return false;
          }
        } else if (isLook(user)) {
          stack.push_back(user->getResult(0));
        } else if (isa<StoreOp>(user) || order[user] >= position) {
          return false;
        } else if (auto call = dyn_cast<AtenOp>(user); call && mayAliasOperands(call)) {
          stack.append(call.result_begin(), call.result_end());
        }
      }
    }
    return true;
  }

  /// Assigns buffers to the other results: one that is free, one whose last reader is this region
  /// and reads it only in place, or a new one.
  void place(GraphOp graph) {
    llvm::DenseMap<Attribute, SmallVector<unsigned>> freeBySize;
    // Buffers by the position after which they are free.
    std::multimap<unsigned, unsigned> dying;
    Builder builder(&getContext());
    for (Operation &op : graph.getBody().front()) {
      auto region = dyn_cast<RegionOp>(op);
      if (!region) {
        continue;
      }
      unsigned position = order[&op];
      while (!dying.empty() && dying.begin()->first < position) {
        unsigned buffer = dying.begin()->second;
        freeBySize[buffers[buffer].bytes.getAttr()].push_back(buffer);
        dying.erase(dying.begin());
      }
      SmallVector<Attribute> numbers;
      for (OpResult result : region.getResults()) {
        if (!bufferOf.contains(result)) {
          bufferOf[result] = choose(region, result, freeBySize, dying);
          LDBG() << region.getLoc() << " writes result " << result.getResultNumber()
                 << " into buffer " << bufferOf[result] << ", " << buffers[bufferOf[result]].kind;
        }
        unsigned buffer = bufferOf[result];
        numbers.push_back(builder.getI64IntegerAttr(buffer));
        if (buffers[buffer].kind == BufferKind::Temporary) {
          dying.insert({std::max(position, lastUse.lookup(result)), buffer});
        }
      }
      region.setBuffersAttr(builder.getArrayAttr(numbers));
    }
  }

  unsigned choose(RegionOp region, OpResult result,
                  llvm::DenseMap<Attribute, SmallVector<unsigned>> &freeBySize,
                  std::multimap<unsigned, unsigned> &dying) {
    SizeExpr bytes = bytesOf(cast<RankedTensorType>(result.getType()));
    if (returned.contains(result)) {
      buffers.push_back({bytes, BufferKind::Output, std::nullopt});
      return buffers.size() - 1;
    }
    if (std::optional<unsigned> buffer = reuse ? takeOver(region, result, dying) : std::nullopt) {
      LDBG() << "buffer " << *buffer << " is taken over from an operand that dies here";
      ++inPlace;
      return *buffer;
    }
    SmallVector<unsigned> &free = freeBySize[bytes.getAttr()];
    if (reuse && !free.empty()) {
      LDBG() << "buffer " << free.back() << " is free and has " << bytes.str() << " bytes too";
      ++reused;
      return free.pop_back_val();
    }
    buffers.push_back({bytes, BufferKind::Temporary, std::nullopt});
    return buffers.size() - 1;
  }

  /// The buffer of an operand whose last use this is, if the result may be written over it. At
  /// every point a kernel computes and writes its results in order, and full results after all
  /// reductions of the row. So no result that is written later, and beside a reduction no other
  /// result at all, may need the operand.
  std::optional<unsigned> takeOver(RegionOp region, OpResult result,
                                   std::multimap<unsigned, unsigned> &dying) {
    Block &body = region.getBody().front();
    bool reduces = !body.getOps<ReduceOp>().empty();
    ScheduleAttr schedule = region.getScheduleAttr();
    if (reduces && (!schedule || schedule.getKind() != ScheduleKind::RowReduction ||
                    getNumElements(cast<RankedTensorType>(result.getType())) !=
                        product(&getContext(), getSizes(schedule)))) {
      return std::nullopt;
    }
    for (OpOperand &operand : region->getOpOperands()) {
      Value value = operand.get();
      auto it = bufferOf.find(value);
      if (it == bufferOf.end() || buffers[it->second].kind != BufferKind::Temporary ||
          lastUse.lookup(value) != order[region] ||
          !liesAs(region, result.getResultNumber(), value) ||
          getAssignedLayout(value) != getAssignedLayout(result) ||
          llvm::count(region.getOperands(), value) != 1 || readsView(region, value) ||
          isReadBeside(region, value)) {
        continue;
      }
      BlockArgument argument = body.getArgument(operand.getOperandNumber());
      if (!isReadInPlace(argument, /*whole=*/reduces) ||
          isNeededBesides(argument, result.getResultNumber(), /*before=*/reduces)) {
        continue;
      }
      auto range = dying.equal_range(order[region]);
      auto entry = llvm::find_if(llvm::make_range(range.first, range.second),
                                 [&](auto &dead) { return dead.second == it->second; });
      if (entry == range.second) {
        continue; // an earlier result has taken it
      }
      dying.erase(entry);
      return it->second;
    }
    return std::nullopt;
  }

  static SmallVector<SizeExpr> getSizes(ScheduleAttr schedule) {
    ArrayRef<SizeAttr> sizes = schedule.getDomain().getSizes();
    return SmallVector<SizeExpr>(sizes.begin(), sizes.end());
  }

  /// The numbers of the results that are computed from the argument.
  static SmallVector<unsigned> resultsOf(BlockArgument argument) {
    SmallVector<unsigned> results;
    llvm::SmallDenseSet<Value> seen{argument};
    SmallVector<Value> stack{argument};
    while (!stack.empty()) {
      for (OpOperand &use : stack.pop_back_val().getUses()) {
        if (isa<YieldOp>(use.getOwner())) {
          results.push_back(use.getOperandNumber());
        } else if (seen.insert(use.getOwner()->getResult(0)).second) {
          stack.push_back(use.getOwner()->getResult(0));
        }
      }
    }
    return results;
  }

  /// Whether results after `number`, or also those `before` it, are computed
  /// from the argument.
  static bool isNeededBesides(BlockArgument argument, unsigned number, bool before) {
    return llvm::any_of(resultsOf(argument), [&](unsigned other) {
      return other > number || (before && other != number);
    });
  }

  /// Whether a kernel may load elements of the argument after it has written result `number` at
  /// their place. It loads an element once, and results are computed in order; beside a reduction
  /// each may have a loop of its own.
  static bool isLoadedLate(BlockArgument argument, unsigned number, bool reduces) {
    SmallVector<unsigned> results = resultsOf(argument);
    return reduces ? llvm::any_of(results, [&](unsigned other) { return other != number; })
                   : !results.empty() &&
                         llvm::all_of(results, [&](unsigned other) { return other > number; });
  }

  /// Whether a region of the same launch reads the storage of `value`.
  bool isReadBeside(RegionOp region, Value value) const {
    return region.getGroup() && llvm::any_of(value.getUsers(), [&](Operation *user) {
             return isLook(user) ? isReadBeside(region, user->getResult(0))
                                 : user != region && order.lookup(user) == order.lookup(region);
           });
  }

  /// Whether the region also reads the storage of `value` through a view.
  bool readsView(RegionOp region, Value value) const {
    return llvm::any_of(region.getOperands(), [&](Value operand) {
      return operand != value && ownerOf(operand) == value;
    });
  }
};
} // namespace
