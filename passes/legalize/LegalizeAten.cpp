// The walk: every operator with a rule becomes vocabulary, every other one keeps
// a reason. Rules build in front of the operator; what a refused rule has built
// is erased again, so a refusal leaves no trace but its reason.
#include "passes/Passes.h"
#include "passes/legalize/AtenCall.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

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

StringRef name(DType dtype) { return stringifyDType(dtype); }

/// The dtype that keeps an operator out of the vocabulary, as a reason.
std::string unsupportedDtype(AtenOp op) {
  auto check = [](ValueRange values, ArrayAttr dtypes) -> std::string {
    for (auto [value, attr] : llvm::zip(values, dtypes)) {
      DType dtype = cast<DTypeAttr>(attr).getValue();
      if (isa<RankedTensorType>(value.getType()) && !isSupported(dtype)) {
        return ("dtype " + name(dtype) + " is not in the vocabulary").str();
      }
    }
    return {};
  };
  std::string why = check(op.getOperands(), op.getOperandDtypes());
  return why.empty() ? check(op.getResults(), op.getResultDtypes()) : why;
}

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
    for (GraphOp graph : getOperation().getOps<GraphOp>()) {
      SizeFacts facts = graph.getSizeFacts();
      for (Operation &op : llvm::make_early_inc_range(graph.getBody().front())) {
        if (auto aten = dyn_cast<AtenOp>(op)) {
          std::string reason = legalize(aten, facts);
          if (reason.empty()) {
            ++numLegalized;
            aten.erase();
          } else {
            ++numKept;
            aten.setReason(reason);
          }
        }
      }
    }
  }

  /// Returns why not, or nothing once all uses are replaced.
  std::string legalize(AtenOp op, const SizeFacts &facts) {
    const Rule *rule = getRules().find(op.getOpName());
    if (!rule) {
      return "no rule";
    }
    if (std::string why = unsupportedDtype(op); !why.empty()) {
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
      if (tensor.value.getType() != result.getType() ||
          tensor.dtype != cast<DTypeAttr>(dtype).getValue()) {
        std::string text;
        llvm::raw_string_ostream(text)
            << "its rule gives " << tensor.value.getType() << " of " << name(tensor.dtype)
            << " for " << result.getType() << " of " << name(cast<DTypeAttr>(dtype).getValue());
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
};
} // namespace
