#include "passes/Raising.h"

#include "ir/AtenSchemas.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::frit;

std::optional<APInt> mlir::frit::getRepeatedInteger(Value value) {
  auto view = value.getDefiningOp<ReindexOp>();
  while (view && !view.getMap().hasBounds()) {
    value = view.getOperand();
    view = value.getDefiningOp<ReindexOp>();
  }
  APInt number;
  return matchPattern(value, m_ConstantInt(&number)) ? std::optional(number) : std::nullopt;
}

/// Whether the value is one integer other than zero, repeated.
static bool isNonZero(Value value) {
  std::optional<APInt> number = getRepeatedInteger(value);
  return number && !number->isZero();
}

bool mlir::frit::mayRaise(Operation *op) {
  if (auto gather = dyn_cast<GatherOp>(op)) {
    return gather.getCheck() != IndexCheck::Unchecked;
  }
  return isIntegerDivision(op) && isa<RankedTensorType>(op->getResult(0).getType()) &&
         !isNonZero(op->getOperand(1));
}

bool mlir::frit::callMayRaise(AtenOp call) {
  static constexpr StringRef harmless[] = {"_adaptive_avg_pool",
                                           "_fft_",
                                           "_scaled_dot_product_",
                                           "_to_copy",
                                           "adaptive_",
                                           "addmm",
                                           "addmv",
                                           "avg_pool",
                                           "baddbmm",
                                           "bmm",
                                           "clone",
                                           "col2im",
                                           "convolution",
                                           "copy",
                                           "cummax",
                                           "cummin",
                                           "cumprod",
                                           "cumsum",
                                           "dot",
                                           "empty",
                                           "grid_sampler",
                                           "im2col",
                                           "linear",
                                           "logcumsumexp",
                                           "max_pool",
                                           "mean",
                                           "mm",
                                           "mv",
                                           "native_",
                                           "nonzero",
                                           "rand",
                                           "reflection_pad",
                                           "replication_pad",
                                           "sort",
                                           "sum",
                                           "topk",
                                           "upsample_",
                                           "vdot"};
  StringRef name = call.getOpName();
  return !name.consume_front("aten.") ||
         llvm::none_of(harmless, [&](StringRef known) { return name.starts_with(known); });
}

bool mlir::frit::isIrreversible(Operation *op) {
  auto call = dyn_cast<AtenOp>(op);
  if (!call) {
    return isa<StoreOp>(op);
  }
  StringRef name = call.getOpName();
  return !name.starts_with("aten.") && !name.starts_with("frit.") &&
         AtenSchema::lookupEffects(name).ordered;
}

void mlir::frit::eraseNeedlessRequires(GraphOp graph) {
  for (RequireOp require :
       llvm::make_early_inc_range(graph.getBody().front().getOps<RequireOp>())) {
    SmallVector<Value> open{require.getValue()};
    llvm::SmallDenseSet<Operation *> seen;
    bool raises = false;
    while (!open.empty() && !raises) {
      Operation *def = open.pop_back_val().getDefiningOp();
      // Computations of more operations than these are not searched.
      raises = seen.size() > 32 || (def && mayRaise(def));
      if (def && seen.insert(def).second) {
        llvm::append_range(open, def->getOperands());
      }
    }
    if (!raises) {
      require.erase();
    }
  }
}
