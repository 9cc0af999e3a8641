#pragma once

#include "passes/FusionRules.h"
#include "passes/LoopNests.h"

#include "llvm/ADT/StringMap.h"

#include <array>

/// Groups of loop nests that become one kernel each.
///
/// Two walks. The first goes through the loop nests in order and lets each join
/// the kernel of a value it reads, then merges the other kernels it reads from
/// into that one (vertical fusion). The second merges kernels that read a
/// common value (siblings, several results). Every step first checks the domains
/// with FusionRules, and then that the step makes no cycle: a search backwards
/// from what the newcomer reads, which never goes before the first operation
/// of the kernel and refuses after a bounded number of steps, so that the two
/// walks are near-linear in the graph.
namespace mlir::frit {

class FusionClusters {
public:
  FusionClusters(GraphOp graph, const LoopNests &nests);

  /// The unit (kernel, or single operation outside of kernels) of an operation.
  unsigned getUnit(Operation *op) const { return find(numbers.lookup(op)); }
  /// Loop nests of a kernel in order; empty for other units.
  ArrayRef<Operation *> getLoops(unsigned unit) const { return units[unit].loops; }
  /// Tensors that a kernel reads from outside of it.
  const llvm::SmallDenseSet<Value, 4> &getInputs(unsigned unit) const { return units[unit].inputs; }
  /// Operations whose values a unit needs, as unit numbers (may repeat).
  SmallVector<unsigned> getPredecessors(unsigned unit) const;
  /// Whether a loop nest of another kernel reads the value.
  bool isReadByOtherKernel(Operation *loop) const;
  unsigned count(FusionRefusal refusal) const { return refusals[static_cast<size_t>(refusal)]; }

private:
  struct Read {
    Value value;
    ReadPlace place;
  };
  struct Unit {
    SmallVector<Operation *, 2> loops;
    LoopDomain domain;
    SmallVector<unsigned, 4> predecessors;
    llvm::SmallDenseSet<Value, 4> inputs;
    unsigned operations = 0;
    unsigned first = 0, last = 0;
  };

  unsigned find(unsigned unit) const;
  void addOpaque(Operation *op, unsigned number);
  void addLoop(Operation *op, unsigned number);
  void gatherReads(Operation *loop, SmallVectorImpl<Read> &reads, unsigned &operations);
  /// Adds the frit.binds that define symbols in the operation's sizes to its predecessors: it needs
  /// them as it needs operands.
  void addBindsOf(Operation *op, SmallVectorImpl<unsigned> &predecessors);
  /// Whether `from` depends on `on`: through a third unit or, if `directly`, in any way.
  bool depends(unsigned from, unsigned on, bool directly = true) const;
  FusionRefusal checkLinks(unsigned reader, unsigned writer, const LoopDomain &domain) const;
  bool tryMerge(unsigned into, unsigned from);
  void absorb(unsigned into, unsigned from, LoopDomain domain);
  static bool areTwins(Value shared, const Unit &a, const Unit &b);
  void mergeSiblings();
  unsigned pointersOf(const Unit &unit) const { return unit.inputs.size() + unit.loops.size(); }
  bool fits(const Unit &a, const Unit &b, FusionRefusal &refusal) const;
  /// Counts a refusal to fuse two units; false.
  bool refuse(FusionRefusal refusal, unsigned kernel, unsigned other);

  GraphOp graph;
  const LoopNests &nests;
  FusionRules rules;
  llvm::DenseMap<Operation *, unsigned> numbers;
  mutable std::vector<unsigned> parents;
  std::vector<Unit> units;
  llvm::DenseMap<Operation *, LoopLevel> levels;
  llvm::DenseMap<Operation *, SmallVector<unsigned, 4>> readers;
  /// The values of other loop nests that a loop nest reads.
  llvm::DenseMap<Operation *, SmallVector<Read, 2>> linkedReads;
  /// Values from outside of all kernels, or from other kernels, and the loop nests that read them.
  llvm::MapVector<Value, SmallVector<unsigned, 4>> sharedInputs;
  llvm::DenseMap<Value, SmallVector<unsigned, 4>> argumentReaders;
  llvm::DenseMap<Value, SmallVector<unsigned, 1>> argumentStores;
  std::optional<unsigned> lastEffect;
  llvm::StringMap<unsigned> binds;
  std::array<unsigned, 16> refusals{};
};

} // namespace mlir::frit
