// Summarises every region for `listSchedules` and gives it the first schedule of the list, or the
// one that the option `choices` asks for.
#include "ir/FritAttributes.h"
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
/// The iteration domain of a region and where its arguments are read.
class RegionDomain {
public:
  explicit RegionDomain(RegionOp region) : region(region), context(region.getContext()) {
    Block &body = region.getBody().front();
    for (ReduceOp reduce : body.getOps<ReduceOp>()) {
      if (!first) {
        first = reduce;
        shape = LoopShape::reduction(reduce);
      }
    }
    for (Value result : body.getTerminator()->getOperands()) {
      Operation *def = result.getDefiningOp();
      SmallVector<SizeExpr> sizes = def && isStacked(def)
                                        ? getLoopSizes(def)
                                        : getSizes(cast<RankedTensorType>(result.getType()));
      if (!first && (shape.sizes.empty() || !shape.total)) {
        shape = LoopShape::pointwise(sizes, context);
      } else if (product(context, sizes) == shape.total) {
        auto refined = refineSizes(shape.sizes, sizes, context);
        if (succeeded(refined)) {
          shape.sizes = *refined;
        } else if (!first && sizes.size() > shape.sizes.size()) {
          shape.sizes = sizes;
        }
      }
    }
    for (ReduceOp reduce : body.getOps<ReduceOp>()) {
      auto refined = refineSizes(
          shape.sizes, getSizes(cast<RankedTensorType>(reduce.getOperand().getType())), context);
      if (succeeded(refined)) {
        shape.sizes = *refined;
      }
    }
    split();
  }

  /// The sizes of parallel and of reduced dims, without dims of size 1.
  SmallVector<SizeExpr> parallel, reduced;
  /// The product of the parallel sizes inside the innermost reduced dim.
  SizeExpr width;
  LoopShape shape;
  ReduceOp first;

private:
  void split() {
    if (!first) {
      for (SizeExpr size : shape.sizes) {
        if (!size.isConstant(1)) {
          parallel.push_back(size);
        }
      }
      return;
    }
    // Refined dims subdivide the reduction's dims in order; match them from the innermost out.
    SmallVector<SizeExpr> own = getSizes(cast<RankedTensorType>(first.getOperand().getType()));
    size_t dim = shape.sizes.size();
    width = SizeExpr::constant(context, 1);
    for (size_t i = own.size(); i-- > 0;) {
      bool isReduced = llvm::is_contained(first.getDims(), static_cast<int64_t>(i));
      SizeExpr covered = SizeExpr::constant(context, 1);
      while (covered != own[i] && dim > 0) {
        SizeExpr size = shape.sizes[--dim];
        covered = covered * size;
        if (!size.isConstant(1)) {
          (isReduced ? reduced : parallel).push_back(size);
        }
        if (!isReduced && reduced.empty()) {
          width = width * size;
        }
      }
    }
    std::reverse(parallel.begin(), parallel.end());
    std::reverse(reduced.begin(), reduced.end());
  }

  RegionOp region;
  MLIRContext *context;
};

/// Bytes that the reads of a reduction move with unit stride along P and R.
class ReadTracer {
public:
  ReadTracer(RegionOp region, RegionSummary &summary) : region(region), summary(summary) {}

  void trace(ReduceOp reduce) {
    SmallVector<SizeExpr> sizes = getSizes(cast<RankedTensorType>(reduce.getOperand().getType()));
    shape = LoopShape::reduction(reduce);
    visit(reduce.getOperand(), ReadPlace::rowMajor(sizes, reduce.getContext()));
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
      (shape.isColumn() ? summary.bytesAlongParallel : summary.bytesAlongReduced) += bytes / 2;
      return;
    }
    LayoutAttr layout = getAssignedLayout(region.getOperand(argument.getArgNumber()));
    for (auto [digit, stride] : llvm::zip_equal(place.getDigits(), layout.getStrides())) {
      if (digit.extent.isConstant(1) || !SizeExpr(stride).isConstant(1)) {
        continue;
      }
      // An operand that several reductions read in the same way is read once.
      for (const Digit &part : shape.reduced) {
        if (part.stride == digit.stride) {
          summary.bytesAlongReduced +=
              alongReduced.insert(argument.getArgNumber()).second ? bytes : 0;
          return;
        }
      }
      for (const Digit &part : shape.parallel) {
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
  LoopShape shape;
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
    if (failed(asked->checkCount(graph, "region", candidates.size()))) {
      return signalPassFailure();
    }
    if (asked->areCounted()) {
      kScheduleCandidatesAttr.set(graph, DenseI64ArrayAttr::get(&getContext(), candidates));
    }
  }

  /// Gives the region candidate `number`, or the first one if there is no such number. Returns how
  /// many candidates there are.
  unsigned choose(RegionOp region, const SizeEstimate &estimate, bool isForGpu, unsigned number) {
    MLIRContext *context = &getContext();
    for (ScanOp scan : region.getBody().front().getOps<ScanOp>()) {
      scheduleScan(region, scan);
      return 1;
    }
    RegionDomain domain(region);
    RegionSummary summary;
    summary.reduces = static_cast<bool>(domain.first);
    for (SizeExpr size : domain.parallel) {
      summary.rows *= estimate.of(size);
    }
    for (SizeExpr size : domain.reduced) {
      summary.columns *= estimate.of(size);
    }
    summary.singleRow = domain.parallel.empty();
    if (!domain.reduced.empty() && llvm::all_of(domain.reduced, [](SizeExpr size) {
          return size.getConstant().has_value();
        })) {
      summary.knownColumns = static_cast<int64_t>(summary.columns);
    }
    if (domain.first) {
      summary.knownWidth = domain.width.getConstant().value_or(0);
    }
    measure(region, domain, estimate, summary);
    SmallVector<ScheduleCandidate, 2> candidates;
    if (isForGpu) {
      candidates = listSchedules(summary, ScheduleDevice{arch});
    } else {
      candidates = {{chooseFamily(summary), {}}};
    }
    ScheduleCandidate best = candidates[number < candidates.size() ? number : 0];
    SmallVector<SizeAttr> sizes(domain.parallel.begin(), domain.parallel.end());
    sizes.append(domain.reduced.begin(), domain.reduced.end());
    unsigned reducedRank = domain.reduced.size();
    if (summary.reduces && reducedRank == 0) {
      sizes.push_back(SizeExpr::constant(context, 1));
      reducedRank = 1;
    }
    region.setScheduleAttr(
        ScheduleAttr::get(context, best.kind, DimsAttr::get(context, sizes), reducedRank,
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

  /// The dim of the scan is the reduced one; kernels find their numbers by themselves.
  void scheduleScan(RegionOp region, ScanOp scan) {
    SmallVector<SizeAttr> sizes;
    SizeAttr length;
    for (auto [dim, size] : llvm::enumerate(getSizes(cast<RankedTensorType>(scan.getType())))) {
      if (dim == scan.getDim()) {
        length = size;
      } else if (!size.isConstant(1)) {
        sizes.push_back(size);
      }
    }
    sizes.push_back(length);
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

  void measure(RegionOp region, const RegionDomain &domain, const SizeEstimate &estimate,
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
    if (!domain.first) {
      summary.streamedBytes = streamedBytes(region, domain.shape.total, estimate);
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
            domain.first && !domain.reduced.empty() && getNumElements(type) == domain.shape.total;
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
