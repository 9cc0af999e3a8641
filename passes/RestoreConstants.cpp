// Upstream canonicalisation makes constants of whole tensors. They would be read from memory, and
// those of dynamic shape have no text. This pass restores the form of the dialect: a constant is
// rank 0 and broadcast by a reindex, and arithmetic whose operands are all such broadcasts runs
// at rank 0 in front of the broadcast. It also applies the identities that upstream finds only on a
// constant of the full type.
#include "passes/Passes.h"
#include "passes/Raising.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::frit {
#define GEN_PASS_DEF_RESTORECONSTANTSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

/// The rank-0 tensor that a value repeats, or null.
static Value getRepeated(Value value) {
  auto reindex = value.getDefiningOp<ReindexOp>();
  if (!reindex || reindex.getMap().hasBounds()) {
    return {};
  }
  Value operand = reindex.getOperand();
  return cast<RankedTensorType>(operand.getType()).getRank() == 0 ? operand : Value();
}

static Value repeat(OpBuilder &builder, Location loc, Value scalar, RankedTensorType type) {
  if (type.getRank() == 0) {
    return scalar;
  }
  MapAttr map = MapAttr::get(builder.getContext(), type.getRank(), {});
  return ReindexOp::create(builder, loc, type, scalar, map, TypedAttr());
}

/// The constant a value is, or repeats.
static TypedAttr getConstantElement(Value value) {
  Value scalar = getRepeated(value);
  DenseElementsAttr elements;
  if (!matchPattern(scalar ? scalar : value, m_Constant(&elements)) || !elements.isSplat()) {
    return {};
  }
  return cast<TypedAttr>(elements.getSplatValue<Attribute>());
}

static bool isFloat(Value value, double expected) {
  auto attr = dyn_cast_or_null<FloatAttr>(getConstantElement(value));
  // Bitwise, so that 0.0 and -0.0 differ.
  if (!attr) {
    return false;
  }
  APFloat number(expected);
  bool lossy;
  number.convert(attr.getValue().getSemantics(), APFloat::rmNearestTiesToEven, &lossy);
  return attr.getValue().bitwiseIsEqual(number);
}

static bool isInt(Value value, int64_t expected) {
  auto attr = dyn_cast_or_null<IntegerAttr>(getConstantElement(value));
  if (!attr) {
    return false;
  }
  unsigned width = attr.getValue().getBitWidth();
  return attr.getValue() ==
         APInt(width, static_cast<uint64_t>(expected), /*isSigned=*/false, /*implicitTrunc=*/true);
}

/// The operand that an operation returns unchanged, or null. Exact for every value, NaN and both
/// zeros included.
static Value getIdentity(Operation &op) {
  auto either = [&](auto test) -> Value {
    return test(op.getOperand(1))   ? op.getOperand(0)
           : test(op.getOperand(0)) ? op.getOperand(1)
                                    : Value();
  };
  auto second = [&](bool holds) { return holds ? op.getOperand(0) : Value(); };
  if (isa<arith::AddFOp>(op)) {
    return either([](Value v) { return isFloat(v, -0.0); });
  }
  if (isa<arith::SubFOp>(op)) {
    return second(isFloat(op.getOperand(1), 0.0));
  }
  if (isa<arith::MulFOp>(op)) {
    return either([](Value v) { return isFloat(v, 1.0); });
  }
  if (isa<arith::DivFOp>(op)) {
    return second(isFloat(op.getOperand(1), 1.0));
  }
  if (isa<arith::AddIOp, arith::OrIOp, arith::XOrIOp>(op)) {
    return either([](Value v) { return isInt(v, 0); });
  }
  if (isa<arith::SubIOp, arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op)) {
    return second(isInt(op.getOperand(1), 0));
  }
  if (isa<arith::MulIOp>(op)) {
    return either([](Value v) { return isInt(v, 1); });
  }
  if (isa<arith::DivSIOp, arith::DivUIOp>(op)) {
    return second(isInt(op.getOperand(1), 1));
  }
  if (isa<arith::AndIOp>(op)) {
    return either([](Value v) { return isInt(v, -1); });
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (select.getTrueValue() == select.getFalseValue()) {
      return select.getTrueValue();
    }
    if (auto condition = dyn_cast_or_null<IntegerAttr>(getConstantElement(select.getCondition()))) {
      return condition.getValue().isZero() ? select.getFalseValue() : select.getTrueValue();
    }
  }
  return {};
}

namespace {
struct RestoreConstantsPass : frit::impl::RestoreConstantsPassBase<RestoreConstantsPass> {
  void runOnOperation() override {
    Block &body = getOperation().getBody().front();
    for (Operation &op : llvm::make_early_inc_range(body)) {
      if (!splitConstant(op) && !forward(op)) {
        hoist(op);
      }
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
      if (isOpTriviallyDead(&op)) {
        op.erase();
      }
    }
  }

  bool splitConstant(Operation &op) {
    auto constant = dyn_cast<arith::ConstantOp>(op);
    auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
    auto type = elements ? dyn_cast<RankedTensorType>(constant.getType()) : nullptr;
    if (!type || type.getRank() == 0 || !elements.isSplat()) {
      return false;
    }
    OpBuilder builder(&op);
    auto scalar = DenseElementsAttr::get(RankedTensorType::get({}, type.getElementType()),
                                         elements.getSplatValue<Attribute>());
    Value made = arith::ConstantOp::create(builder, op.getLoc(), scalar);
    replace(op, repeat(builder, op.getLoc(), made, type));
    ++numSplit;
    return true;
  }

  bool forward(Operation &op) {
    Value same = getIdentity(op);
    if (!same || same.getType() != op.getResult(0).getType()) {
      return false;
    }
    replace(op, same);
    ++numIdentities;
    return true;
  }

  /// f(repeat a, repeat b) is repeat f(a, b).
  void hoist(Operation &op) {
    if (op.getNumResults() != 1 || op.getNumOperands() == 0) {
      return;
    }
    auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
    bool elementwise = OpTrait::hasElementwiseMappableTraits(&op);
    if (!type || type.getRank() == 0 || !(elementwise || isa<ReshapeOp>(op))) {
      return;
    }
    // A tensor of no elements raises nothing, but its scalar would.
    if (mayRaise(&op) && !isSurelyNotEmpty(type)) {
      return;
    }
    SmallVector<Value> scalars;
    for (Value operand : op.getOperands()) {
      scalars.push_back(getRepeated(operand));
      if (!scalars.back()) {
        return;
      }
    }
    OpBuilder builder(&op);
    if (!elementwise) {
      replace(op, repeat(builder, op.getLoc(), scalars.front(), type));
      ++numHoisted;
      return;
    }
    OperationState state(op.getLoc(), op.getName());
    state.addOperands(scalars);
    state.addAttributes(op.getAttrs());
    state.addTypes(RankedTensorType::get({}, type.getElementType()));
    Operation *made = builder.create(state);
    SmallVector<Value> folded;
    Value result = made->getResult(0);
    if (succeeded(builder.tryFold(made, folded)) && !folded.empty()) {
      result = folded.front();
      made->erase();
    }
    replace(op, repeat(builder, op.getLoc(), result, type));
    ++numHoisted;
  }

  bool isSurelyNotEmpty(RankedTensorType type) {
    SizeFacts facts = getOperation().getSizeFacts();
    return llvm::all_of(getSizes(type),
                        [&](SizeExpr size) { return facts.provablyNonNegative(size - 1); });
  }

  void replace(Operation &op, Value value) {
    op.getResult(0).replaceAllUsesWith(value);
    op.erase();
  }
};
} // namespace
