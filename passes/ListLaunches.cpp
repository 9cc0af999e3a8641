#include "passes/ListLaunches.h"

#include "ir/FritAttributes.h"
#include "ir/KernelLists.h"
#include "passes/FlatRegions.h"
#include "passes/LoopNests.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::frit;

void ListLaunches::measure(GraphOp graph) {
  SizeEstimate estimate(graph);
  llvm::MapVector<uint64_t, std::pair<std::string, List>> groups;
  for (RegionOp region : graph.getBody().front().getOps<RegionOp>()) {
    if (std::optional<uint64_t> group = region.getGroup()) {
      auto &[formula, list] = groups[*group];
      formula = FlatRegions::getFormula(region)->text;
      ++list.capacity;
      list.elements += estimate.ofElements(region.getResult(0).getType());
    }
  }
  for (auto &[group, described] : groups) {
    auto &[formula, list] = described;
    List &known = lists[formula];
    known.elements = known.capacity ? std::min(known.elements, list.elements) : list.elements;
    known.capacity = std::max(known.capacity, list.capacity);
  }
}

std::optional<ListLaunches::List> ListLaunches::lookup(RegionOp region) const {
  if (!region.getGroup()) {
    return std::nullopt;
  }
  return lists.lookup(FlatRegions::getFormula(region)->text);
}

/// How often a GPU block repeats its sweep, so that about a thousand blocks remain; at most 16.
static int64_t getSweeps(const ListLaunches::List &list) {
  return llvm::bit_floor(
      static_cast<uint64_t>(std::clamp(list.elements / kElementsOfSweep, 1.0, 16.0)));
}

void ListLaunches::annotate(KernelOp kernel, const List &list) {
  kernel.setList(list.capacity);
  kernel.setSweeps(getSweeps(list));
}

/// Replaces neighbouring launches of a kernel by one launch.
static void joinGroup(ArrayRef<LaunchOp> group) {
  SmallVector<Type> types;
  SmallVector<Value> operands;
  SmallVector<Attribute> sizes, layouts, assigned, buffers;
  for (LaunchOp launch : group) {
    llvm::append_range(types, launch.getResultTypes());
    llvm::append_range(operands, launch.getOperands());
    llvm::append_range(sizes, launch.getSizes());
    if (ArrayAttr given = launch.getResultLayoutsAttr()) {
      llvm::append_range(layouts, given);
    }
    if (ArrayAttr given = kLayoutsAttr.get(launch)) {
      llvm::append_range(assigned, given);
    }
    if (ArrayAttr given = launch.getBuffersAttr()) {
      llvm::append_range(buffers, given);
    }
  }
  OpBuilder builder(group.back());
  LaunchOp first = group.front();
  auto joined = LaunchOp::create(
      builder, first.getLoc(), types, first.getKernelAttr(), operands, builder.getArrayAttr(sizes),
      layouts.size() == types.size() ? builder.getArrayAttr(layouts) : ArrayAttr());
  joined.setItems(group.size());
  if (!assigned.empty()) {
    kLayoutsAttr.set(joined, builder.getArrayAttr(assigned));
  }
  if (!buffers.empty()) {
    joined.setBuffersAttr(builder.getArrayAttr(buffers));
  }
  unsigned next = 0;
  for (LaunchOp launch : group) {
    for (OpResult result : launch->getResults()) {
      result.replaceAllUsesWith(joined->getResult(next++));
    }
    launch->erase();
  }
}

unsigned ListLaunches::join(GraphOp graph) {
  SmallVector<SmallVector<LaunchOp>> groups;
  std::optional<uint64_t> last;
  for (LaunchOp launch : graph.getBody().front().getOps<LaunchOp>()) {
    auto known = groupOf.find(launch);
    std::optional<uint64_t> group;
    if (known != groupOf.end()) {
      group = known->second;
    }
    Operation *before = launch->getPrevNode();
    bool joins = group && group == last && before == groups.back().back() &&
                 launch.getKernel() == groups.back().back().getKernel();
    if (group && !joins) {
      groups.emplace_back();
    }
    if (group) {
      groups.back().push_back(launch);
    }
    last = group;
  }
  llvm::for_each(groups, joinGroup);
  groupOf.clear();
  return groups.size();
}
