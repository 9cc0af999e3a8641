// Launches over lists (ir/KernelLists.h) while regions are outlined: the capacity of the kernel of
// a group, and the groups of launches that become one launch.

#pragma once

#include "ir/FritOps.h"

#include "llvm/ADT/StringMap.h"

namespace mlir::frit {

class ListLaunches {
public:
  /// The largest capacity and the fewest elements of all groups of a formula: one kernel over lists
  /// serves them all.
  struct List {
    int64_t capacity = 0;
    double elements = 0;
  };

  /// Measures the groups of a graph's regions. Called for all graphs first.
  void measure(GraphOp graph);
  /// The list of a region's group; nullopt if it is in none.
  std::optional<List> lookup(RegionOp region) const;
  /// Marks a kernel as one over lists.
  static void annotate(KernelOp kernel, const List &list);
  /// A launch that was made from a region of a group.
  void addLaunch(LaunchOp launch, uint64_t group) { groupOf[launch] = group; }
  /// Joins the launches of each group into one; returns the number of groups.
  unsigned join(GraphOp graph);

private:
  llvm::StringMap<List> lists;
  llvm::DenseMap<Operation *, uint64_t> groupOf;
};

} // namespace mlir::frit
