// The walk: every operator with a rule becomes vocabulary, every other one keeps
// a reason. Rules build in front of the operator; what a refused rule has built
// is erased again, so a refusal leaves no trace but its reason.
#include "passes/Passes.h"
#include "passes/legalize/AtenCall.h"
#include "passes/legalize/Foreach.h"
#include "passes/legalize/InPlaceWrites.h"
#include "passes/legalize/Reasons.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace mlir::frit {
#define GEN_PASS_DEF_LEGALIZEATENPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
/// Remembers what a rule builds, to take it back.
struct Recorder : OpBuilder::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    built.push_back(op);
  }
  void undo() {
    for (Operation *op : llvm::reverse(built)) {
      op->erase();
    }
  }
  SmallVector<Operation *> built;
};

/// How often each operator became vocabulary.
using Counts = std::map<std::string, int64_t>;

/// Kernels run on the graph's device: what lies elsewhere is the dispatcher's, but for numbers.
bool crossesDevices(AtenOp op) {
  auto elsewhere = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.getRank() == 0) {
      return false;
    }
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto graph = cast<GraphOp>(argument.getOwner()->getParentOp());
      Attribute device = graph.getArgAttr(argument.getArgNumber(), "frit.device");
      return device && device != graph->getAttr("frit.device");
    }
    return value.getDefiningOp()->hasAttr("frit.devices");
  };
  return op->hasAttr("frit.devices") || llvm::any_of(op.getOperands(), elsewhere);
}

struct LegalizeAtenPass : frit::impl::LegalizeAtenPassBase<LegalizeAtenPass> {
  using LegalizeAtenPassBase::LegalizeAtenPassBase;

  void runOnOperation() override {
    if (listRules) {
      for (const std::string &name : getRules().getNames()) {
        llvm::outs() << name << "\n";
      }
    }
    for (GraphOp graph : getOperation().getOps<GraphOp>()) {
      Counts legalized;
      SizeFacts facts = graph.getSizeFacts();
      SmallVector<AtenOp> elements;
      for (Operation &op : llvm::make_early_inc_range(graph.getBody().front())) {
        auto aten = dyn_cast<AtenOp>(op);
        if (!aten) {
          continue;
        }
        elements.clear();
        if (!expandForeach(aten, elements)) {
          elements.push_back(aten);
        }
        for (AtenOp element : elements) {
          visit(element, facts, legalized);
        }
      }
      writeCounts(graph, legalized);
    }
  }

  void visit(AtenOp op, const SizeFacts &facts, Counts &legalized) {
    ++visited;
    std::string reason = legalize(op, facts);
    if (reason.empty()) {
      ++numLegalized;
      ++legalized[op.getOpName().str()];
      op.erase();
    } else {
      ++numKept;
      op.setReason(reason);
      writeInPlace(op);
    }
  }

  /// For the report: the operators that leave no call behind.
  static void writeCounts(GraphOp graph, const Counts &counts) {
    Builder builder(graph.getContext());
    SmallVector<NamedAttribute> entries;
    for (const auto &[name, number] : counts) {
      entries.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(number)));
    }
    if (!entries.empty()) {
      graph->setAttr("frit.legalized", builder.getDictionaryAttr(entries));
    }
  }

  /// Returns why not, or nothing once all uses are replaced.
  std::string legalize(AtenOp op, const SizeFacts &facts) {
    const Rule *rule = getRules().find(op.getOpName());
    if (!rule) {
      return reasonWithoutRule(op);
    }
    if (std::string why = reasonOfDtype(op); !why.empty()) {
      return why;
    }
    if (crossesDevices(op)) {
      return "its tensors lie on several devices";
    }
    Recorder recorder;
    OpBuilder builder(op, &recorder);
    TensorBuilder tensors(builder, op.getLoc(), facts, /*contract=*/!eagerNumerics);
    AtenCall call(op, tensors);
    Values results = (*rule)(call);
    std::string reason = call.getReason();
    if (reason.empty()) {
      reason = replace(op, *results);
    }
    if (!reason.empty()) {
      recorder.undo();
    } else if (markOperators) {
      for (Operation *built : recorder.built) {
        built->setAttr("frit.operator", builder.getI64IntegerAttr(visited));
      }
    }
    return reason;
  }

  static std::string replace(AtenOp op, ArrayRef<Tensor> results) {
    if (results.size() != op.getNumResults()) {
      return "its rule gives " + std::to_string(results.size()) + " results";
    }
    for (auto [result, tensor, dtype] :
         llvm::zip(op.getResults(), results, op.getResultDtypes())) {
      if (!tensor.value) {
        if (isa<RankedTensorType>(result.getType())) {
          return "its rule leaves a result out";
        }
        continue;
      }
      DType wanted = cast<DTypeAttr>(dtype).getValue();
      if (tensor.value.getType() != result.getType() || tensor.dtype != wanted) {
        std::string text;
        llvm::raw_string_ostream(text)
            << "its rule gives " << tensor.value.getType() << " of " << stringifyDType(tensor.dtype)
            << " for " << result.getType() << " of " << stringifyDType(wanted);
        return text;
      }
    }
    for (auto [result, tensor] : llvm::zip(op.getResults(), results)) {
      if (tensor.value) {
        result.replaceAllUsesWith(tensor.value);
      } else if (!result.use_empty()) {
        OpBuilder builder(op);
        result.replaceAllUsesWith(NoneOp::create(builder, op.getLoc(), result.getType()));
      }
    }
    return {};
  }

  /// Numbers operators; statistics may be compiled out.
  int64_t visited = 0;
};
} // namespace
