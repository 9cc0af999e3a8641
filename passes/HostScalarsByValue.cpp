// In a graph on a GPU the host knows the value of a 0-d CPU tensor: kernels get it as a scalar
// argument.
#include "ir/FritAttributes.h"
#include "passes/LoopNests.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

namespace mlir::frit {
#define GEN_PASS_DEF_HOSTSCALARSBYVALUEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
struct HostScalarsByValuePass : frit::impl::HostScalarsByValuePassBase<HostScalarsByValuePass> {
  using frit::impl::HostScalarsByValuePassBase<HostScalarsByValuePass>::HostScalarsByValuePassBase;

  void runOnOperation() override {
    GraphOp graph = getOperation();
    auto main = graph.getDeviceAttr();
    if (!main || !main.getValue().starts_with("cuda")) {
      return;
    }
    for (BlockArgument argument : graph.getBody().getArguments()) {
      replace(argument, kArgumentDeviceAttr.get(graph, argument.getArgNumber()));
    }
    for (AtenOp call : graph.getBody().front().getOps<AtenOp>()) {
      if (ArrayAttr devices = call.getDevicesAttr()) {
        for (auto [result, device] : llvm::zip(call.getResults(), devices)) {
          replace(result, device);
        }
      }
    }
  }

  /// Passes the tensor by value to all readers but operator calls, stores and results.
  void replace(Value number, Attribute device) {
    auto type = dyn_cast<RankedTensorType>(number.getType());
    auto name = dyn_cast_or_null<StringAttr>(device);
    if (!type || type.getRank() != 0 || !name || !name.getValue().starts_with("cpu")) {
      return;
    }
    auto computes = [](OpOperand &use) {
      return isFusible(use.getOwner()) && getElementRead(use) != ElementRead::Once;
    };
    // A tensor that the graph overwrites does not have a single value.
    bool isWritten =
        llvm::any_of(number.getUsers(), [](Operation *user) { return isa<StoreOp>(user); });
    if (isWritten || llvm::none_of(number.getUses(), computes)) {
      return;
    }
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(number);
    Value tensor = wrap(builder, number, type);
    number.replaceUsesWithIf(tensor, computes);
    ++passed;
  }

  /// Host scalars are i64, f64 and i1; every element type fits into one of them.
  static Value wrap(OpBuilder &builder, Value number, RankedTensorType type) {
    Location loc = number.getLoc();
    Type element = type.getElementType(), f32 = builder.getF32Type(), f64 = builder.getF64Type();
    Value scalar = tensor::ExtractOp::create(builder, loc, number, ValueRange{});
    auto tensorOf = [&](Type of) { return type.clone(of); };
    if (isa<FloatType>(element)) {
      if (!element.isF64()) {
        scalar = arith::ExtFOp::create(builder, loc, f64, scalar);
      }
      Value tensor = tensor::FromElementsOp::create(builder, loc, tensorOf(f64), scalar);
      for (Type narrower : {f32, element}) {
        if (!element.isF64() && getElementTypeOrSelf(tensor.getType()) != narrower) {
          tensor = arith::TruncFOp::create(builder, loc, tensorOf(narrower), tensor);
        }
      }
      return tensor;
    }
    Type i64 = builder.getI64Type();
    bool isNarrow = !element.isInteger(1) && element != i64;
    if (isNarrow) {
      scalar = arith::ExtSIOp::create(builder, loc, i64, scalar);
    }
    Value tensor = tensor::FromElementsOp::create(builder, loc, tensorOf(scalar.getType()), scalar);
    return isNarrow ? Value(arith::TruncIOp::create(builder, loc, type, tensor)) : tensor;
  }
};
} // namespace
