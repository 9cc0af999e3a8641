// Puts every group of loop nests into a frit.region, and orders the operations of the graph so that
// each region precedes its first reader.
#include "ir/FritAttributes.h"
#include "passes/FusionClusters.h"
#include "passes/Layouts.h"
#include "passes/NormalForm.h"
#include "passes/Passes.h"
#include "passes/Raising.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::frit {
#define GEN_PASS_DEF_FUSEREGIONSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
class RegionBuilder {
public:
  RegionBuilder(GraphOp graph, const LoopNests &nests, const FusionClusters &clusters)
      : graph(graph), nests(nests), clusters(clusters), block(graph.getBody().front()) {}

  LogicalResult run() {
    unsigned number = 0;
    for (Operation &op : block) {
      order[&op] = number++;
      original.push_back(&op);
    }
    byUnit.resize(number, nullptr);
    state.resize(number, 0);
    for (Operation *op : original) {
      if (nests.getRole(op) == NestRole::Opaque) {
        byUnit[clusters.getUnit(op)] = op;
      }
    }
    for (Operation *op : original) {
      if (isDue(op) && failed(emitWithPredecessors(clusters.getUnit(op)))) {
        return failure();
      }
    }
    // Free views that operators read have moved with their readers; all others are dead.
    for (Operation *op : llvm::reverse(original)) {
      if (nests.getRole(op) != NestRole::Opaque && !moved.contains(op)) {
        op->dropAllUses();
        op->erase();
      }
    }
    return success();
  }

  unsigned numRegions = 0, numKernelOps = 0;

private:
  /// Whether to emit the kernel of this operation now. A kernel that writes less than it reads runs
  /// as early as in the program (a gradient is summed and freed), any other just before its first
  /// reader.
  bool isDue(Operation *op) {
    if (nests.getRole(op) == NestRole::Opaque) {
      return true;
    }
    unsigned unit = clusters.getUnit(op);
    ArrayRef<Operation *> loops = clusters.getLoops(unit);
    if (loops.empty() || loops.back() != op) {
      return false;
    }
    auto bytesOf = [&](Value value) {
      return nests.getEstimate().ofElements(value.getType()) * getStoredBytes(value);
    };
    double made = 0, read = 0;
    for (Value value : resultsOf(loops)) {
      made += bytesOf(value);
    }
    for (Value value : clusters.getInputs(unit)) {
      read += bytesOf(value);
    }
    return made > 0 && made < read;
  }

  SmallVector<Value> resultsOf(ArrayRef<Operation *> loops) {
    SmallVector<Value> results;
    for (Operation *loop : loops) {
      if (nests.isReadOutside(loop) || clusters.isReadByOtherKernel(loop)) {
        results.push_back(loop->getResult(0));
      }
    }
    return results;
  }

  LogicalResult emitWithPredecessors(unsigned root) {
    struct Frame {
      unsigned unit;
      SmallVector<unsigned> predecessors;
      size_t next = 0;
    };
    if (state[root]) {
      return success();
    }
    SmallVector<Frame> stack;
    state[root] = 1;
    stack.push_back({root, clusters.getPredecessors(root)});
    while (!stack.empty()) {
      Frame &frame = stack.back();
      if (frame.next == frame.predecessors.size()) {
        emit(frame.unit);
        state[frame.unit] = 2;
        stack.pop_back();
        continue;
      }
      unsigned unit = frame.predecessors[frame.next++];
      if (state[unit] == 1) {
        return graph.emitError("fusion of '")
               << graph.getName() << "' made a cycle; report it with the imported graph";
      }
      if (state[unit] == 0) {
        state[unit] = 1;
        stack.push_back({unit, clusters.getPredecessors(unit)});
      }
    }
    return success();
  }

  void emit(unsigned unit) {
    ArrayRef<Operation *> loops = clusters.getLoops(unit);
    if (!loops.empty()) {
      emitRegion(loops);
    } else if (Operation *op = byUnit[unit]) {
      for (Value operand : op->getOperands()) {
        moveView(operand.getDefiningOp());
      }
      op->moveBefore(&block, block.end());
    }
  }

  /// Moves a free operation that an operator reads to just before its reader.
  void moveView(Operation *def) {
    SmallVector<Operation *> chain;
    while (def && order.contains(def) && nests.getRole(def) == NestRole::Free &&
           moved.insert(def).second) {
      chain.push_back(def);
      def = isView(def) ? def->getOperand(0).getDefiningOp() : nullptr;
    }
    for (Operation *op : llvm::reverse(chain)) {
      op->moveBefore(&block, block.end());
    }
  }

  /// All operations of the body, operands before users, in the order in which the results need
  /// them: equal computations get equal bodies whatever the order of their operations in the graph.
  SmallVector<Operation *> orderBody(ArrayRef<Operation *> loops, ArrayRef<Value> results) {
    llvm::SmallPtrSet<Operation *, 32> ours(loops.begin(), loops.end());
    auto isInside = [&](Operation *op) {
      if (!op || !order.contains(op)) {
        return false;
      }
      NestRole role = nests.getRole(op);
      return ours.contains(op) || role == NestRole::Free || role == NestRole::Inlined ||
             isa<SizeOp>(op);
    };
    SmallVector<Operation *> body;
    llvm::SmallPtrSet<Operation *, 32> done;
    SmallVector<std::pair<Operation *, unsigned>> stack;
    for (Value result : results) {
      if (done.insert(result.getDefiningOp()).second) {
        stack.push_back({result.getDefiningOp(), 0});
      }
      while (!stack.empty()) {
        auto &[op, next] = stack.back();
        if (next == op->getNumOperands()) {
          body.push_back(op);
          stack.pop_back();
          continue;
        }
        Operation *def = op->getOperand(next++).getDefiningOp();
        if (isInside(def) && done.insert(def).second) {
          stack.push_back({def, 0});
        }
      }
    }
    return body;
  }

  void emitRegion(ArrayRef<Operation *> loops) {
    SmallVector<Value> results = resultsOf(loops);
    if (results.empty()) {
      return;
    }
    SmallVector<Operation *> body = orderBody(loops, results);
    llvm::SmallPtrSet<Operation *, 32> inside(body.begin(), body.end());
    SmallVector<Location> locations;
    llvm::SmallSetVector<Value, 8> outer;
    for (Operation *op : body) {
      for (Value operand : op->getOperands()) {
        if (!inside.contains(operand.getDefiningOp())) {
          outer.insert(operand);
        }
      }
      if (!isa<SizeOp, tensor::FromElementsOp>(op) && !isView(op) && locations.size() < 8 &&
          !llvm::is_contained(locations, op->getLoc())) {
        locations.push_back(op->getLoc());
      }
    }
    OpBuilder builder(graph.getContext());
    builder.setInsertionPointToEnd(&block);
    Location loc = locations.empty()       ? loops.front()->getLoc()
                   : locations.size() == 1 ? locations.front()
                                           : FusedLoc::get(graph.getContext(), locations);
    SmallVector<Type> types;
    for (Value result : results) {
      types.push_back(result.getType());
    }
    auto region =
        RegionOp::create(builder, loc, types, outer.getArrayRef(), ScheduleAttr(), ArrayAttr());
    Block &inner = region.getBody().emplaceBlock();
    IRMapping mapping;
    for (Value operand : outer) {
      mapping.map(operand, inner.addArgument(operand.getType(), operand.getLoc()));
    }
    builder.setInsertionPointToEnd(&inner);
    for (Operation *op : body) {
      builder.clone(*op, mapping);
    }
    SmallVector<Value> yielded;
    for (Value result : results) {
      yielded.push_back(mapping.lookup(result));
    }
    YieldOp::create(builder, loc, yielded);
    for (auto [result, made] : llvm::zip_equal(results, region.getResults())) {
      result.replaceAllUsesWith(made);
    }
    ++numRegions;
    numKernelOps += body.size();
  }

  GraphOp graph;
  const LoopNests &nests;
  const FusionClusters &clusters;
  Block &block;
  SmallVector<Operation *> original;
  llvm::DenseMap<Operation *, unsigned> order;
  std::vector<Operation *> byUnit;
  std::vector<char> state;
  llvm::DenseSet<Operation *> moved;
};

struct FuseRegionsPass : frit::impl::FuseRegionsPassBase<FuseRegionsPass> {
  using FuseRegionsPassBase::FuseRegionsPassBase;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    NormalFormCounts counts = bringToNormalForm(graph);
    eraseNeedlessRequires(graph);
    countedGathers += counts.gathers;
    movedPermutations += counts.permutations;
    LoopNests nests(graph, merge);
    FusionClusters clusters(graph, nests);
    RegionBuilder builder(graph, nests, clusters);
    if (failed(builder.run())) {
      return signalPassFailure();
    }
    regions += builder.numRegions;
    operations += builder.numKernelOps;
    repeated += nests.numRepeated();
    domainsDiffer += clusters.count(FusionRefusal::DomainsDiffer);
    reducesOtherDims += clusters.count(FusionRefusal::ReducesOtherDims);
    readsElsewhere += clusters.count(FusionRefusal::ReadsElsewhere);
    needsWholeReduction += clusters.count(FusionRefusal::NeedsWholeReduction);
    besideScan += clusters.count(FusionRefusal::BesideScan);
    columnEpilogue += clusters.count(FusionRefusal::ColumnEpilogue);
    tooManyOperations += clusters.count(FusionRefusal::TooManyOperations);
    tooManyPointers += clusters.count(FusionRefusal::TooManyPointers);
    wouldMakeCycle += clusters.count(FusionRefusal::WouldMakeCycle);
    otherOperator += clusters.count(FusionRefusal::OtherOperator);
    if (!merge) {
      graph.walk([](Operation *op) { kOperatorAttr.remove(op); });
    }
  }
};
} // namespace
