// Results whose sizes follow from data. Their fake kernels promise a shape in terms of symbols that
// are bound after the call. All readers but operators were compiled for that shape, so they read a
// view, for which the runtime compares the result with the promise.

#include "compiler/PlanWriter.h"

using namespace mlir;
using namespace mlir::frit;

namespace frit {

void PlanWriter::checkLater(Value result) {
  bool onlyForCalls = llvm::all_of(
      result.getUsers(), [](Operation *user) { return isa<AtenOp, BindOp, ReturnOp>(user); });
  if (!onlyForCalls) {
    unchecked.push_back(result);
  }
}

bool PlanWriter::areSizesKnown(Value tensor) const {
  bool known = true;
  for (SizeExpr size : getSizes(cast<RankedTensorType>(tensor.getType()))) {
    size.forEachSymbol([&](StringRef name) { known &= symbolRegisters.contains(name); });
  }
  return known;
}

void PlanWriter::checkKnownShapes() {
  llvm::erase_if(unchecked, [&](Value result) {
    if (!areSizesKnown(result)) {
      return false;
    }
    TensorValue call = tensors.find(result)->second;
    addView(result, result, dtypes.lookup(result), call.layout);
    builder.plan.steps.back()->action.AsView()->checks = true;
    if (!returned.contains(call.root)) {
      // From here on the view is the value; the register of the call is freed together with it.
      viewsOf[call.root].back() = call.reg;
    }
    return true;
  });
}

/// The last operation that may find a call's result to disagree with its promised size. Arguments
/// are kept until then, because the graph may have to run as traced.
Operation *PlanWriter::lastCheck(Block &block) {
  Operation *last = nullptr;
  for (auto bind : block.getOps<BindOp>()) {
    last = isa<RankedTensorType>(bind.getSource().getType()) ? bind : last;
  }
  return last;
}

} // namespace frit
