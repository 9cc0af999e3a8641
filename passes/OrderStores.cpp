// In the graph an argument is the value that it had when the graph began, but a store overwrites
// its storage. So nothing may read an argument after the store to it. Most graphs are in such an
// order already. In any other, all stores move to the end, each behind the readers of what it
// overwrites; a cycle of stores is broken by a copy of one value.
#include "ir/Planted.h"
#include "passes/Copies.h"
#include "passes/Layouts.h"
#include "passes/Passes.h"

#include "llvm/ADT/DenseSet.h"

namespace mlir::frit {
#define GEN_PASS_DEF_ORDERSTORESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
struct OrderStoresPass : frit::impl::OrderStoresPassBase<OrderStoresPass> {
  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    // The store of a call that writes in place stands for that write: it does not move.
    SmallVector<StoreOp> stores(llvm::make_filter_range(
        block.getOps<StoreOp>(), [](StoreOp store) { return !store.getInPlace(); }));
    readers.clear();
    copied.clear();
    bool isOrdered = true;
    for (StoreOp store : stores) {
      Value argument = baseOf(store.getTarget());
      gatherReaders(argument);
      isOrdered &= llvm::all_of(readers[argument], [&](OpOperand *use) {
        return use->getOwner() == store ? use->get() == argument
                                        : use->getOwner()->isBeforeInBlock(store);
      });
    }
    if (!isOrdered && !isPlanted(Mistake::StoreOrder)) {
      order(std::move(stores), block.getTerminator());
    }
  }

private:
  /// The argument whose storage a store writes.
  static Value baseOf(Value target) {
    while (target.getDefiningOp() && isLook(target.getDefiningOp())) {
      target = target.getDefiningOp()->getOperand(0);
    }
    return target;
  }

  /// Collects everything that reads the storage of an argument, also through views and calls that
  /// return it.
  void gatherReaders(Value argument) {
    auto [known, isNew] = readers.try_emplace(argument);
    SmallVector<Value> aliases;
    if (isNew) {
      aliases.push_back(argument);
    }
    llvm::SmallDenseSet<Value> seen(aliases.begin(), aliases.end());
    while (!aliases.empty()) {
      for (OpOperand &use : aliases.pop_back_val().getUses()) {
        Operation *user = use.getOwner();
        auto store = dyn_cast<StoreOp>(user);
        bool isTarget = store && (use.getOperandNumber() == 1 || store.getInPlace());
        auto call = dyn_cast<AtenOp>(user);
        if (!isLook(user) && !isTarget && !isa<ReturnOp>(user)) {
          known->second.push_back(&use);
        }
        for (OpResult result : user->getResults()) {
          bool isAlias =
              isLook(user) ||
              (call && (getMutatedOperand(result) == use.get() || mayAliasOperands(call)));
          if (isAlias && seen.insert(result).second) {
            aliases.push_back(result);
          }
        }
      }
    }
  }

  void order(SmallVector<StoreOp> stores, Operation *end) {
    OpBuilder builder(end);
    while (!stores.empty()) {
      auto next =
          llvm::find_if(stores, [&](StoreOp store) { return blockers(store, stores).empty(); });
      if (next == stores.end()) {
        next = stores.begin();
        llvm::SmallDenseMap<Value, Value> copies;
        for (OpOperand *use : blockers(*next, stores)) {
          Value &copy = copies[use->get()];
          if (!copy) {
            copy = createCopy(builder, use->get(),
                              getContiguousLayout(cast<RankedTensorType>(use->get().getType())));
            ++numCopies;
          }
          use->set(copy);
          copied.insert(use);
        }
      }
      (*next)->moveBefore(end);
      ++numMoved;
      stores.erase(next);
    }
  }

  /// Operands of the remaining stores, the store's own included, that would read what it has
  /// overwritten.
  SmallVector<OpOperand *> blockers(StoreOp store, ArrayRef<StoreOp> remaining) {
    SmallVector<OpOperand *> found;
    Value argument = baseOf(store.getTarget());
    for (OpOperand *use : readers[argument]) {
      auto reader = dyn_cast<StoreOp>(use->getOwner());
      bool isOpen = reader && llvm::is_contained(remaining, reader) && !copied.contains(use);
      if (isOpen && (reader != store || use->get() != argument)) {
        found.push_back(use);
      }
    }
    return found;
  }

  llvm::DenseMap<Value, SmallVector<OpOperand *>> readers;
  /// Operands that read a copy already.
  llvm::DenseSet<OpOperand *> copied;
};
} // namespace
