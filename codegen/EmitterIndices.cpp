// Index arithmetic: size expressions at the point of a frame, for its first lane or for all lanes;
// bounds; and linear indices split into dims.
#include "codegen/Emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::frit;

bool Emitter::varies(Frame &frame, SizeExpr expr) {
  if (!frame.laneDim || frame.lanes == 1) {
    return false;
  }
  return expr.anySymbol([&](SizeSymbolAttr symbol) {
    return symbol.isDim(*frame.laneDim) ||
           (symbol.isValue() && (program[symbol.getPosition()].dims >> *frame.laneDim & 1));
  });
}

/// Whether an expression grows by 0 or 1 from each lane to the next.
bool Emitter::countsLanes(Frame &frame, SizeExpr expr) {
  SizeExpr rest = expr - SizeExpr::dim(program.getContext(), *frame.laneDim);
  if (!varies(frame, rest)) {
    return true;
  }
  // Otherwise it must be one quotient of such an expression plus terms that all lanes share.
  SizeAttr attr = expr;
  bool counts = false;
  for (auto [coefficient, monomial] : llvm::zip(attr.getCoefficients(), attr.getMonomials())) {
    SizeExpr term(SizeAttr::get(expr.getContext(), {coefficient}, {monomial}));
    if (!varies(frame, term)) {
      continue;
    }
    auto call = monomial.size() == 1 ? dyn_cast<SizeCallAttr>(monomial[0]) : SizeCallAttr();
    if (counts || coefficient != 1 || !call || call.getFunction() != SizeFunction::FloorDiv ||
        varies(frame, call.getRhs()) || !countsLanes(frame, call.getLhs())) {
      return false;
    }
    counts = true;
  }
  return counts;
}

/// Emits `expr`, which is floordiv(left, right). A schedule may have supplied its value.
Value Emitter::quotient(Frame &frame, SizeExpr expr, SizeExpr left, SizeExpr right, bool asVector) {
  Location loc = program.getKernel().getLoc();
  asVector = asVector && varies(frame, expr);
  auto key = std::pair<unsigned, Attribute>(asVector, expr.getAttr());
  for (Frame *f = &frame; f; f = f->outer) {
    if (auto it = f->indices.find(key); it != f->indices.end()) {
      return it->second;
    }
  }
  // A number of the program may be a negative divisor.
  bool isNonNegative =
      program.getFacts().provablyNonNegative(left) && program.getFacts().provablyNonNegative(right);
  auto &known = frame.indices;
  if (asVector && target.countsQuotients() && isNonNegative && !right.getConstant() &&
      !varies(frame, right) && countsLanes(frame, left)) {
    // One division, and one comparison for each further lane.
    Value divisor = polynomial(frame, right, {}, false),
          now = quotient(frame, expr, left, right, false);
    Value numerators = polynomial(frame, left, {}, true),
          before = polynomial(frame, left, {}, false);
    Value rest = arith::SubIOp::create(builder, loc, before,
                                       arith::MulIOp::create(builder, loc, now, divisor));
    Value zero = constant(loc, divisor.getType(), 0),
          all = LLVM::PoisonOp::create(builder, loc, numerators.getType());
    for (unsigned lane = 0; lane < frame.lanes; ++lane) {
      Value at = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(lane));
      if (lane) {
        Value numerator = LLVM::ExtractElementOp::create(builder, loc, numerators, at);
        rest = arith::AddIOp::create(builder, loc, rest,
                                     arith::SubIOp::create(builder, loc, numerator, before));
        Value isNext = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest, divisor);
        now = arith::AddIOp::create(builder, loc, now,
                                    arith::ExtUIOp::create(builder, loc, now.getType(), isNext));
        rest = arith::SelectOp::create(builder, loc, isNext, zero, rest);
        before = numerator;
      }
      all = LLVM::InsertElementOp::create(builder, loc, all, now, at);
    }
    return known[key] = all;
  }
  Value lhs = polynomial(frame, left, {}, asVector), rhs = polynomial(frame, right, {}, asVector);
  if (isa<VectorType>(lhs.getType()) != isa<VectorType>(rhs.getType())) {
    lhs = splat(loc, lhs, frame.lanes);
    rhs = splat(loc, rhs, frame.lanes);
  }
  return known[key] = isNonNegative ? Value(arith::DivUIOp::create(builder, loc, lhs, rhs))
                                    : roundedDivision(loc, lhs, rhs, /*ceil=*/false);
}

/// Emits the polynomial as written. Atoms that vary along the lanes make it a vector if `asVector`,
/// and otherwise have the value of the first lane.
Value Emitter::polynomial(Frame &frame, SizeExpr expr, ArrayRef<Value> values, bool asVector) {
  // Scopes 0 to 2: constants and parameters, outer dims, lanes. Terms of outer scopes are summed
  // first, so that the sum can be hoisted out of the loops as one value.
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
  auto symbolValue = [&](SizeSymbolAttr symbol) -> Value {
    unsigned position = symbol.getPosition();
    if (symbol.isDim()) {
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
    if (symbol.isValue()) {
      Value index = value(frame, position);
      Type type =
          isa<VectorType>(index.getType()) ? getLanesType(indexType, frame.lanes) : indexType;
      return index.getType() == type ? index
                                     : Value(arith::TruncIOp::create(builder, loc, type, index));
    }
    return target.getParameter(builder, symbol.getName());
  };
  auto scopeOf = [&](ArrayAttr monomial) {
    SizeExpr term(SizeAttr::get(expr.getContext(), {1}, {monomial}));
    if (varies(frame, term)) {
      return 2;
    }
    return term.anySymbol([](SizeSymbolAttr symbol) { return !symbol.isUniform(); }) ? 1 : 0;
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
        if (auto symbol = dyn_cast<SizeSymbolAttr>(atom)) {
          factor = symbolValue(symbol);
        } else {
          auto call = cast<SizeCallAttr>(atom);
          SizeExpr left = call.getLhs(), right = call.getRhs();
          if (call.getFunction() == SizeFunction::FloorDiv) {
            factor = quotient(
                frame,
                SizeAttr::get(expr.getContext(), {1}, {ArrayAttr::get(expr.getContext(), {atom})}),
                left, right, asVector);
          } else {
            Value lhs = polynomial(frame, left, values, asVector);
            Value rhs = polynomial(frame, right, values, asVector);
            match(lhs, rhs);
            factor = call.getFunction() == SizeFunction::Max
                         ? Value(arith::MaxSIOp::create(builder, loc, lhs, rhs))
                         : Value(arith::MinSIOp::create(builder, loc, lhs, rhs));
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
        term =
            arith::MulIOp::create(builder, loc, term, constant(loc, term.getType(), coefficient));
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

Value Emitter::firstLane(Frame &frame, SizeExpr expr) { return polynomial(frame, expr, {}, false); }

/// Whether `0 <= shifted < extent` holds for all lanes or for none. It does for pieces of a
/// concatenation that begin and end at multiples of the width; these can be accessed as vectors.
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
