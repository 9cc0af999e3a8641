// The contract between the passes and the plan writer: there are only kernels and graphs; every
// tensor of a graph has a layout, every result of a launch a buffer.
#include "ir/FritAttributes.h"
#include "passes/Copies.h"
#include "passes/Layouts.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::frit {
#define GEN_PASS_DEF_VERIFYOUTLINEDFORMPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

/// Host arithmetic on i64, f64 and i1.
static bool isHostScalar(Operation &op) {
  return isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) &&
         llvm::none_of(op.getResultTypes(), [](Type type) { return isa<ShapedType>(type); });
}

static LogicalResult verifyOutside(Operation &op) {
  if (isa<RegionOp>(op)) {
    return op.emitError("'frit.region' is not part of the outlined form; frit-outline-regions "
                        "has not run");
  }
  if (!isa<LaunchOp, AtenOp, GuardOp, StoreOp, RequireOp, BindOp, SizeOp, NoneOp, ReturnOp,
           tensor::FromElementsOp, tensor::ExtractOp>(op) &&
      !isLook(&op) && !isHostScalar(op)) {
    return op.emitError("'") << op.getName() << "' is not part of the outlined form; "
                             << "frit-fuse-regions left it outside of kernels";
  }
  size_t tensors =
      llvm::count_if(op.getResultTypes(), [](Type type) { return isa<RankedTensorType>(type); });
  auto layouts = kLayoutsAttr.get(&op);
  if ((layouts ? layouts.size() : 0) != tensors) {
    return op.emitError("makes ") << tensors << " tensors and has "
                                  << (layouts ? layouts.size() : 0)
                                  << " layouts; frit-assign-layouts has not run after it was made";
  }
  return success();
}

/// All readers must take a tensor for the same dtype, since a register of a plan has only one.
static LogicalResult verifyDtypes(Value value) {
  if (!isDtypeAmbiguous(value)) {
    return success();
  }
  DTypeAttr own = getTorchDtype(value);
  for (OpOperand &use : value.getUses()) {
    if (DTypeAttr wanted = getDtypeOfUse(use); wanted && wanted != own) {
      return use.getOwner()->emitError("takes operand ")
             << use.getOperandNumber() << " for " << stringifyDType(wanted.getValue())
             << ", which is " << stringifyDType(own.getValue())
             << "; frit-separate-dtypes has not run";
    }
  }
  return success();
}

static LogicalResult verifyBuffers(GraphOp graph, LaunchOp launch) {
  ArrayAttr known = graph.getBuffersAttr(), used = launch.getBuffersAttr();
  if (!known || !used || used.size() != launch.getNumResults()) {
    return launch.emitError("has ")
           << launch.getNumResults() << " results and " << (used ? used.size() : 0)
           << " buffers; frit-plan-buffers has not run";
  }
  for (Attribute attr : used) {
    int64_t number = cast<IntegerAttr>(attr).getInt();
    if (number < 0 || number >= static_cast<int64_t>(known.size())) {
      return launch.emitError("writes buffer ") << number << " of " << known.size();
    }
  }
  return success();
}

namespace {
struct VerifyOutlinedFormPass : frit::impl::VerifyOutlinedFormPassBase<VerifyOutlinedFormPass> {
  void runOnOperation() override {
    for (Operation &top : *getOperation().getBody()) {
      if (isa<KernelOp>(top)) {
        continue;
      }
      auto graph = dyn_cast<GraphOp>(top);
      if (!graph) {
        top.emitError("an outlined module holds kernels and graphs, found '")
            << top.getName() << "'";
        return signalPassFailure();
      }
      if (llvm::any_of(graph.getBody().getArguments(),
                       [](Value argument) { return failed(verifyDtypes(argument)); })) {
        return signalPassFailure();
      }
      for (Operation &op : graph.getBody().front()) {
        if (failed(verifyOutside(op)) || llvm::any_of(op.getResults(), [](Value result) {
              return failed(verifyDtypes(result));
            })) {
          return signalPassFailure();
        }
        if (auto launch = dyn_cast<LaunchOp>(op); launch && failed(verifyBuffers(graph, launch))) {
          return signalPassFailure();
        }
      }
    }
  }
};
} // namespace
