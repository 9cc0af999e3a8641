#pragma once

#include "kernel/LoopSpace.h"
#include "passes/Layouts.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <limits>

/// Which operations get a loop nest of their own, and which are computed where
/// they are read.
///
/// A kernel computes values on demand: whatever needs an element computes it at its own index.
/// Views and constants are therefore free, and an elementwise operation can be `inlined` into each
/// reader, whatever the map between them. This saves a round trip through memory but repeats the
/// work for each reader and map. An operation is a `loop` instead (it runs over its own shape and
/// each element is computed once) if it is a reduction, if something outside of kernels reads it,
/// or if inlining would repeat more work than the round trip costs:
///
///   - one reader at one place, no more evaluations than elements: inlined;
///   - several kernels that together evaluate each element about once (one reads all of a row,
///     another one value of it): inlined into each;
///   - a cheap producer behind a broadcast: inlined while a small budget lasts;
///   - casts, comparisons and masks that read no more bytes than they produce: repeated in every
///     reader;
///   - small tensors: repeated wherever that costs less than a launch;
///   - everything else with several readers is a loop, which fuses with its readers if they turn
///     out to share one domain.
namespace mlir::frit {

enum class NestRole {
  /// Not for kernels: operator calls, host scalars, stores, returns.
  Opaque,
  /// Costs nothing: cloned wherever it is used.
  Free,
  /// Elementwise, computed in each reader.
  Inlined,
  /// Runs over its own shape.
  Loop
};

/// Sizes as numbers, for estimates only: a symbol counts as its hint rounded down to a power of
/// two, or as 128.
class SizeEstimate {
public:
  explicit SizeEstimate(GraphOp graph);
  double of(SizeExpr size) const;
  double ofElements(Type tensor) const;

private:
  llvm::StringMap<int64_t> hints;
};

class LoopNests {
public:
  /// Without `merge` (if fusion is off) an operation is inlined only into operations of the same
  /// ATen operator.
  explicit LoopNests(GraphOp graph, bool merge = true);

  /// Whether two operations may be computed in one kernel, as far as `merge` goes.
  bool mayMerge(Operation *a, Operation *b) const;
  NestRole getRole(Operation *op) const { return roles.lookup(op); }
  /// Whether something outside of kernels reads the value.
  bool isReadOutside(Operation *op) const { return readOutside.contains(op); }
  const SizeEstimate &getEstimate() const { return estimate; }
  /// Values inlined into several kernels.
  unsigned numRepeated() const { return repeated; }

private:
  struct Demand {
    Operation *root;
    size_t path;
    ReadPlace place;
    double evaluations;
    int budget;
  };
  using Demands = SmallVector<Demand, 2>;
  /// What all readers of an operation demand together.
  struct Readers {
    double evaluations = 0;
    /// More evaluations than the operation has elements.
    bool repeatWork = false;
    /// The weight that may still be repeated in all of them.
    int budget = std::numeric_limits<int>::max();
    /// The loop nests they end up in.
    llvm::SmallPtrSet<Operation *, 4> roots;
  };

  void computeLayouts();
  void decide(Operation *op);
  Readers measureReaders(Operation *op, const Demands &reads) const;
  bool isCheap(Operation *op) const;
  bool isWorthInlining(Operation *op, const Demands &reads, const Readers &readers) const;
  void inlineInto(Operation *op, Demands reads, const Readers &readers);
  LayoutAttr layoutOfView(Operation *view);
  bool isReadAsItLies(Operation *view);
  void collect(OpOperand &use, Demands &demands);
  double evaluationsOf(const Demand &demand) const;
  bool isReadOnceByKernels(Operation *op, const Demands &reads) const;

  bool isReadByOtherOperator(Operation *op) const;

  GraphOp graph;
  bool merge;
  SizeEstimate estimate;
  llvm::DenseMap<Operation *, NestRole> roles;
  llvm::DenseMap<Operation *, Demands> demands;
  llvm::DenseMap<Value, LayoutAttr> layouts;
  /// Views that strides cannot express, and permutations of them: if something
  /// outside of kernels reads one, it is copied, and its permutations are views of
  /// the copy.
  llvm::DenseSet<Operation *> copiedViews, viewsOfCopies;
  llvm::DenseSet<Operation *> readOutside;
  llvm::DenseMap<Operation *, unsigned> loopOps, cheapDepth;
  unsigned repeated = 0;
};

/// Tensor operations that a kernel can compute.
bool isFusible(Operation *op);
/// Relative cost of one evaluation.
unsigned getWeight(Operation *op);

/// How many operations an operation counts as, for the limit of a kernel. A concatenation counts as
/// several, because its operands may be recomputed for each piece.
unsigned countOperations(Operation *op);
inline unsigned getStoredBytes(Value tensor) { return getStoredBytes(tensor.getType()); }

} // namespace mlir::frit
