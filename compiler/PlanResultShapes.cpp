// Results whose sizes follow from data. Their fake kernels promise a shape in terms of symbols that
// are bound after the call. What reads such a result and is no operator was made for that shape, so
// it reads a view that the runtime first holds against the result.

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
    writeLook(result, result, dtypes.lookup(result), call.layout);
    builder.plan.steps.back()->action.AsView()->checks = true;
    if (!returned.contains(call.root)) {
      // The view is the value from here on, and the call's register what ends beside it.
      viewsOf[call.root].back() = call.reg;
    }
    return true;
  });
}

/// After it, no call can turn out to disagree in a size: arguments are kept until then, for the
/// graph may have to be run in another way.
Operation *PlanWriter::lastCheck(Block &block) {
  Operation *last = nullptr;
  for (auto bind : block.getOps<BindOp>()) {
    last = isa<RankedTensorType>(bind.getSource().getType()) ? bind : last;
  }
  return last;
}

} // namespace frit
