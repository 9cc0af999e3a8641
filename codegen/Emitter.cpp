// Emits operations for nodes. There is no recursion over the program: nodes are in topological
// order, so the operands of a value are emitted in ascending order.
#include "codegen/Emitter.h"

#include "ir/Planted.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::frit;

EmitterTarget::~EmitterTarget() = default;

SmallVector<Value> EmitterTarget::loadGroups(OpBuilder &, Location, const Access &, unsigned) {
  return {};
}

bool EmitterTarget::storeGroups(OpBuilder &, Location, const Access &, ValueRange) { return false; }

Frame::Frame(Frame *outer) : outer(outer) {
  if (outer) {
    dims = outer->dims;
    laneDim = outer->laneDim;
    lanes = outer->lanes;
    isAtMultiple = outer->isAtMultiple;
    mask = outer->mask;
    whole = outer->whole;
  }
}

void Frame::bind(unsigned dim, Value value) {
  if (dims.size() <= dim) {
    dims.resize(dim + 1);
  }
  dims[dim] = value;
  bound |= 1u << dim;
}

void Frame::bindLanes(unsigned dim, Value first, unsigned count, Value active) {
  bind(dim, first);
  laneDim = dim;
  lanes = count;
  isAtMultiple = false;
  mask = active;
  whole = Value();
}

Emitter::Emitter(const KernelProgram &program, EmitterTarget &target, OpBuilder &builder)
    : program(program), target(target), builder(builder) {}

Value mlir::frit::emitBitcast(OpBuilder &builder, Location loc, Type type, Value value) {
  if (auto cast = value.getDefiningOp<arith::BitcastOp>()) {
    value = cast.getIn();
  }
  return value.getType() == type ? value
                                 : Value(arith::BitcastOp::create(builder, loc, type, value));
}

Type mlir::frit::getLanesType(Type element, unsigned lanes) {
  return lanes == 1 ? element : Type(VectorType::get({lanes}, element));
}

//===----------------------------------------------------------------------===//
// Small values
//===----------------------------------------------------------------------===//

Value Emitter::constant(Location loc, Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = isa<FloatType>(element)
                       ? TypedAttr(FloatAttr::get(element, static_cast<double>(value)))
                       : TypedAttr(IntegerAttr::get(element, value));
  if (auto vector = dyn_cast<VectorType>(type)) {
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  }
  return arith::ConstantOp::create(builder, loc, attr);
}

Value Emitter::splat(Location loc, Value value, unsigned lanes) {
  if (lanes == 1 || isa<VectorType>(value.getType())) {
    return value;
  }
  auto type = VectorType::get({lanes}, value.getType());
  if (auto known = value.getDefiningOp<arith::ConstantOp>()) {
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, Attribute(known.getValue())));
  }
  if (value.getType().isBF16() || value.getType().isF16()) {
    Value bits = emitBitcast(builder, loc, builder.getI16Type(), value);
    return emitBitcast(builder, loc, type, splat(loc, bits, lanes));
  }
  Value poison = LLVM::PoisonOp::create(builder, loc, type);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  Value one = LLVM::InsertElementOp::create(builder, loc, poison, value, zero);
  return LLVM::ShuffleVectorOp::create(builder, loc, one, poison, SmallVector<int32_t>(lanes, 0));
}

Value Emitter::splat(Frame &frame, Value value) {
  if (frame.lanes == 1 || isa<VectorType>(value.getType())) {
    return value;
  }
  Value &known = frame.splats[value];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    if (target.splatsAtDefinition()) {
      builder.setInsertionPointAfterValue(value);
    }
    known = splat(value.getLoc(), value, frame.lanes);
  }
  return known;
}

Value Emitter::roundedDivision(Location loc, Value a, Value b, bool ceil) {
  Value quotient = arith::DivSIOp::create(builder, loc, a, b);
  Value rest =
      arith::SubIOp::create(builder, loc, a, arith::MulIOp::create(builder, loc, quotient, b));
  Value zero = constant(loc, a.getType(), 0);
  Value inexact = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, rest, zero);
  // Truncation rounded up where the signs differ and down where they agree.
  Value signs = arith::XOrIOp::create(builder, loc, a, b);
  auto wrong = ceil ? arith::CmpIPredicate::sge : arith::CmpIPredicate::slt;
  Value adjust = arith::AndIOp::create(builder, loc, inexact,
                                       arith::CmpIOp::create(builder, loc, wrong, signs, zero));
  Value next =
      arith::AddIOp::create(builder, loc, quotient, constant(loc, a.getType(), ceil ? 1 : -1));
  return arith::SelectOp::create(builder, loc, adjust, next, quotient);
}

Value Emitter::conjunction(Location loc, Value a, Value b, unsigned lanes) {
  if (!a || !b) {
    return a ? a : b;
  }
  if (isa<VectorType>(a.getType()) != isa<VectorType>(b.getType())) {
    a = splat(loc, a, lanes);
    b = splat(loc, b, lanes);
  }
  return arith::AndIOp::create(builder, loc, a, b);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

Value Emitter::find(Frame &frame, unsigned node) {
  for (Frame *f = &frame; f; f = f->outer) {
    if (auto it = f->values.find(node); it != f->values.end()) {
      return it->second;
    }
  }
  return Value();
}

Value Emitter::value(Frame &frame, unsigned root) {
  if (Value known = find(frame, root)) {
    return known;
  }
  std::vector<unsigned> wanted{root}, work{root};
  std::vector<bool> seen(program.getNodes().size());
  seen[root] = true;
  while (!work.empty()) {
    unsigned id = work.back();
    work.pop_back();
    program[id].forEachInput([&](unsigned input) {
      if (!seen[input] && !find(frame, input)) {
        seen[input] = true;
        wanted.push_back(input);
        work.push_back(input);
      }
    });
  }
  llvm::sort(wanted);
  for (unsigned id : wanted) {
    if (!find(frame, id)) {
      Value result = emit(frame, id);
      frame.values[id] = result;
    }
  }
  return frame.values[root];
}

Value Emitter::lanes(Frame &frame, unsigned node) { return splat(frame, value(frame, node)); }

void Emitter::hoist(Frame &frame, ArrayRef<unsigned> roots) {
  uint32_t bound = 0;
  for (Frame *f = &frame; f; f = f->outer) {
    bound |= f->bound;
  }
  llvm::BitVector ready(program.getNodes().size());
  for (unsigned id : program.reach(roots)) {
    const Node &node = program[id];
    if (node.dims & ~bound) {
      continue;
    }
    if (find(frame, id)) {
      ready.set(id);
      continue;
    }
    if (!node.isSupplied() &&
        llvm::all_of(node.operands, [&](unsigned operand) { return ready.test(operand); })) {
      ready.set(id);
      value(frame, id);
    }
  }
}

Value Emitter::emit(Frame &frame, unsigned id) {
  const Node &node = program[id];
  switch (node.kind) {
  case NodeKind::Constant:
    return arith::ConstantOp::create(builder, node.loc, node.value);
  case NodeKind::Scalar:
    return target.getScalar(builder, node.argument);
  case NodeKind::Index: {
    Value at = index(frame, node.expr);
    Type type = isa<VectorType>(at.getType()) ? getLanesType(node.type, frame.lanes) : node.type;
    return at.getType() == type ? at : Value(arith::ExtSIOp::create(builder, node.loc, type, at));
  }
  case NodeKind::Random:
    return emitRandom(frame, node);
  case NodeKind::Load:
    return emitLoad(frame, node);
  case NodeKind::Check:
    return emitCheck(frame, id, node);
  case NodeKind::Checked:
    for (unsigned check : ArrayRef(node.operands).drop_front()) {
      value(frame, check);
    }
    return value(frame, node.operands[0]);
  case NodeKind::Apply:
    return emitApply(frame, node);
  case NodeKind::Select: {
    Value inside = bounds(frame, node.bounds);
    Value yes = value(frame, node.operands[0]), no = value(frame, node.operands[1]);
    if (!inside) {
      return yes;
    }
    if (isa<VectorType>(inside.getType()) || yes.getType() != no.getType()) {
      yes = splat(frame, yes);
      no = splat(frame, no);
    }
    if (!node.type.isBF16() && !node.type.isF16()) {
      return arith::SelectOp::create(builder, node.loc, inside, yes, no);
    }
    // Half types are selected as bits: not every target has registers for them.
    Type type = yes.getType();
    Type bits = isa<VectorType>(type) ? getLanesType(builder.getI16Type(), frame.lanes)
                                      : Type(builder.getI16Type());
    yes = emitBitcast(builder, node.loc, bits, yes);
    no = emitBitcast(builder, node.loc, bits, no);
    Value chosen = arith::SelectOp::create(builder, node.loc, inside, yes, no);
    return arith::BitcastOp::create(builder, node.loc, type, chosen);
  }
  case NodeKind::SegmentSum:
    return emitSegmentSum(frame, node);
  case NodeKind::Position:
  case NodeKind::Scan:
  case NodeKind::Reduce:
    break;
  }
  llvm_unreachable("a reduction is read before its phase has supplied it");
}

Value Emitter::emitCheck(Frame &frame, unsigned id, const Node &node) {
  Value at = value(frame, node.operands[0]);
  if (node.check == IndexCheck::Unchecked || isPlanted(Mistake::IndexChecks)) {
    return at;
  }
  Location loc = node.loc;
  Type type = at.getType();
  Value extent = firstLane(frame, node.expr);
  if (extent.getType() != node.type) {
    extent = arith::ExtSIOp::create(builder, loc, node.type, extent);
  }
  Value size = isa<VectorType>(type) ? splat(frame, extent) : extent;
  Value wrapped = at;
  if (node.check == IndexCheck::Wrap) {
    Value negative =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, at, constant(loc, type, 0));
    Value shifted = arith::AddIOp::create(builder, loc, at, size);
    wrapped = arith::SelectOp::create(builder, loc, negative, shifted, at);
  }
  Value valid = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, wrapped, size);
  Value failed = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, wrapped, size);
  Value active = bounds(frame, node.bounds);
  if (isa<VectorType>(type) || frame.lanes == 1) {
    active = conjunction(loc, active, frame.mask, frame.lanes);
  }
  Value culprit = conjunction(loc, failed, active, frame.lanes);
  target.fail(builder, loc, culprit, node.error, node.dimension,
              isa<VectorType>(culprit.getType()) ? splat(frame, at) : at, extent);
  frame.valid[id] = valid;
  return wrapped;
}

Value Emitter::emitApply(Frame &frame, const Node &node) {
  SmallVector<Value> operands;
  bool vector = false;
  for (unsigned operand : node.operands) {
    operands.push_back(value(frame, operand));
    vector |= isa<VectorType>(operands.back().getType());
  }
  if (vector) {
    for (Value &operand : operands) {
      operand = splat(frame, operand);
    }
  }
  Type type = vector ? getLanesType(node.type, frame.lanes) : node.type;
  if (isIntegerDivision(node.op)) {
    return emitDivision(frame, node, operands, type);
  }
  if (Value own = target.apply(builder, node.op, operands, type)) {
    return own;
  }
  OperationState state(node.loc, node.op->getName());
  state.addOperands(operands);
  state.addTypes(type);
  for (NamedAttribute attr : node.op->getAttrs()) {
    if (!attr.getName().getValue().starts_with("frit.")) {
      state.addAttribute(attr.getName(), attr.getValue());
    }
  }
  return builder.create(state)->getResult(0);
}

/// Division never traps: a zero divisor is recorded and replaced by 1, and -1
/// (whose quotient may overflow) is negated by hand.
Value Emitter::emitDivision(Frame &frame, const Node &node, SmallVectorImpl<Value> &operands,
                            Type type) {
  Location loc = node.loc;
  Value zero = constant(loc, type, 0), one = constant(loc, type, 1);
  const Node &divisor = program[node.operands[1]];
  std::optional<APInt> known;
  if (divisor.kind == NodeKind::Constant) {
    known = cast<IntegerAttr>(divisor.value).getValue();
  }
  if (!known || known->isZero()) {
    Value isZero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, operands[1], zero);
    Value active = bounds(frame, node.bounds);
    if (isa<VectorType>(type) || frame.lanes == 1) {
      active = conjunction(loc, active, frame.mask, frame.lanes);
    }
    target.fail(builder, loc, conjunction(loc, isZero, active, frame.lanes),
                ErrorCode::DivisionByZero, 0, Value(), Value());
    operands[1] = arith::SelectOp::create(builder, loc, isZero, one, operands[1]);
  }
  bool isSigned =
      isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(node.op);
  Value isMinusOne;
  Value dividend = operands[0];
  if (isSigned && (!known || known->isAllOnes())) {
    isMinusOne = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, operands[1],
                                       constant(loc, type, -1));
    operands[1] = arith::SelectOp::create(builder, loc, isMinusOne, one, operands[1]);
  }
  Value result;
  if (isa<arith::FloorDivSIOp, arith::CeilDivSIOp>(node.op)) {
    result = roundedDivision(loc, operands[0], operands[1], isa<arith::CeilDivSIOp>(node.op));
  } else {
    OperationState state(loc, node.op->getName());
    state.addOperands(operands);
    state.addTypes(type);
    result = builder.create(state)->getResult(0);
  }
  if (isMinusOne) {
    Value special = isa<arith::RemSIOp>(node.op)
                        ? zero
                        : Value(arith::SubIOp::create(builder, loc, zero, dividend));
    result = arith::SelectOp::create(builder, loc, isMinusOne, special, result);
  }
  return result;
}
