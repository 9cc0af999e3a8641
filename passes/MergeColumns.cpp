// Merges a column-reduction region into a row-reduction region that sweeps the same tensor: the
// gradients of a norm in one pass over memory.
//
// It runs after schedules are chosen, so the direction of each region is known. The columns use
// values that the rows have in registers.
#include "ir/FritAttributes.h"
#include "passes/FusionRules.h"
#include "passes/Layouts.h"
#include "passes/LoopNests.h"
#include "passes/Passes.h"
#include "passes/schedule/Schedule.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "frit-merge-columns"

namespace mlir::frit {
#define GEN_PASS_DEF_MERGECOLUMNSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {

/// The domain of a region's first reduction.
LoopDomain getDomain(RegionOp region) {
  return LoopDomain::reduction(getFirstReduce(region.getBody().front()));
}

/// All values in the body that depend on a reduction.
llvm::DenseSet<Value> behindReductions(Block &body) {
  llvm::DenseSet<Value> behind;
  for (Operation &op : body.without_terminator()) {
    if (isa<ReduceOp>(op) ||
        llvm::any_of(op.getOperands(), [&](Value operand) { return behind.contains(operand); })) {
      behind.insert(op.getResult(0));
    }
  }
  return behind;
}

struct MergeColumnsPass : frit::impl::MergeColumnsPassBase<MergeColumnsPass> {
  using MergeColumnsPassBase::MergeColumnsPassBase;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    if (failed(checkArchitecture(graph, arch))) {
      return signalPassFailure();
    }
    SizeEstimate estimate(graph);
    SmallVector<RegionOp> columns;
    for (RegionOp region : graph.getBody().front().getOps<RegionOp>()) {
      if (region.getScheduleAttr() &&
          region.getScheduleAttr().getKind() == ScheduleKind::ColumnReduction &&
          isPlainColumns(region)) {
        columns.push_back(region);
      }
    }
    // A region whose schedule was requested explicitly (to measure it) keeps a kernel of its own.
    llvm::erase_if(columns, [](RegionOp region) { return region.getPinned(); });
    for (RegionOp region : columns) {
      for (RegionOp rows : partnersOf(region)) {
        if (merge(rows, region, estimate)) {
          break;
        }
      }
    }
    graph.walk([](RegionOp region) { region.setPinned(false); });
  }

private:
  /// Whether the region has a single phase of simple reductions, without positions or deviations,
  /// and every other result is independent of them.
  static bool isPlainColumns(RegionOp region) {
    Block &body = region.getBody().front();
    llvm::DenseSet<Value> behind = behindReductions(body);
    for (Operation &op : body.without_terminator()) {
      if (auto reduce = dyn_cast<ReduceOp>(op)) {
        if (isArgReduction(reduce.getKind()) || reduce.getKind() == ReduceKind::Deviations ||
            behind.contains(reduce.getOperand())) {
          return false;
        }
      } else if (readsElsewhere(&op)) {
        return false;
      }
    }
    SizeExpr columns = getDomain(region).countRows();
    return llvm::all_of(body.getTerminator()->getOperands(), [&](Value result) {
      return !behind.contains(result) ||
             getNumElements(cast<RankedTensorType>(result.getType())) == columns;
    });
  }

  /// Row regions that read or produce a domain-sized operand of the columns; nearest in the graph
  /// first.
  static SmallVector<RegionOp> partnersOf(RegionOp columns) {
    llvm::SmallSetVector<Operation *, 4> found;
    SizeExpr total = getDomain(columns).getTotal();
    auto consider = [&](Operation *op) {
      auto region = dyn_cast_or_null<RegionOp>(op);
      if (!region || region == columns || op->getBlock() != columns->getBlock() ||
          !region.getScheduleAttr()) {
        return;
      }
      ScheduleAttr schedule = region.getScheduleAttr();
      GpuNumbersAttr numbers = schedule.getNumbers();
      bool isShared = numbers && (numbers.getCluster() || numbers.getSplit());
      bool isWhole =
          schedule.getKind() == ScheduleKind::RowReduction && !region.getPinned() && !isShared;
      if (isWhole && region.getBody().front().getOps<GatherOp>().empty() &&
          region.getBody().front().getOps<ConcatOp>().empty()) {
        found.insert(op);
      }
    };
    for (Value operand : columns.getOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (type && getNumElements(type) == total) {
        consider(operand.getDefiningOp());
        llvm::for_each(operand.getUsers(), consider);
      }
    }
    SmallVector<RegionOp> partners;
    for (Operation *op : found) {
      partners.push_back(cast<RegionOp>(op));
    }
    llvm::sort(partners, [&](RegionOp a, RegionOp b) { return b->isBeforeInBlock(a); });
    return partners;
  }

  /// The position of the merged region: that of one of the two, if nothing between them depends on
  /// the one that moves; else null.
  static Operation *placeFor(Operation *first, Operation *second) {
    bool movesDown = true;
    for (Operation *op = first->getNextNode(); op != second; op = op->getNextNode()) {
      if (!isMemoryEffectFree(op)) {
        return nullptr;
      }
      movesDown &= llvm::none_of(op->getOperands(),
                                 [&](Value operand) { return operand.getDefiningOp() == first; });
    }
    if (movesDown) {
      return second;
    }
    bool movesUp = llvm::all_of(second->getOperands(), [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return !def || def == first || def->isBeforeInBlock(first);
    });
    return movesUp ? first : nullptr;
  }

  /// Whether the columns read results of the rows only at the point that is being computed.
  static bool readsInPlace(RegionOp columns, RegionOp rows, const LoopDomain &along) {
    MLIRContext *context = columns.getContext();
    Block &body = columns.getBody().front();
    SmallVector<std::pair<Value, ReadPlace>> stack;
    llvm::DenseSet<Value> behind = behindReductions(body);
    Signature whole;
    auto start = [&](Value value) {
      ReadPlace place =
          ReadPlace::rowMajor(getSizes(cast<RankedTensorType>(value.getType())), context);
      whole = place.getSignature();
      stack.push_back({value, place});
    };
    for (ReduceOp reduce : body.getOps<ReduceOp>()) {
      start(reduce.getOperand());
    }
    for (Value result : body.getTerminator()->getOperands()) {
      if (!behind.contains(result)) {
        start(result);
      }
    }
    llvm::DenseSet<std::pair<Value, const void *>> seen;
    unsigned steps = 0;
    while (!stack.empty()) {
      auto [value, place] = stack.pop_back_val();
      if (++steps > 4096) {
        return false;
      }
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (columns.getOperand(argument.getArgNumber()).getDefiningOp() != rows) {
          continue;
        }
        bool isFull =
            getNumElements(cast<RankedTensorType>(argument.getType())) == along.getTotal();
        if (place.isElsewhere() || place.getSignature() != (isFull ? whole : along.getParallel())) {
          return false;
        }
        continue;
      }
      for (OpOperand &operand : value.getDefiningOp()->getOpOperands()) {
        if (isa<RankedTensorType>(operand.get().getType())) {
          stack.push_back({operand.get(), place.through(operand)});
        }
      }
    }
    return true;
  }

  bool merge(RegionOp rows, RegionOp columns, const SizeEstimate &estimate) {
    MLIRContext *context = &getContext();
    LoopDomain along = getDomain(rows), down = getDomain(columns);
    if (along.getTotal() != down.getTotal() || along.getParallel() != down.getReduced() ||
        along.getReduced() != down.getParallel()) {
      return false;
    }
    bool rowsFirst = rows->isBeforeInBlock(columns);
    if (!rowsFirst && llvm::any_of(rows.getOperands(), [&](Value operand) {
          return operand.getDefiningOp() == columns;
        })) {
      return false;
    }
    Operation *place = rowsFirst ? placeFor(rows, columns) : placeFor(columns, rows);
    auto domain = domainOf(rows.getScheduleAttr(), columns.getScheduleAttr());
    if (!place || failed(domain) || !readsInPlace(columns, rows, along)) {
      ++elsewhere;
      return refuse(rows, columns, "they read each other's values elsewhere");
    }
    BothWays both = measure(rows, columns, along, estimate);
    switch (both.refusal) {
    case BothWays::Refusal::None:
      break;
    case BothWays::Refusal::UnknownLength:
      ++unknownLength;
      return refuse(rows, columns, "the length of a row is not known");
    case BothWays::Refusal::TooManyRegisters:
      ++tooManyRegisters;
      return refuse(rows, columns, "a thread would need too many registers");
    case BothWays::Refusal::TooFewRows:
      ++tooFewRows;
      return refuse(rows, columns, "there are too few rows");
    }
    auto schedule = ScheduleAttr::get(context, ScheduleKind::RowReduction,
                                      DimsAttr::get(context, domain->first), domain->second,
                                      both.numbers.toAttr(context));
    LDBG() << rows.getLoc() << " reduces columns for " << columns.getLoc() << " too: " << schedule;
    build(rows, columns, place, schedule);
    ++merged;
    return true;
  }

  static bool refuse(RegionOp rows, RegionOp columns, StringRef why) {
    LDBG() << rows.getLoc() << " and " << columns.getLoc() << " stay apart: " << why;
    return false;
  }

  /// The common refinement of both domains, and how many of its dims are reduced along a row.
  FailureOr<std::pair<SmallVector<SizeAttr>, unsigned>> domainOf(ScheduleAttr rows,
                                                                 ScheduleAttr columns) {
    auto refine = [&](ArrayRef<SizeAttr> a, ArrayRef<SizeAttr> b) {
      return refineSizes(SmallVector<SizeExpr>(a), SmallVector<SizeExpr>(b), &getContext());
    };
    auto parallel = refine(rows.getParallelSizes(), columns.getReducedSizes()),
         along = refine(rows.getReducedSizes(), columns.getParallelSizes());
    if (failed(parallel) || failed(along) || parallel->empty() || along->empty()) {
      return failure();
    }
    SmallVector<SizeAttr> sizes(parallel->begin(), parallel->end());
    sizes.append(along->begin(), along->end());
    return std::pair(sizes, static_cast<unsigned>(along->size()));
  }

  BothWays measure(RegionOp rows, RegionOp columns, const LoopDomain &along,
                   const SizeEstimate &estimate) {
    RegionSummary summary;
    summary.reduces = summary.hasEpilogue = true;
    summary.rows = estimate.of(along.countRows());
    SizeExpr length = along.getRowLength();
    summary.columns = estimate.of(length);
    summary.knownColumns = length.getConstant().value_or(0);
    summary.widestBytes = 1;
    summary.narrowestBytes = 8;
    summary.keptOperands = 0;
    ColumnsBeside beside;
    beside.results = 0;
    llvm::DenseSet<Value> read(rows.getOperands().begin(), rows.getOperands().end()), seen;
    auto element = [&](Value value) {
      summary.widestBytes = std::max(summary.widestBytes, getStoredBytes(value));
      summary.narrowestBytes = std::min(summary.narrowestBytes, getStoredBytes(value));
    };
    for (RegionOp region : {rows, columns}) {
      for (Value operand : region.getOperands()) {
        auto type = dyn_cast<RankedTensorType>(operand.getType());
        if (!type) {
          continue;
        }
        element(operand);
        SizeExpr elements = getNumElements(type);
        bool isFull = elements == along.getTotal(), isMade = operand.getDefiningOp() == rows;
        if (isFull && region == columns && (isMade || read.contains(operand))) {
          beside.bytesSaved += getStoredBytes(operand);
        }
        if (isMade || !seen.insert(operand).second) {
          continue;
        }
        bool isOfRow = elements == along.countRows() || elements.isConstant(1);
        bool isOfColumn = elements == length;
        // A value of any other size counts as one of the full domain.
        summary.keptOperands += isFull || (!isOfRow && !isOfColumn);
        beside.common += isOfColumn && !isFull;
      }
      llvm::for_each(region.getResults(), element);
      for (ReduceOp reduce : region.getBody().front().getOps<ReduceOp>()) {
        beside.results += region == columns || reduce.getAcross();
      }
    }
    return scheduleBothWays(summary, beside, ScheduleDevice{arch});
  }

  /// Builds the merged region: the union of the operands, the body of the rows, then that of the
  /// columns, whose reductions become `across`.
  void build(RegionOp rows, RegionOp columns, Operation *place, ScheduleAttr schedule) {
    MLIRContext *context = &getContext();
    llvm::SmallSetVector<Value, 8> operands(rows.getOperands().begin(), rows.getOperands().end());
    for (Value operand : columns.getOperands()) {
      if (operand.getDefiningOp() != rows) {
        operands.insert(operand);
      }
    }
    SmallVector<Type> types(rows.getResultTypes());
    llvm::append_range(types, columns.getResultTypes());
    SmallVector<Attribute> layouts;
    for (RegionOp region : {rows, columns}) {
      for (Value result : region.getResults()) {
        layouts.push_back(getAssignedLayout(result));
      }
    }
    OpBuilder builder(place);
    Location loc = FusedLoc::get(context, {rows.getLoc(), columns.getLoc()});
    auto both = RegionOp::create(builder, loc, types, operands.getArrayRef(), schedule,
                                 ArrayAttr::get(context, layouts));
    kLayoutsAttr.set(both, ArrayAttr::get(context, layouts));
    Block &body = both.getBody().emplaceBlock();
    IRMapping outside;
    for (Value operand : operands) {
      outside.map(operand, body.addArgument(operand.getType(), operand.getLoc()));
    }
    builder.setInsertionPointToEnd(&body);
    SmallVector<Value> yielded;
    for (RegionOp region : {rows, columns}) {
      IRMapping mapping;
      for (auto [argument, operand] :
           llvm::zip_equal(region.getBody().getArguments(), region.getOperands())) {
        mapping.map(argument, outside.lookup(operand));
      }
      for (Operation &op : region.getBody().front().without_terminator()) {
        Operation *copy = builder.clone(op, mapping);
        if (auto reduce = dyn_cast<ReduceOp>(copy); reduce && region == columns) {
          reduce.setAcross(true);
        }
      }
      for (auto [result, value] : llvm::zip_equal(
               region.getResults(), region.getBody().front().getTerminator()->getOperands())) {
        yielded.push_back(mapping.lookup(value));
        outside.map(result, yielded.back());
      }
    }
    YieldOp::create(builder, loc, yielded);
    unsigned next = 0;
    for (RegionOp region : {rows, columns}) {
      for (Value result : region.getResults()) {
        result.replaceAllUsesWith(both.getResult(next++));
      }
    }
    columns.erase();
    rows.erase();
    dropUnread(both, layouts);
  }

  /// Drops results that only the columns read.
  static void dropUnread(RegionOp &region, ArrayRef<Attribute> layouts) {
    SmallVector<Value> kept;
    SmallVector<Attribute> keptLayouts;
    SmallVector<Value> yielded;
    Operation *yield = region.getBody().front().getTerminator();
    for (auto [i, result] : llvm::enumerate(region.getResults())) {
      if (!result.use_empty()) {
        kept.push_back(result);
        keptLayouts.push_back(layouts[i]);
        yielded.push_back(yield->getOperand(i));
      }
    }
    if (kept.size() == region.getNumResults()) {
      return;
    }
    OpBuilder builder(region);
    auto smaller = RegionOp::create(builder, region.getLoc(), TypeRange(ValueRange(kept)),
                                    region.getOperands(), region.getScheduleAttr(),
                                    builder.getArrayAttr(keptLayouts));
    kLayoutsAttr.set(smaller, builder.getArrayAttr(keptLayouts));
    smaller.getBody().takeBody(region.getBody());
    smaller.getBody().front().getTerminator()->setOperands(yielded);
    for (auto [old, now] : llvm::zip_equal(kept, smaller.getResults())) {
      old.replaceAllUsesWith(now);
    }
    region.erase();
  }
};
} // namespace
