#include "codegen/cpu/Combine.h"
#include "codegen/Emitter.h"
#include "codegen/cpu/CpuFunction.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::frit;

Combine::Combine(const KernelProgram &program, unsigned node)
    : input(program[node].operands[0]), program(&program), node(node), loc(program[node].loc) {
  auto op = cast<ReduceOp>(program[node].op);
  kind = op.getKind();
  isUnsigned = op.getIsUnsigned();
  element = program[program[node].operands[0]].type;
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
  ReductionAlgebra algebra = getAlgebra();
  Values state;
  for (unsigned part = 0; part < stateSize(); ++part) {
    state.push_back(splatConstant(b, loc, algebra.identity(part), lanes));
  }
  return state;
}

SmallVector<Value> Combine::lift(OpBuilder &b, Value value, Value position) const {
  if (narrow) {
    auto vector = dyn_cast<VectorType>(value.getType());
    return {arith::ExtUIOp::create(b, loc, getLanesType(element, vector ? vector.getDimSize(0) : 1),
                                   value)};
  }
  return needsPosition() ? Values{value, position} : Values{value};
}

SmallVector<Value> Combine::combine(OpBuilder &b, ValueRange x, ValueRange y) const {
  // The first operand of `emitMaximum` needs no move if it was just computed.
  return getAlgebra().combine(b, loc, x, y, [&](Value old, Value next, bool isMinimum) {
    return emitMaximum(b, loc, next, old, isMinimum);
  });
}

bool Combine::isSumOfProducts() const {
  const Node &operand = (*program)[input];
  auto product = operand.kind == NodeKind::Apply ? dyn_cast<arith::MulFOp>(operand.op) : nullptr;
  return kind == ReduceKind::Sum && product &&
         bitEnumContainsAny(product.getFastmath(), arith::FastMathFlags::contract);
}

SmallVector<Value> Combine::accumulate(Emitter &emitter, Frame &frame, ValueRange state,
                                       Value position) const {
  OpBuilder &b = emitter.getBuilder();
  if (isSumOfProducts()) {
    ArrayRef<unsigned> factors = (*program)[input].operands;
    Value x = emitter.lanes(frame, factors[0]), y = emitter.lanes(frame, factors[1]);
    return {math::FmaOp::create(b, loc, x, y, state[0])};
  }
  return combine(b, state, lift(b, emitter.lanes(frame, input), position));
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
    // Combines the upper half with the lower one, as vectors of half the length.
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
