// Groups independent regions of one formula so that each group shares a launch. A list scheduler
// delays such regions until nothing else can run.
//
// An optimizer's step is one formula for each of hundreds of parameters, most of them small: a
// launch each would cost more than their work. Regions move only within a stretch of regions, views
// and scalar arithmetic; operator calls and stores bound it.
#include "ir/KernelLists.h"
#include "passes/FlatRegions.h"
#include "passes/Layouts.h"
#include "passes/LoopNests.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"

#include <queue>

#define DEBUG_TYPE "frit-gather-regions"

namespace mlir::frit {
#define GEN_PASS_DEF_GATHERREGIONSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

/// Bytes of temporaries whose lifetime a delayed region may extend.
static constexpr double kSmallTemporary = 64 << 10;

static bool mayMove(Operation &op) {
  return isa<RegionOp, SizeOp, NoneOp, tensor::ExtractOp, tensor::FromElementsOp>(op) ||
         isView(&op) || isElementwise(&op);
}

/// Whether the storage stays alive anyway: an argument's, a result's, or that of a value that is
/// stored.
static bool isKept(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (llvm::any_of(value.getUsers(),
                     [](Operation *user) { return isa<ReturnOp, StoreOp>(user); })) {
      return true;
    }
    if (!isView(def)) {
      return false;
    }
    value = def->getOperand(0);
  }
  return true;
}

namespace {
/// Reorders the operations of one stretch.
class Stretch {
public:
  Stretch(ArrayRef<Operation *> ops, const SizeEstimate &estimate) : ops(ops), keys(ops.size()) {
    for (auto [i, op] : llvm::enumerate(ops)) {
      numbers[op] = i;
      auto region = dyn_cast<RegionOp>(op);
      // Random numbers depend on the index in the whole tensor, but a kernel over a list counts
      // from the start of its block.
      if (region && region.getBody().getOps<RandomOp>().empty() && mayWait(region, estimate)) {
        if (auto formula = FlatRegions::getFormula(region)) {
          llvm::raw_string_ostream os(keys[i] = formula->text);
          if (ScheduleAttr schedule = region.getScheduleAttr()) {
            os << schedule.getNumbers();
          }
          ++remaining[keys[i]];
        }
      }
    }
  }

  /// Reorders the stretch if any two regions can share a launch: then `groups` holds all groups,
  /// `order` all operations. Otherwise returns false.
  bool schedule() {
    for (std::string &key : keys) {
      if (!key.empty() && remaining.lookup(key) < 2) {
        key.clear();
      }
    }
    if (llvm::all_of(keys, [](const std::string &key) { return key.empty(); })) {
      return false;
    }
    readers.resize(ops.size());
    waitsFor.assign(ops.size(), 0);
    for (auto [i, op] : llvm::enumerate(ops)) {
      for (Value operand : op->getOperands()) {
        if (auto known = numbers.find(operand.getDefiningOp()); known != numbers.end()) {
          readers[known->second].push_back(i);
          ++waitsFor[i];
        }
      }
    }
    for (unsigned i = 0; i != ops.size(); ++i) {
      if (waitsFor[i] == 0) {
        makeReady(i);
      }
    }
    while (order.size() != ops.size()) {
      if (!plain.empty()) {
        unsigned next = plain.top();
        plain.pop();
        take(next);
      } else {
        takeGroup();
      }
    }
    return llvm::any_of(groups, [](ArrayRef<Operation *> group) { return group.size() > 1; });
  }

  SmallVector<Operation *> order;
  std::vector<SmallVector<Operation *>> groups;

private:
  static bool mayWait(RegionOp region, const SizeEstimate &estimate) {
    double bytes = 0;
    auto count = [&](Value value) {
      if (isa<RankedTensorType>(value.getType()) && !isKept(value)) {
        bytes += estimate.ofElements(value.getType()) * getStoredBytes(value);
      }
    };
    llvm::for_each(region.getOperands(), count);
    llvm::for_each(region.getResults(), count);
    return bytes <= kSmallTemporary;
  }

  void makeReady(unsigned number) {
    if (keys[number].empty()) {
      plain.push(number);
    } else {
      ready[keys[number]].push_back(number);
    }
  }

  void take(unsigned number) {
    order.push_back(ops[number]);
    for (unsigned reader : readers[number]) {
      if (--waitsFor[reader] == 0) {
        makeReady(reader);
      }
    }
  }

  /// Takes a formula all of whose regions are ready, else the one with the most ready regions.
  void takeGroup() {
    auto best = ready.begin();
    for (auto it = ready.begin(); it != ready.end(); ++it) {
      if (it->second.size() == remaining.lookup(it->first)) {
        best = it;
        break;
      }
      if (it->second.size() > best->second.size()) {
        best = it;
      }
    }
    SmallVector<unsigned> members = std::move(best->second);
    remaining[best->first] -= members.size();
    ready.erase(best);
    llvm::sort(members);
    size_t most = kMostListBytes / getListItemBytes(ops[members.front()]->getNumOperands() +
                                                    ops[members.front()]->getNumResults() + 1);
    for (auto [at, number] : llvm::enumerate(members)) {
      if (at % most == 0) {
        groups.emplace_back();
      }
      groups.back().push_back(ops[number]);
      take(number);
    }
  }

  ArrayRef<Operation *> ops;
  /// The formula of each region that may wait for others, else empty.
  std::vector<std::string> keys;
  llvm::StringMap<size_t> remaining;
  llvm::DenseMap<Operation *, unsigned> numbers;
  std::vector<SmallVector<unsigned>> readers;
  std::vector<unsigned> waitsFor;
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>> plain;
  llvm::MapVector<StringRef, SmallVector<unsigned>> ready;
};

struct GatherRegionsPass : frit::impl::GatherRegionsPassBase<GatherRegionsPass> {
  void runOnOperation() override {
    SizeEstimate estimate(getOperation());
    int64_t number = 0;
    SmallVector<Operation *> stretch;
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody().front())) {
      if (mayMove(op)) {
        stretch.push_back(&op);
        continue;
      }
      gather(stretch, &op, estimate, number);
      stretch.clear();
    }
  }

  void gather(ArrayRef<Operation *> ops, Operation *end, const SizeEstimate &estimate,
              int64_t &number) {
    Stretch stretch(ops, estimate);
    if (!stretch.schedule()) {
      return;
    }
    for (Operation *op : stretch.order) {
      op->moveBefore(end);
    }
    for (ArrayRef<Operation *> group : stretch.groups) {
      if (group.size() < 2) {
        continue;
      }
      for (Operation *op : group) {
        cast<RegionOp>(op).setGroup(number);
      }
      LDBG() << group.size() << " regions of one formula share launch " << number << ", from "
             << group.front()->getLoc();
      ++number;
      ++groups;
      gathered += group.size();
    }
  }
};
} // namespace
