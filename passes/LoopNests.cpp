// Reverse walk that decides where each value is computed.
#include "passes/LoopNests.h"

#include "ir/FritAttributes.h"
#include "kernel/LoopDomain.h"
#include "passes/Layouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "frit-fuse-regions"

using namespace mlir;
using namespace mlir::frit;

/// Operations that one loop nest may pull in: bounds kernels and compile time.
static constexpr unsigned maxInlinedOps = 160;
/// Work (evaluations times weight) that is cheaper than a launch.
static constexpr double launchWork = 16384;
/// Up to this ratio of evaluations to elements, or of bytes read to bytes written, work does not
/// count as repeated.
static constexpr double repeatedShare = 1.05;
/// Weight that may be repeated behind one broadcast.
static constexpr int broadcastBudget = 6;
static constexpr unsigned maxDemands = 6;
static constexpr unsigned maxCheapDepth = 4;

//===----------------------------------------------------------------------===//
// Questions about single operations
//===----------------------------------------------------------------------===//

bool mlir::frit::isFusible(Operation *op) {
  if (op->getNumResults() != 1 || !isa<RankedTensorType>(op->getResult(0).getType())) {
    return false;
  }
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
         isa<ElementOpInterface, tensor::FromElementsOp>(op);
}

/// Whether the value is a function of the index alone, which costs nothing to recompute.
static bool isOfPlace(Operation *op) {
  return isa<ElementOpInterface>(op) && op->getNumOperands() == 0;
}

unsigned mlir::frit::countOperations(Operation *op) {
  auto concat = dyn_cast<ConcatOp>(op);
  if (!concat) {
    return 1;
  }
  // If sizes vary, nearly every combination of pieces is possible.
  bool areKnown = llvm::all_of(concat.getOperandTypes(), [&](Type type) {
    return getSizes(cast<RankedTensorType>(type))[concat.getDim()].getConstant().has_value();
  });
  return areKnown ? 10 : 40;
}

unsigned mlir::frit::getWeight(Operation *op) {
  if (auto element = dyn_cast<ElementOpInterface>(op)) {
    return element.getElementWeight();
  }
  if (isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp,
          math::CopySignOp, math::IsNaNOp, math::IsInfOp, math::FmaOp>(op)) {
    return 1;
  }
  if (isa<math::SqrtOp, math::RsqrtOp, arith::DivFOp>(op)) {
    return 4;
  }
  if (isa<math::MathDialect>(op->getDialect())) {
    return 12;
  }
  if (isa<arith::RemFOp>(op) || isIntegerDivision(op)) {
    return 8;
  }
  return 1;
}

//===----------------------------------------------------------------------===//
// Estimates
//===----------------------------------------------------------------------===//

SizeEstimate::SizeEstimate(GraphOp graph) {
  for (auto symbol : graph.getSymbols().getAsRange<SymbolAttr>()) {
    int64_t value = symbol.getHint().value_or(128);
    value = std::max<int64_t>(value, std::max<int64_t>(symbol.getMin(), 1));
    if (symbol.getMax()) {
      value = std::min<int64_t>(value, std::max<int64_t>(*symbol.getMax(), 1));
    }
    hints[symbol.getName()] = llvm::bit_floor(static_cast<uint64_t>(value));
  }
}

double SizeEstimate::of(SizeExpr size) const {
  std::optional<int64_t> value = size.evaluate([&](StringRef name) -> std::optional<int64_t> {
    auto it = hints.find(name);
    return it == hints.end() ? 128 : it->second;
  });
  return value ? std::max<double>(*value, 1) : 1e12;
}

double SizeEstimate::ofElements(Type tensor) const {
  double count = 1;
  for (SizeExpr size : getSizes(cast<RankedTensorType>(tensor))) {
    count *= of(size);
  }
  return count;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

LoopNests::LoopNests(GraphOp graph, bool merge) : graph(graph), merge(merge), estimate(graph) {
  computeLayouts();
  for (Operation &op : llvm::reverse(graph.getBody().front())) {
    decide(&op);
  }
}

bool LoopNests::mayMerge(Operation *a, Operation *b) const {
  return merge || kOperatorAttr.get(a) == kOperatorAttr.get(b);
}

bool LoopNests::isReadByOtherOperator(Operation *op) const {
  SmallVector<Operation *> readers(op->user_begin(), op->user_end());
  while (!readers.empty()) {
    Operation *reader = readers.pop_back_val();
    if (isView(reader)) {
      readers.append(reader->user_begin(), reader->user_end());
    } else if (!mayMerge(op, reader)) {
      return true;
    }
  }
  return false;
}

/// Computes the layouts that values have if no view is copied: strided views of arguments and of
/// calls, row-major results of kernels. Also finds the rank-0 operations that only combine
/// constants and host scalars, and how deep cheap operations are stacked.
void LoopNests::computeLayouts() {
  for (auto [i, argument] : llvm::enumerate(graph.getBody().getArguments())) {
    if (isa<RankedTensorType>(argument.getType())) {
      layouts[argument] = getArgumentLayout(graph, i);
    }
  }
  for (Operation &op : graph.getBody().front()) {
    bool scalar =
        isFusible(&op) && cast<RankedTensorType>(op.getResult(0).getType()).getRank() == 0;
    if (isa<arith::ConstantOp, tensor::FromElementsOp>(op) && isFusible(&op)) {
      roles[&op] = NestRole::Free;
    } else if (scalar && !isa<ReduceOp>(op) && !readsElsewhere(&op) &&
               llvm::all_of(op.getOperands(), [&](Value operand) {
                 Operation *def = operand.getDefiningOp();
                 return def && roles.lookup(def) == NestRole::Free;
               })) {
      roles[&op] = NestRole::Free;
    }
    for (OpResult result : op.getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type) {
        continue;
      }
      if (isView(&op)) {
        layouts[result] = layoutOfView(&op);
      } else {
        layouts[result] = isFusible(&op) ? getContiguousLayout(type)
                                         : getCallResultLayout(&op, result.getResultNumber());
      }
    }
    if (isFusible(&op) && !isView(&op)) {
      unsigned depth = 1;
      for (Value operand : op.getOperands()) {
        Operation *def = operand.getDefiningOp();
        while (def && isView(def)) {
          def = def->getOperand(0).getDefiningOp();
        }
        depth = std::max(depth, def ? cheapDepth.lookup(def) + 1 : 1);
      }
      cheapDepth[&op] = isa<ReduceOp, ScanOp>(op) ? 0 : depth;
    }
  }
}

/// Whether a kernel must write the view: part of it is a fill.
static bool hasFill(Operation *view) {
  auto reindex = dyn_cast<ReindexOp>(view);
  return reindex && reindex.getMap().hasBounds();
}

LayoutAttr LoopNests::layoutOfView(Operation *view) {
  if (hasFill(view)) {
    return getContiguousLayout(cast<RankedTensorType>(view->getResult(0).getType()));
  }
  LayoutAttr operand = layouts.lookup(view->getOperand(0));
  if (!operand) {
    return {};
  }
  std::optional<LayoutAttr> layout = getViewLayout(view, operand);
  Operation *base = view->getOperand(0).getDefiningOp();
  if (base && (copiedViews.contains(base) || viewsOfCopies.contains(base))) {
    auto permutation = dyn_cast<ReindexOp>(view);
    if (!layout || !permutation || !getPermutation(permutation)) {
      return {};
    }
    viewsOfCopies.insert(view);
    return *layout;
  }
  if (!layout && isa<ReshapeOp>(view)) {
    copiedViews.insert(view);
    return getContiguousLayout(cast<RankedTensorType>(view->getResult(0).getType()));
  }
  return layout ? *layout : LayoutAttr();
}

/// Whether every reader outside of kernels can read the view through strides.
bool LoopNests::isReadAsItLies(Operation *view) {
  Value result = view->getResult(0);
  if (hasFill(view) || copiedViews.contains(view)) {
    return false;
  }
  LayoutAttr layout = layouts.lookup(result);
  for (OpOperand &use : result.getUses()) {
    if (roles.lookup(use.getOwner()) != NestRole::Opaque) {
      continue;
    }
    LayoutDemand demand = getLayoutDemand(use);
    if (!layout || !satisfies(layout, cast<RankedTensorType>(result.getType()), demand)) {
      return false;
    }
    if (isa<ReturnOp>(use.getOwner())) {
      Value base = result;
      while (base.getDefiningOp() && isView(base.getDefiningOp())) {
        base = base.getDefiningOp()->getOperand(0);
      }
      auto storage = kResultStorageAttr.get(graph, use.getOperandNumber());
      if (storage && storage.getKind() == StorageKind::Fresh && isa<BlockArgument>(base)) {
        return false;
      }
    }
  }
  return true;
}

/// Collects what a reader demands of its operand, in terms of the loop nests it ends up in.
void LoopNests::collect(OpOperand &use, Demands &out) {
  Operation *user = use.getOwner();
  NestRole role = roles.lookup(user);
  auto push = [&](Demand demand) {
    for (Demand &other : out) {
      if (other.root == demand.root && other.path == demand.path) {
        other.budget = std::min(other.budget, demand.budget);
        return;
      }
    }
    if (out.size() <= maxDemands) {
      out.push_back(std::move(demand));
    }
  };
  auto step = [&](Demand demand) {
    if (role == NestRole::Loop && isStacked(user)) {
      return push(std::move(demand));
    }
    demand.place = demand.place.through(use);
    switch (getElementRead(use)) {
    case ElementRead::Here:
    case ElementRead::Once:
      break;
    case ElementRead::Mapped: {
      auto view = dyn_cast<ReindexOp>(user);
      demand.path =
          llvm::hash_combine(demand.path, view ? Attribute(view.getMap()).getAsOpaquePointer()
                                               : user->getResult(0).getType().getAsOpaquePointer());
      break;
    }
    case ElementRead::Piece:
      demand.path = llvm::hash_combine(demand.path, use.getOperandNumber(), user);
      demand.evaluations *= estimate.ofElements(use.get().getType()) /
                            estimate.ofElements(user->getResult(0).getType());
      break;
    case ElementRead::Chosen:
      demand.path = llvm::hash_combine(demand.path, user);
      break;
    }
    push(std::move(demand));
  };
  if (role == NestRole::Loop) {
    SmallVector<SizeExpr> sizes = getLoopSizes(user);
    double count = 1;
    for (SizeExpr size : sizes) {
      count *= estimate.of(size);
    }
    step({user, 0, ReadPlace::rowMajor(sizes, user->getContext()), count, broadcastBudget});
    return;
  }
  for (const Demand &demand : demands[user]) {
    step(demand);
  }
}

/// Evaluations after hoisting: what does not vary along the innermost part of a loop is computed
/// once outside of it.
double LoopNests::evaluationsOf(const Demand &demand) const {
  if (demand.place.isElsewhere()) {
    return demand.evaluations;
  }
  double inner = -1;
  for (const Digit &digit : demand.place.getDigits()) {
    if (!digit.extent.isConstant(1)) {
      double stride = estimate.of(digit.stride);
      inner = inner < 0 ? stride : std::min(inner, stride);
    }
  }
  return inner < 0 ? 1 : std::max(1.0, demand.evaluations / inner);
}

void LoopNests::decide(Operation *op) {
  if (!isFusible(op)) {
    roles[op] = NestRole::Opaque;
    return;
  }
  if (roles.lookup(op) == NestRole::Free) {
    // A constant that is read outside of kernels is written by a kernel; a host scalar is not.
    bool leaves = llvm::any_of(
        op->getUsers(), [&](Operation *user) { return roles.lookup(user) == NestRole::Opaque; });
    if (!leaves && !readOutside.contains(op)) {
      return;
    }
    readOutside.insert(op);
    if (!isa<tensor::FromElementsOp>(op)) {
      roles[op] = NestRole::Loop;
      loopOps[op] = 1;
    }
    return;
  }
  Demands reads;
  // Already set if a view of it is read through strides.
  bool outside = readOutside.contains(op);
  for (OpOperand &use : op->getResult(0).getUses()) {
    if (roles.lookup(use.getOwner()) == NestRole::Opaque) {
      outside = true;
    } else {
      collect(use, reads);
    }
  }
  if (outside) {
    readOutside.insert(op);
  }
  if (isView(op) || isOfPlace(op)) {
    if (!outside || (isView(op) && isReadAsItLies(op))) {
      roles[op] = NestRole::Free;
      demands[op] = std::move(reads);
      Operation *base = isView(op) ? op->getOperand(0).getDefiningOp() : nullptr;
      if (outside && base) {
        readOutside.insert(base);
      }
      return;
    }
    roles[op] = NestRole::Loop;
    loopOps[op] = 1;
    return;
  }
  // A sum of a segment is long work, which each of its readers would repeat somewhere else.
  bool isShared = isa<SegmentSumOp>(op) && llvm::any_of(reads, [](const Demand &demand) {
                    return demand.place.isElsewhere();
                  });
  if (outside || isShared || isa<ReduceOp, ScanOp>(op) || (!merge && isReadByOtherOperator(op))) {
    roles[op] = NestRole::Loop;
    loopOps[op] = 1;
    return;
  }
  Readers readers = measureReaders(op, reads);
  if (isWorthInlining(op, reads, readers)) {
    LDBG() << *op << " is computed by its " << reads.size() << " readers";
    inlineInto(op, std::move(reads), readers);
    return;
  }
  LDBG() << *op << " has a loop of its own for " << reads.size() << " readers";
  roles[op] = NestRole::Loop;
  loopOps[op] = 1;
}

/// True if the consumers end in different kernels but together evaluate each element about once:
/// one reads all of a row and one a value of it, or each reads a part of its own. Recomputing then
/// costs no more than a loop that stores the result, and the result is neither written nor read
/// again.
bool LoopNests::isReadOnceByKernels(Operation *op, const Demands &reads) const {
  if (reads.size() > maxDemands) {
    return false; // the list is incomplete
  }
  // Reductions of the same dims will be one kernel, together with nests over all of their domain: a
  // value that they read at the same place is evaluated once for all of them.
  struct Kernel {
    SmallVector<SizeExpr> sizes;
    std::optional<ArrayRef<int64_t>> dims;
    size_t path;
    double evaluations;
  };
  SmallVector<Kernel> kernels;
  for (const Demand &demand : reads) {
    auto reduce = dyn_cast<ReduceOp>(demand.root);
    Kernel next{getLoopSizes(demand.root), std::nullopt, demand.path, evaluationsOf(demand)};
    if (reduce) {
      next.dims = reduce.getDims();
    }
    auto same = llvm::find_if(kernels, [&](const Kernel &other) {
      return other.path == next.path && other.sizes == next.sizes &&
             (!other.dims || !next.dims || *other.dims == *next.dims);
    });
    if (same == kernels.end()) {
      kernels.push_back(std::move(next));
      continue;
    }
    same->dims = same->dims ? same->dims : next.dims;
    same->evaluations = std::max(same->evaluations, next.evaluations);
  }
  double total = 0, count = estimate.ofElements(op->getResult(0).getType());
  for (const Kernel &kernel : kernels) {
    total += kernel.evaluations;
  }
  // With a single kernel, fusion decides: the value becomes a loop nest of that kernel and is never
  // written.
  if (kernels.size() < 2 || total > repeatedShare * count) {
    return false;
  }
  // Inlining may force an operand with other readers into memory: allow no more bytes than the
  // result has.
  double bytes = 0;
  llvm::SmallPtrSet<Operation *, 4> seen;
  for (Value operand : op->getOperands()) {
    Operation *def = operand.getDefiningOp();
    bool shared = def && !llvm::all_equal(def->getUsers());
    while (def && isView(def)) {
      def = def->getOperand(0).getDefiningOp();
      shared |= def && !llvm::all_equal(def->getUsers());
    }
    bool computed = def && isFusible(def) && !isa<ReduceOp>(def) && !isOfPlace(def) &&
                    roles.lookup(def) != NestRole::Free;
    if (computed && shared && seen.insert(def).second) {
      bytes += estimate.ofElements(def->getResult(0).getType()) * getStoredBytes(def->getResult(0));
    }
  }
  return bytes <= repeatedShare * count * getStoredBytes(op->getResult(0));
}

LoopNests::Readers LoopNests::measureReaders(Operation *op, const Demands &reads) const {
  Readers readers;
  for (const Demand &demand : reads) {
    readers.evaluations += evaluationsOf(demand);
    readers.budget = std::min(readers.budget, demand.budget);
    readers.roots.insert(demand.root);
  }
  readers.repeatWork =
      readers.evaluations > repeatedShare * estimate.ofElements(op->getResult(0).getType());
  return readers;
}

/// True for casts, comparisons, masks and the like, which read no more bytes than they produce.
bool LoopNests::isCheap(Operation *op) const {
  unsigned bytesIn = 0;
  for (Value operand : op->getOperands()) {
    Operation *def = operand.getDefiningOp();
    if (def && isView(def) && def->getOperand(0).getDefiningOp()) {
      def = def->getOperand(0).getDefiningOp();
    }
    bool free = def && (isOfPlace(def) || (roles.lookup(def) == NestRole::Free && !isView(def)));
    bytesIn += free || !isa<RankedTensorType>(operand.getType()) ? 0 : getStoredBytes(operand);
  }
  // A cast that widens is always: in memory, what it reads takes less room.
  return getWeight(op) <= 1 && bytesIn <= getStoredBytes(op->getResult(0)) &&
         (isa<arith::ExtFOp>(op) || cheapDepth.lookup(op) <= maxCheapDepth);
}

/// Whether an elementwise operation is computed in its readers; the rules are those at the top of
/// LoopNests.h.
bool LoopNests::isWorthInlining(Operation *op, const Demands &reads, const Readers &readers) const {
  if (llvm::any_of(readers.roots,
                   [&](Operation *root) { return loopOps.lookup(root) >= maxInlinedOps; })) {
    return false;
  }
  bool hasOneRoot = readers.roots.size() == 1;
  if (reads.empty() || (hasOneRoot && !readers.repeatWork)) {
    return true;
  }
  if (!hasOneRoot && isReadOnceByKernels(op, reads)) {
    return true;
  }
  unsigned weight = getWeight(op);
  double count = estimate.ofElements(op->getResult(0).getType());
  bool repeatsLittle =
      reads.size() <= maxDemands && (readers.evaluations - count) * weight <= launchWork;
  if (repeatsLittle && (hasOneRoot || readers.evaluations * weight <= launchWork)) {
    return true;
  }
  if (isCheap(op)) {
    return true;
  }
  return hasOneRoot && reads.size() <= 4 && static_cast<int>(weight) <= readers.budget;
}

/// Computes an operation in its readers, at the expense of their loop nests and, if that repeats
/// work, of what else may be repeated there.
void LoopNests::inlineInto(Operation *op, Demands reads, const Readers &readers) {
  for (Operation *root : readers.roots) {
    loopOps[root] += countOperations(op);
  }
  repeated += readers.roots.size() > 1;
  if (readers.repeatWork && !isCheap(op)) {
    for (Demand &demand : reads) {
      demand.budget -= getWeight(op);
    }
  }
  roles[op] = NestRole::Inlined;
  demands[op] = std::move(reads);
}
