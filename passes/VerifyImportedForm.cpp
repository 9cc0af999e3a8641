// The contract between the importer and the passes: operators are frit.aten, and
// nothing is legalised yet.
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::frit {
#define GEN_PASS_DEF_VERIFYIMPORTEDFORMPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

static bool mayBeImported(Operation &op) {
  if (isa<AtenOp, CallOp, GuardOp, SizeOp, BindOp, StoreOp, NoneOp, ReturnOp>(op)) {
    return true;
  }
  // Host scalars: arithmetic and math on i64, f64 and i1.
  return isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) &&
         llvm::none_of(op.getResultTypes(), [](Type type) { return isa<ShapedType>(type); });
}

namespace {
struct VerifyImportedFormPass : frit::impl::VerifyImportedFormPassBase<VerifyImportedFormPass> {
  void runOnOperation() override {
    for (Operation &top : *getOperation().getBody()) {
      auto graph = dyn_cast<GraphOp>(top);
      if (!graph) {
        top.emitError("an imported module holds graphs only, found '") << top.getName() << "'";
        return signalPassFailure();
      }
      for (Operation &op : graph.getBody().front()) {
        if (!mayBeImported(op)) {
          InFlightDiagnostic diagnostic = op.emitError("'")
                                          << op.getName() << "' is not part of the imported form";
          diagnostic.attachNote(graph.getLoc())
              << "graph '" << graph.getName() << "' comes from the importer, which makes only "
              << "frit.aten for operators";
          return signalPassFailure();
        }
      }
    }
  }
};
} // namespace
