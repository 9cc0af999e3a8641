// `int8` and `uint8` share one element type, so a conversion between them is a no-op and CSE merges
// equal values of both. Inside kernels each operation says how to interpret the bits. Outside,
// operators, stores and the caller read the dtype: this pass copies a value for readers that expect
// another dtype.
#include "passes/Copies.h"
#include "passes/Layouts.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::frit {
#define GEN_PASS_DEF_SEPARATEDTYPESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
struct SeparateDtypesPass : frit::impl::SeparateDtypesPassBase<SeparateDtypesPass> {
  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    for (BlockArgument argument : block.getArguments()) {
      separate(argument);
    }
    for (Operation &op : llvm::make_early_inc_range(block)) {
      for (Value result : op.getResults()) {
        separate(result);
      }
    }
  }

private:
  void separate(Value value) {
    if (!isDtypeAmbiguous(value)) {
      return;
    }
    DTypeAttr own = getTorchDtype(value);
    llvm::SmallDenseMap<Attribute, Value> copies;
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      DTypeAttr wanted = getDtypeOfUse(use);
      if (!wanted || wanted == own) {
        continue;
      }
      Value &copy = copies[wanted];
      if (!copy) {
        copy = copied(value);
        ++numCopies;
      }
      use.set(copy);
    }
  }

  Value copied(Value value) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(value);
    if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
      return builder.clone(*constant)->getResult(0);
    }
    auto region = RegionOp::create(builder, value.getLoc(), TypeRange{value.getType()},
                                   ValueRange{value}, ScheduleAttr(), ArrayAttr());
    Block &body = region.getBody().emplaceBlock();
    body.addArgument(value.getType(), value.getLoc());
    builder.setInsertionPointToEnd(&body);
    YieldOp::create(builder, value.getLoc(), body.getArguments());
    return region.getResult(0);
  }
};
} // namespace
