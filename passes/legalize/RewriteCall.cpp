// Runs a rule and replaces a call's results by its values, or undoes what the rule built.
#include "passes/legalize/RewriteCall.h"
#include "ir/FritAttributes.h"

#include "passes/legalize/EagerRefusals.h"
#include "passes/legalize/Mutants.h"
#include "passes/legalize/Reasons.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::frit;

namespace {
/// Records what a rule builds, to undo it.
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
} // namespace

/// Whether the call involves another device than the graph's, where kernels run: it is then left to
/// the dispatcher. 0-d tensors do not count.
static bool crossesDevices(AtenOp op) {
  auto elsewhere = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.getRank() == 0) {
      return false;
    }
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto graph = cast<GraphOp>(argument.getOwner()->getParentOp());
      Attribute device = kArgumentDeviceAttr.get(graph, argument.getArgNumber());
      return device && device != graph.getDeviceAttr();
    }
    auto call = value.getDefiningOp<AtenOp>();
    return call && call.getDevicesAttr();
  };
  return op.getDevicesAttr() || llvm::any_of(op.getOperands(), elsewhere);
}

/// Kernels check an index when they read with it. For tensors without elements ATen makes other
/// checks, with other messages.
static bool checksOtherwise(AtenOp op, ArrayRef<Operation *> built) {
  auto isEmpty = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && llvm::is_contained(tensor.getShape(), 0);
  };
  return llvm::any_of(built, [](Operation *one) { return isa<GatherOp>(one); }) &&
         (llvm::any_of(op.getOperandTypes(), isEmpty) ||
          llvm::any_of(op.getResultTypes(), isEmpty));
}

/// Whether everything that a rule built verifies: a rule may be applied to combinations of types
/// that its author did not consider.
static bool areValid(MLIRContext *context, ArrayRef<Operation *> built) {
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
  return llvm::all_of(
      built, [](Operation *one) { return succeeded(one->getName().verifyInvariants(one)); });
}

static std::string replace(AtenOp op, ArrayRef<Tensor> results) {
  if (results.size() != op.getNumResults()) {
    return "its rule gives " + std::to_string(results.size()) + " results";
  }
  for (auto [result, tensor, dtype] : llvm::zip(op.getResults(), results, op.getResultDtypes())) {
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

std::string mlir::frit::rewriteCall(AtenOp op, const SizeFacts &facts, RewriteOptions options,
                                    llvm::function_ref<Values(AtenCall &)> rule) {
  if (std::string why = reasonOfDtype(op); !why.empty()) {
    return why;
  }
  if (std::optional<DType> refused = refusedDtype(op)) {
    return ("ATen has no kernel for " + stringifyDType(*refused)).str();
  }
  if (crossesDevices(op)) {
    return "its tensors lie on several devices";
  }
  ArrayAttr arguments = op.getArgumentsAttr();
  if (options.mutant) {
    options.mutant->changeArguments(op);
  }
  Recorder recorder;
  OpBuilder builder(op, &recorder);
  TensorBuilder tensors(builder, op.getLoc(), facts, options.contract);
  AtenCall call(op, tensors, options.gpu, options.deterministic);
  Values results = rule(call);
  std::string reason = call.getReason();
  if (reason.empty() && checksOtherwise(op, recorder.built)) {
    reason = "indices of tensors without elements are checked by ATen";
  }
  if (reason.empty() && !areValid(op.getContext(), recorder.built)) {
    reason = "no rule for operands of these types";
  }
  if (reason.empty()) {
    reason = replace(op, *results);
  }
  if (!reason.empty()) {
    recorder.undo();
    op.setArgumentsAttr(arguments);
    return reason;
  }
  if (options.mutant) {
    options.mutant->changeResult(recorder.built);
  }
  for (Operation *built : recorder.built) {
    if (options.number) {
      kOperatorAttr.set(built, builder.getI64IntegerAttr(options.number));
    }
    if (!options.contract && isa<math::ExpOp>(built)) {
      kIeeeAttr.mark(built); // as on quotients: no approximation may replace it
    }
  }
  return reason;
}

void mlir::frit::writeCounts(GraphOp graph, OperationAttr<DictionaryAttr> attribute,
                             const OperatorCounts &counts) {
  Builder builder(graph.getContext());
  SmallVector<NamedAttribute> entries;
  for (const auto &[name, number] : counts) {
    entries.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(number)));
  }
  if (!entries.empty()) {
    attribute.set(graph, builder.getDictionaryAttr(entries));
  }
}
