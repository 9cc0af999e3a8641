// Summarises every region for `listSchedules` and gives it the first schedule of the list, or the
// one that the option `choices` selects.
#include "passes/FusionRules.h"
#include "passes/Layouts.h"
#include "passes/LoopNests.h"
#include "passes/Passes.h"
#include "passes/schedule/Schedule.h"
#include "passes/schedule/ScheduleChoices.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::frit {
#define GEN_PASS_DEF_CHOOSESCHEDULESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
/// Bytes that the reads of a reduction move with unit stride along P and R.
class ReadTracer {
public:
  ReadTracer(RegionOp region, RegionSummary &summary) : region(region), summary(summary) {}

  void trace(ReduceOp reduce) {
    domain = LoopDomain::reduction(reduce);
    visit(reduce.getOperand(), ReadPlace::rowMajor(domain.getSizes(), reduce.getContext()));
  }

  /// The number of operands that reductions read along R.
  unsigned countOperands() const { return alongReduced.size(); }

private:
  void visit(Value root, ReadPlace where) {
    SmallVector<std::pair<Value, ReadPlace>> stack{{root, where}};
    while (!stack.empty()) {
      auto [value, place] = stack.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        count(argument, place);
        continue;
      }
      Operation *op = value.getDefiningOp();
      if (!seen.insert({op, unsigned(place.isElsewhere())}).second || isa<ReduceOp>(op)) {
        continue;
      }
      for (OpOperand &operand : op->getOpOperands()) {
        if (isa<RankedTensorType>(operand.get().getType())) {
          stack.push_back({operand.get(), place.through(operand)});
        }
      }
    }
  }

  void count(BlockArgument argument, const ReadPlace &place) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type) {
      return;
    }
    double bytes = getStoredBytes(argument);
    if (place.isElsewhere()) {
      // A slice or gather: assume that it is contiguous in the direction of the loop.
      (domain.isColumn() ? summary.bytesAlongParallel : summary.bytesAlongReduced) += bytes / 2;
      return;
    }
    LayoutAttr layout = getAssignedLayout(region.getOperand(argument.getArgNumber()));
    for (auto [digit, stride] : llvm::zip_equal(place.getDigits(), layout.getStrides())) {
      if (digit.extent.isConstant(1) || !SizeExpr(stride).isConstant(1)) {
        continue;
      }
      // An operand that several reductions read in the same way is read once.
      for (const Digit &part : domain.getReduced()) {
        if (part.stride == digit.stride) {
          summary.bytesAlongReduced +=
              alongReduced.insert(argument.getArgNumber()).second ? bytes : 0;
          return;
        }
      }
      for (const Digit &part : domain.getParallel()) {
        if (part.stride == digit.stride) {
          summary.bytesAlongParallel +=
              alongParallel.insert(argument.getArgNumber()).second ? bytes : 0;
          return;
        }
      }
    }
  }

  RegionOp region;
  RegionSummary &summary;
  LoopDomain domain;
  llvm::SmallDenseSet<unsigned> alongReduced, alongParallel;
  llvm::DenseSet<std::pair<Operation *, unsigned>> seen;
};

struct ChooseSchedulesPass : frit::impl::ChooseSchedulesPassBase<ChooseSchedulesPass> {
  using frit::impl::ChooseSchedulesPassBase<ChooseSchedulesPass>::ChooseSchedulesPassBase;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    SizeEstimate estimate(graph);
    bool isForGpu = target == "gpu";
    if (target != "gpu" && target != "cpu") {
      graph.emitError("unknown schedule target '") << target << "': expected cpu or gpu";
      return signalPassFailure();
    }
    auto asked = ScheduleChoices::parse(graph, choices);
    if (failed(asked)) {
      return signalPassFailure();
    }
    SmallVector<int64_t> candidates;
    for (RegionOp region : graph.getBody().front().getOps<RegionOp>()) {
      unsigned number = asked->of(candidates.size());
      candidates.push_back(choose(region, estimate, isForGpu, number));
      if (number >= candidates.back()) {
        region.emitError("schedule ")
            << number << " was chosen for region " << candidates.size() - 1 << ", which has "
            << candidates.back();
        return signalPassFailure();
      }
    }
    if (failed(asked->finish(graph, "region", candidates))) {
      return signalPassFailure();
    }
  }

  /// Gives the region candidate `number`, or the first one if there is no such number. Returns how
  /// many candidates there are.
  unsigned choose(RegionOp region, const SizeEstimate &estimate, bool isForGpu, unsigned number) {
    MLIRContext *context = &getContext();
    if (!region.getBody().front().getOps<ScanOp>().empty()) {
      scheduleScan(region);
      return 1;
    }
    LoopDomain domain = LoopDomain::ofBody(region.getBody().front());
    SmallVector<SizeExpr> parallel = domain.getParallelSizes(), reduced = domain.getReducedSizes();
    RegionSummary summary;
    summary.reduces = domain.reduces();
    for (SizeExpr size : parallel) {
      summary.rows *= estimate.of(size);
    }
    for (SizeExpr size : reduced) {
      summary.columns *= estimate.of(size);
    }
    summary.singleRow = parallel.empty();
    if (!domain.getReduced().empty() &&
        llvm::all_of(reduced, [](SizeExpr size) { return size.getConstant().has_value(); })) {
      summary.knownColumns = static_cast<int64_t>(summary.columns);
    }
    if (domain.reduces()) {
      summary.knownWidth = domain.getInnerWidth().getConstant().value_or(0);
    }
    measure(region, domain, estimate, summary);
    SmallVector<ScheduleCandidate, 2> candidates;
    if (isForGpu) {
      candidates = listSchedules(summary, ScheduleDevice{arch});
    } else {
      candidates = {{chooseFamily(summary), {}}};
    }
    ScheduleCandidate best = candidates[number < candidates.size() ? number : 0];
    SmallVector<SizeAttr> sizes(parallel.begin(), parallel.end());
    sizes.append(reduced.begin(), reduced.end());
    region.setScheduleAttr(
        ScheduleAttr::get(context, best.kind, DimsAttr::get(context, sizes), reduced.size(),
                          isForGpu ? best.numbers.toAttr(context) : GpuNumbersAttr()));
    if (number > 0) {
      region.setPinned(true);
    }
    switch (best.kind) {
    case ScheduleKind::Pointwise:
      ++pointwise;
      break;
    case ScheduleKind::RowReduction:
      ++rowReductions;
      break;
    case ScheduleKind::ColumnReduction:
      ++columnReductions;
      break;
    case ScheduleKind::FullReduction:
      ++fullReductions;
      break;
    case ScheduleKind::Scan:
      llvm_unreachable("scans have been scheduled above");
    }
    return candidates.size();
  }

  /// The dim of the scan is the reduced one; the numbers are chosen for the kernel.
  void scheduleScan(RegionOp region) {
    LoopDomain domain = LoopDomain::ofBody(region.getBody().front());
    SmallVector<SizeAttr> sizes;
    llvm::append_range(sizes, domain.getParallelSizes());
    llvm::append_range(sizes, domain.getReducedSizes());
    region.setScheduleAttr(ScheduleAttr::get(&getContext(), ScheduleKind::Scan,
                                             DimsAttr::get(&getContext(), sizes),
                                             /*reducedRank=*/1, GpuNumbersAttr()));
    ++scans;
  }

  /// The element size of the only large operand, if every point reads its own element of it; else
  /// 0.
  static unsigned streamedBytes(RegionOp region, SizeExpr total, const SizeEstimate &estimate) {
    constexpr double small = 1.0 / 16;
    BlockArgument only;
    for (BlockArgument argument : region.getBody().front().getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type || estimate.ofElements(type) < small * estimate.of(total)) {
        continue;
      }
      if (only || getNumElements(type) != total) {
        return 0;
      }
      only = argument;
    }
    for (Operation &op : region.getBody().front()) {
      bool isElsewhere = isa<ReindexOp, GatherOp, ConcatOp>(op) &&
                         llvm::any_of(op.getOperands(), [&](Value operand) {
                           auto type = dyn_cast<RankedTensorType>(operand.getType());
                           return type && getNumElements(type) == total;
                         });
      if (isElsewhere || isa<ConcatOp>(op)) {
        return 0;
      }
    }
    return only ? getStoredBytes(only) : 0;
  }

  void measure(RegionOp region, const LoopDomain &domain, const SizeEstimate &estimate,
               RegionSummary &summary) {
    Block &body = region.getBody().front();
    summary.widestBytes = 1;
    summary.narrowestBytes = 8;
    auto element = [&](Value value) {
      if (isa<RankedTensorType>(value.getType())) {
        summary.widestBytes = std::max(summary.widestBytes, getStoredBytes(value));
        summary.narrowestBytes = std::min(summary.narrowestBytes, getStoredBytes(value));
      }
    };
    llvm::for_each(region.getOperands(), element);
    llvm::for_each(region.getResults(), element);
    if (!domain.reduces()) {
      summary.streamedBytes = streamedBytes(region, domain.getTotal(), estimate);
    }
    // Values that depend on a reduction.
    llvm::DenseSet<Value> after;
    for (Operation &op : body) {
      if (op.getNumResults() != 1 || !isa<RankedTensorType>(op.getResult(0).getType())) {
        continue;
      }
      summary.weight += isView(&op) ? 0 : getWeight(&op);
      bool follows = llvm::any_of(op.getOperands(), [&](Value v) { return after.contains(v); });
      auto type = cast<RankedTensorType>(op.getResult(0).getType());
      if (isa<ReduceOp>(op)) {
        summary.hasEpilogue |= follows && dependsOnFull(&op, after);
        after.insert(op.getResult(0));
      } else if (follows) {
        after.insert(op.getResult(0));
        summary.hasEpilogue |=
            !domain.getReduced().empty() && getNumElements(type) == domain.getTotal();
      }
    }
    ReadTracer tracer(region, summary);
    summary.carriedValues = summary.carriedRegisters = 0;
    for (ReduceOp reduce : body.getOps<ReduceOp>()) {
      tracer.trace(reduce);
      summary.carriedValues += countCarried(reduce.getKind());
      // A position beside the value.
      bool isArg = isArgReduction(reduce.getKind());
      unsigned registers = getStoredBytes(reduce.getOperand()) > 4 ? 2 : 1;
      if (reduce.getKind() == ReduceKind::Deviations) {
        // Per lane the squares, a distance and its reference point; one count for all lanes.
        summary.carriedRegisters += 3 * registers;
        continue;
      }
      summary.carriedRegisters += registers + (isArg ? 2 : 0);
    }
    summary.slotBytes = getSlotBytes(body.getOps<ReduceOp>());
    summary.keptOperands = std::max(1u, tracer.countOperands());
  }

  static bool dependsOnFull(Operation *op, const llvm::DenseSet<Value> &after) {
    return after.contains(op->getOperand(0));
  }
};
} // namespace
