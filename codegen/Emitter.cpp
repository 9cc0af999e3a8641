// Nodes to operations. Nothing here recurses over the program: nodes are in
// topological order, so what a value needs is emitted in ascending order.
#include "codegen/Emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::frit;

EmitterTarget::~EmitterTarget() = default;

SmallVector<Value> EmitterTarget::loadGroups(OpBuilder &, Location, const Access &, unsigned) {
  return {};
}

bool EmitterTarget::storeGroups(OpBuilder &, Location, const Access &, ValueRange) {
  return false;
}

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
  return value.getType() == type ? value : Value(arith::BitcastOp::create(builder, loc, type, value));
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
  Value rest = arith::SubIOp::create(builder, loc, a,
                                     arith::MulIOp::create(builder, loc, quotient, b));
  Value zero = constant(loc, a.getType(), 0);
  Value inexact = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, rest, zero);
  // Truncation went up where the signs differ, down where they agree.
  Value signs = arith::XOrIOp::create(builder, loc, a, b);
  auto wrong = ceil ? arith::CmpIPredicate::sge : arith::CmpIPredicate::slt;
  Value adjust = arith::AndIOp::create(
      builder, loc, inexact, arith::CmpIOp::create(builder, loc, wrong, signs, zero));
  Value next = arith::AddIOp::create(builder, loc, quotient,
                                     constant(loc, a.getType(), ceil ? 1 : -1));
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
// Indices
//===----------------------------------------------------------------------===//

bool Emitter::varies(Frame &frame, SizeExpr expr) {
  if (!frame.laneDim || frame.lanes == 1) {
    return false;
  }
  bool result = false;
  expr.forEachSymbol([&](StringRef name) {
    unsigned position;
    if (name.drop_front().getAsInteger(10, position)) {
      return;
    }
    result |= name[0] == 'd' && position == *frame.laneDim;
    result |= name[0] == 'v' && (program[position].dims >> *frame.laneDim & 1);
  });
  return result;
}

/// The polynomial as written; atoms that vary along the lanes make it a vector
/// if `asVector`, and stand for their first lane otherwise.
Value Emitter::polynomial(Frame &frame, SizeExpr expr, ArrayRef<Value> values, bool asVector) {
  // Scope 0 to 2: constants and parameters, outer dims, lanes. Sums of outer scopes first, so
  // that they leave the loops as one value.
  Location loc = program.getKernel().getLoc();
  Type indexType = target.getIndexType();
  auto key = std::pair<unsigned, Attribute>(asVector, expr.getAttr());
  for (Frame *f = &frame; f; f = f->outer) {
    if (auto it = f->indices.find(key); it != f->indices.end()) {
      return it->second;
    }
  }
  auto match = [&](Value &a, Value &b) {
    if (isa<VectorType>(a.getType()) != isa<VectorType>(b.getType())) {
      a = splat(loc, a, frame.lanes);
      b = splat(loc, b, frame.lanes);
    }
  };
  auto symbolValue = [&](StringRef name) -> Value {
    unsigned position = 0;
    bool numbered = !name.drop_front().getAsInteger(10, position);
    if (name[0] == 'd' && numbered) {
      Value first = frame.dims[position];
      if (!asVector || frame.laneDim != position || frame.lanes == 1) {
        return first;
      }
      SmallVector<APInt> steps;
      for (unsigned i = 0; i < frame.lanes; ++i) {
        steps.emplace_back(indexType.getIntOrFloatBitWidth(), i);
      }
      auto type = VectorType::get({frame.lanes}, indexType);
      Value step = arith::ConstantOp::create(builder, loc, DenseIntElementsAttr::get(type, steps));
      return arith::AddIOp::create(builder, loc, splat(frame, first), step);
    }
    if (name[0] == 'v' && numbered) {
      Value index = value(frame, position);
      Type type = isa<VectorType>(index.getType()) ? getLanesType(indexType, frame.lanes)
                                                   : indexType;
      return index.getType() == type ? index
                                     : Value(arith::TruncIOp::create(builder, loc, type, index));
    }
    return target.getParameter(builder, name);
  };
  auto scopeOf = [&](ArrayAttr monomial) {
    SizeExpr term(SizeAttr::get(expr.getContext(), {1}, {monomial}));
    if (varies(frame, term)) {
      return 2;
    }
    bool dims = false;
    term.forEachSymbol([&](StringRef name) { dims |= name[0] == 'd' || name[0] == 'v'; });
    return dims ? 1 : 0;
  };
  SizeAttr attr = expr;
  Value sum;
  for (int scope = 0; scope < 3; ++scope) {
    for (auto [coefficient, monomial] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
      if (scopeOf(monomial) != scope) {
        continue;
      }
      Value term;
      for (Attribute atom : monomial) {
        Value factor;
        if (auto name = dyn_cast<StringAttr>(atom)) {
          factor = symbolValue(name.getValue());
        } else {
          auto call = cast<SizeCallAttr>(atom);
          SizeExpr left = call.getLhs(), right = call.getRhs();
          Value lhs = polynomial(frame, left, values, asVector);
          Value rhs = polynomial(frame, right, values, asVector);
          match(lhs, rhs);
          switch (call.getFunction()) {
          case SizeFunction::FloorDiv:
            if (program.getFacts().provablyNonNegative(left)) {
              factor = arith::DivUIOp::create(builder, loc, lhs, rhs);
            } else {
              factor = roundedDivision(loc, lhs, rhs, /*ceil=*/false);
            }
            break;
          case SizeFunction::Max: factor = arith::MaxSIOp::create(builder, loc, lhs, rhs); break;
          case SizeFunction::Min: factor = arith::MinSIOp::create(builder, loc, lhs, rhs); break;
          }
        }
        if (term) {
          match(term, factor);
          term = arith::MulIOp::create(builder, loc, term, factor);
        } else {
          term = factor;
        }
      }
      if (!term) {
        term = constant(loc, indexType, coefficient);
      } else if (coefficient != 1) {
        term = arith::MulIOp::create(builder, loc, term,
                                     constant(loc, term.getType(), coefficient));
      }
      if (sum) {
        match(sum, term);
        sum = arith::AddIOp::create(builder, loc, sum, term);
      } else {
        sum = term;
      }
    }
  }
  if (!sum) {
    sum = constant(loc, indexType, 0);
  }
  return frame.indices[key] = sum;
}

Value Emitter::index(Frame &frame, SizeExpr expr) {
  return polynomial(frame, expr, {}, varies(frame, expr));
}

Value Emitter::firstLane(Frame &frame, SizeExpr expr) {
  return polynomial(frame, expr, {}, false);
}

/// Whether `0 <= shifted < extent` holds for all lanes or for none: pieces of a concatenation that begin and end at multiples of the width,
/// which then come in vectors.
bool Emitter::agrees(Frame &frame, SizeExpr shifted, SizeExpr extent) {
  if (!frame.isAtMultiple || frame.lanes == 1) {
    return false;
  }
  SizeExpr rest = shifted - SizeExpr::dim(program.getContext(), *frame.laneDim);
  auto isMultiple = [&](SizeExpr expr) { return expr.getContentDivisor() % frame.lanes == 0; };
  return !varies(frame, rest) && !varies(frame, extent) && isMultiple(rest) && isMultiple(extent);
}

Value Emitter::bounds(Frame &frame, ArrayRef<Bound> bounds) {
  Location loc = program.getKernel().getLoc();
  Value all;
  for (const Bound &bound : bounds) {
    // 0 <= expr - low < high - low as one unsigned comparison.
    SizeExpr shifted = bound.expr - bound.low, extent = bound.high - bound.low;
    const SizeFacts &facts = program.getFacts();
    Value inside;
    bool same = agrees(frame, shifted, extent);
    Value lhs = same ? firstLane(frame, shifted) : index(frame, shifted);
    Value rhs = same ? firstLane(frame, extent) : index(frame, extent);
    if (isa<VectorType>(lhs.getType()) != isa<VectorType>(rhs.getType())) {
      lhs = splat(frame, lhs);
      rhs = splat(frame, rhs);
    }
    if (facts.provablyNonNegative(extent)) {
      inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, lhs, rhs);
    } else {
      Value zero = constant(loc, lhs.getType(), 0);
      Value above = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, lhs, zero);
      Value below = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lhs, rhs);
      inside = arith::AndIOp::create(builder, loc, above, below);
    }
    all = conjunction(loc, all, inside, frame.lanes);
  }
  return all;
}

void Emitter::bindLinear(Frame &frame, Value linear, unsigned begin, unsigned end) {
  bindLinear(frame, linear, llvm::to_vector(llvm::seq(begin, end)));
}

void Emitter::bindLinear(Frame &frame, Value linear, ArrayRef<unsigned> dims) {
  Location loc = program.getKernel().getLoc();
  for (unsigned dim : llvm::reverse(dims)) {
    if (dim == dims.front()) {
      frame.bind(dim, linear);
      break;
    }
    Value size = firstLane(frame, program.getDomain()[dim]);
    Value quotient = arith::DivUIOp::create(builder, loc, linear, size);
    Value whole = arith::MulIOp::create(builder, loc, quotient, size);
    frame.bind(dim, arith::SubIOp::create(builder, loc, linear, whole));
    linear = quotient;
  }
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
    for (unsigned operand : program[id].operands) {
      if (!seen[operand] && !find(frame, operand)) {
        seen[operand] = true;
        wanted.push_back(operand);
        work.push_back(operand);
      }
    }
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
  std::vector<bool> needed;
  program.reach(roots, needed);
  uint32_t bound = 0;
  for (Frame *f = &frame; f; f = f->outer) {
    bound |= f->bound;
  }
  std::vector<bool> ready(needed.size());
  for (unsigned id = 0; id < needed.size(); ++id) {
    const Node &node = program[id];
    if (!needed[id] || (node.dims & ~bound)) {
      continue;
    }
    if (find(frame, id)) {
      ready[id] = true;
      continue;
    }
    ready[id] = node.kind != NodeKind::Reduce &&
                llvm::all_of(node.operands, [&](unsigned operand) { return ready[operand]; });
    if (ready[id]) {
      value(frame, id);
    }
  }
}

Value Emitter::emit(Frame &frame, unsigned id) {
  const Node &node = program[id];
  switch (node.kind) {
  case NodeKind::Constant: return arith::ConstantOp::create(builder, node.loc, node.value);
  case NodeKind::Scalar: return target.getScalar(builder, node.argument);
  case NodeKind::Index: {
    Value at = index(frame, node.expr);
    Type type = isa<VectorType>(at.getType()) ? getLanesType(node.type, frame.lanes) : node.type;
    return at.getType() == type ? at
                                : Value(arith::ExtSIOp::create(builder, node.loc, type, at));
  }
  case NodeKind::Load: return emitLoad(frame, node);
  case NodeKind::Check: return emitCheck(frame, id, node);
  case NodeKind::Apply: return emitApply(frame, node);
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
    // Half types are chosen as bits: not every target has registers for them.
    Type type = yes.getType();
    Type bits = isa<VectorType>(type) ? getLanesType(builder.getI16Type(), frame.lanes)
                                      : Type(builder.getI16Type());
    yes = emitBitcast(builder, node.loc, bits, yes);
    no = emitBitcast(builder, node.loc, bits, no);
    Value chosen = arith::SelectOp::create(builder, node.loc, inside, yes, no);
    return arith::BitcastOp::create(builder, node.loc, type, chosen);
  }
  case NodeKind::Reduce: break;
  }
  llvm_unreachable("a reduction is read before its phase has supplied it");
}

Value Emitter::emitCheck(Frame &frame, unsigned id, const Node &node) {
  Value at = value(frame, node.operands[0]);
  if (node.check == IndexCheck::Unchecked) {
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
    Value negative = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, at,
                                           constant(loc, type, 0));
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
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp, arith::CeilDivUIOp>(node.op)) {
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
    Value isZero =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, operands[1], zero);
    Value active = bounds(frame, node.bounds);
    if (isa<VectorType>(type) || frame.lanes == 1) {
      active = conjunction(loc, active, frame.mask, frame.lanes);
    }
    target.fail(builder, loc, conjunction(loc, isZero, active, frame.lanes),
                ErrorCode::DivisionByZero, 0, Value(), Value());
    operands[1] = arith::SelectOp::create(builder, loc, isZero, one, operands[1]);
  }
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(
      node.op);
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
