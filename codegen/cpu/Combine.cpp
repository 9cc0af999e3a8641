#include "codegen/cpu/Combine.h"
#include "codegen/Emitter.h"
#include "codegen/cpu/CpuFunction.h"
#include "ir/Planted.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <limits>

using namespace mlir;
using namespace mlir::frit;

Combine::Combine(const KernelProgram &program, unsigned node)
    : input(program[node].operands[0]), program(&program), node(node), loc(program[node].loc) {
  auto op = cast<ReduceOp>(program[node].op);
  kind = op.getKind();
  isUnsigned = op.getIsUnsigned();
  positions = kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin;
  element = program[program[node].operands[0]].type;
  isUnsigned |= element.isInteger(1);
}

bool Combine::canBeNarrow() const {
  const Node &operand = (*program)[input];
  return kind == ReduceKind::Sum && element.isInteger(64) && operand.kind == NodeKind::Apply &&
         isa<arith::ExtUIOp>(operand.op) && (*program)[operand.operands[0]].type.isInteger(1);
}

void Combine::makeNarrow() {
  narrow = true;
  input = (*program)[input].operands[0];
  element = IntegerType::get(element.getContext(), 32);
}

Value Combine::widen(OpBuilder &b, Value state) const {
  auto vector = dyn_cast<VectorType>(state.getType());
  return arith::ExtUIOp::create(
      b, loc, getLanesType(b.getI64Type(), vector ? vector.getDimSize(0) : 1), state);
}

void Combine::makePrecise() { precise = kind == ReduceKind::Sum && element.isF32(); }

SmallVector<Value> Combine::toPrecise(OpBuilder &b, ValueRange state) const {
  return precise ? toWide(b, state) : Values(state);
}

SmallVector<Value> Combine::toWide(OpBuilder &b, ValueRange state) const {
  if (kind != ReduceKind::Sum || !getElementTypeOrSelf(state[0].getType()).isF32()) {
    return Values(state);
  }
  auto vector = dyn_cast<VectorType>(state[0].getType());
  Type wide = getLanesType(b.getF64Type(), vector ? vector.getDimSize(0) : 1);
  return {arith::ExtFOp::create(b, loc, wide, state[0])};
}

SmallVector<Value> Combine::fromWide(OpBuilder &b, ValueRange state) const {
  if (precise || kind != ReduceKind::Sum || !element.isF32()) {
    return Values(state);
  }
  auto vector = dyn_cast<VectorType>(state[0].getType());
  return {arith::TruncFOp::create(b, loc, getLanesType(element, vector ? vector.getDimSize(0) : 1),
                                  state[0])};
}

Value Combine::result(OpBuilder &b, ValueRange state) const {
  return precise ? Value(arith::TruncFOp::create(b, loc, element, state.back())) : state.back();
}

Type Combine::stateType(unsigned part) const {
  return part == 1 ? IntegerType::get(element.getContext(), 64)
         : precise ? Float64Type::get(element.getContext())
                   : element;
}

static Value splatConstant(OpBuilder &b, Location loc, TypedAttr attr, unsigned lanes) {
  if (lanes > 1) {
    attr = DenseElementsAttr::get(VectorType::get({lanes}, attr.getType()), Attribute(attr));
  }
  return arith::ConstantOp::create(b, loc, attr);
}

SmallVector<Value> Combine::identity(OpBuilder &b, unsigned lanes) const {
  bool smallest = kind == ReduceKind::Max || kind == ReduceKind::ArgMax;
  TypedAttr attr;
  if (kind == ReduceKind::Sum || kind == ReduceKind::Any) {
    // +0.0, as in eager: a sum of negative zeros is +0.0 there too.
    attr = b.getZeroAttr(element);
  } else if (kind == ReduceKind::Prod || kind == ReduceKind::All) {
    attr = b.getOneAttr(element);
  } else if (auto type = dyn_cast<FloatType>(element)) {
    attr = FloatAttr::get(element, APFloat::getInf(type.getFloatSemantics(), smallest));
  } else {
    unsigned width = element.getIntOrFloatBitWidth();
    APInt value = isUnsigned ? (smallest ? APInt::getZero(width) : APInt::getAllOnes(width))
                  : smallest ? APInt::getSignedMinValue(width)
                             : APInt::getSignedMaxValue(width);
    attr = IntegerAttr::get(element, value);
  }
  Values state{splatConstant(b, loc, attr, lanes)};
  if (positions) {
    state.push_back(
        splatConstant(b, loc, b.getI64IntegerAttr(std::numeric_limits<int64_t>::max()), lanes));
  }
  return state;
}

SmallVector<Value> Combine::lift(OpBuilder &b, Value value, Value position) const {
  if (narrow) {
    auto vector = dyn_cast<VectorType>(value.getType());
    return {arith::ExtUIOp::create(b, loc, getLanesType(element, vector ? vector.getDimSize(0) : 1),
                                   value)};
  }
  return positions ? Values{value, position} : Values{value};
}

Value Combine::combineOne(OpBuilder &b, Value x, Value y) const {
  bool isFloat = isa<FloatType>(element);
  switch (kind) {
  case ReduceKind::Sum:
    return isFloat ? Value(arith::AddFOp::create(b, loc, x, y))
                   : Value(arith::AddIOp::create(b, loc, x, y));
  case ReduceKind::Prod:
    return isFloat ? Value(arith::MulFOp::create(b, loc, x, y))
                   : Value(arith::MulIOp::create(b, loc, x, y));
  case ReduceKind::Any:
    return arith::OrIOp::create(b, loc, x, y);
  case ReduceKind::All:
    return arith::AndIOp::create(b, loc, x, y);
  case ReduceKind::Max:
    if (isFloat) {
      return emitMaximum(b, loc, y, x, false);
    }
    return isUnsigned ? Value(arith::MaxUIOp::create(b, loc, x, y))
                      : Value(arith::MaxSIOp::create(b, loc, x, y));
  case ReduceKind::Min:
    if (isFloat) {
      return emitMaximum(b, loc, y, x, true);
    }
    return isUnsigned ? Value(arith::MinUIOp::create(b, loc, x, y))
                      : Value(arith::MinSIOp::create(b, loc, x, y));
  default:
    break;
  }
  llvm_unreachable("a position reduction combines pairs");
}

SmallVector<Value> Combine::combine(OpBuilder &b, ValueRange x, ValueRange y) const {
  if (!positions) {
    return {combineOne(b, x[0], y[0])};
  }
  // y is taken if it is better, or as good and earlier.
  bool most = kind == ReduceKind::ArgMax;
  auto before =
      isPlanted(Mistake::LastOfTies) ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt;
  Value earlier = arith::CmpIOp::create(b, loc, before, y[1], x[1]);
  Value better, tie;
  if (isa<FloatType>(element)) {
    auto order = most ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
    Value greater = arith::CmpFOp::create(b, loc, order, y[0], x[0]);
    Value equal = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, y[0], x[0]);
    Value yNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, y[0], y[0]);
    Value xNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x[0], x[0]);
    Value xNumber = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, x[0], x[0]);
    Value firstNan = arith::AndIOp::create(b, loc, yNan, xNumber);
    better = arith::OrIOp::create(b, loc, greater, firstNan);
    tie = arith::OrIOp::create(b, loc, equal, arith::AndIOp::create(b, loc, yNan, xNan));
  } else {
    auto order = isUnsigned ? (most ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::ult)
                            : (most ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt);
    better = arith::CmpIOp::create(b, loc, order, y[0], x[0]);
    tie = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, y[0], x[0]);
  }
  Value take = arith::OrIOp::create(b, loc, better, arith::AndIOp::create(b, loc, tie, earlier));
  return select(b, take, y, x);
}

SmallVector<Value> Combine::select(OpBuilder &b, Value mask, ValueRange y, ValueRange x) const {
  Values result;
  for (auto [yes, no] : llvm::zip(y, x)) {
    result.push_back(arith::SelectOp::create(b, loc, mask, yes, no));
  }
  return result;
}

SmallVector<Value> Combine::horizontal(OpBuilder &b, ValueRange state, unsigned lanes) const {
  Values result(state);
  for (unsigned half = lanes / 2; half >= 1; half /= 2) {
    // The upper half onto the lower one, as vectors of half the length.
    Values low, high;
    for (Value part : result) {
      auto lower = llvm::to_vector(llvm::seq<int32_t>(0, half));
      auto upper = llvm::to_vector(llvm::seq<int32_t>(half, 2 * half));
      low.push_back(LLVM::ShuffleVectorOp::create(b, loc, part, part, lower));
      high.push_back(LLVM::ShuffleVectorOp::create(b, loc, part, part, upper));
    }
    if (half == 1) {
      Value zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
      for (auto *parts : {&low, &high}) {
        for (Value &part : *parts) {
          part = LLVM::ExtractElementOp::create(b, loc, part, zero);
        }
      }
    }
    result = combine(b, low, high);
  }
  return result;
}

SmallVector<Value> mlir::frit::toWide(OpBuilder &b, ArrayRef<Combine> combines, ValueRange states) {
  SmallVector<Value> wide;
  while (wide.size() < states.size()) {
    for (const Combine &combine : combines) {
      llvm::append_range(wide, combine.toWide(b, states.slice(wide.size(), combine.stateSize())));
    }
  }
  return wide;
}

SmallVector<Value> mlir::frit::fromWide(OpBuilder &b, ArrayRef<Combine> combines,
                                        ValueRange states) {
  SmallVector<Value> narrow;
  while (narrow.size() < states.size()) {
    for (const Combine &combine : combines) {
      llvm::append_range(narrow,
                         combine.fromWide(b, states.slice(narrow.size(), combine.stateSize())));
    }
  }
  return narrow;
}

SmallVector<Value> mlir::frit::combined(OpBuilder &b, ArrayRef<Combine> combines, ValueRange x,
                                        ValueRange y) {
  SmallVector<Value> result;
  while (result.size() < x.size()) {
    for (const Combine &combine : combines) {
      size_t at = result.size(), size = combine.stateSize();
      llvm::append_range(result, combine.combine(b, x.slice(at, size), y.slice(at, size)));
    }
  }
  return result;
}

SmallVector<Value> mlir::frit::flatten(ArrayRef<SmallVector<Value>> sets) {
  SmallVector<Value> flat;
  for (const SmallVector<Value> &set : sets) {
    llvm::append_range(flat, set);
  }
  return flat;
}

SmallVector<SmallVector<Value>> mlir::frit::unflatten(ValueRange flat, unsigned width) {
  SmallVector<SmallVector<Value>> sets;
  for (unsigned at = 0; at < flat.size(); at += width) {
    sets.emplace_back(flat.slice(at, width));
  }
  return sets;
}
