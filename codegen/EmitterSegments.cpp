// Sums of segments: a loop over the positions of one segment, which data bound.
//
// The positions of eight rows are read at once, then eight rows; what is left goes in steps of
// four, whose rows beyond the end are the last one again and count as nothing. Loads of one step do
// not wait for each other; the additions stay in order.
#include "codegen/Emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::frit;

static constexpr int64_t kTogether = 8, kRest = 4;

/// x + y, and the number that changes no x.
static Value add(OpBuilder &builder, Location loc, Value x, Value y) {
  return isa<FloatType>(getElementTypeOrSelf(x.getType()))
             ? Value(arith::AddFOp::create(builder, loc, x, y))
             : Value(arith::AddIOp::create(builder, loc, x, y));
}
static TypedAttr getNeutral(Type type) {
  if (auto floating = dyn_cast<FloatType>(type)) {
    return FloatAttr::get(type, APFloat::getZero(floating.getFloatSemantics(), /*Negative=*/true));
  }
  return IntegerAttr::get(type, 0);
}

Value Emitter::emitSegmentSum(Frame &frame, const Node &node) {
  Location loc = node.loc;
  Value begin = value(frame, node.operands[0]), end = value(frame, node.operands[1]);
  Value active = conjunction(loc, frame.mask, bounds(frame, node.bounds), frame.lanes);
  bool varies = llvm::any_of(ValueRange{begin, end},
                             [](Value bound) { return isa<VectorType>(bound.getType()); });
  if (!varies && !(active && isa<VectorType>(active.getType()))) {
    return sumSegment(frame, node, begin, end, active);
  }
  // Each lane has a segment of its own.
  auto laneOf = [&](Value all, unsigned lane) -> Value {
    if (!all || !isa<VectorType>(all.getType())) {
      return all;
    }
    Value at = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(lane));
    return LLVM::ExtractElementOp::create(builder, loc, all, at);
  };
  Value sums = LLVM::PoisonOp::create(builder, loc, getLanesType(node.type, frame.lanes));
  for (unsigned lane = 0; lane < frame.lanes; ++lane) {
    Frame one;
    one.dims = frame.dims;
    for (Frame *outer = &frame; outer; outer = outer->outer) {
      one.bound |= outer->bound;
    }
    Value step = constant(loc, target.getIndexType(), lane);
    Value &dim = one.dims[*frame.laneDim];
    dim = arith::AddIOp::create(builder, loc, dim, step);
    one.mask = laneOf(frame.mask, lane);
    for (auto [id, other] : llvm::enumerate(program.getNodes())) {
      if (other.isSupplied() || other.kind == NodeKind::Position) {
        if (Value known = find(frame, id)) {
          one.values[id] = laneOf(known, lane);
        }
      }
    }
    Value sum = sumSegment(one, node, laneOf(begin, lane), laneOf(end, lane), laneOf(active, lane));
    Value at = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(lane));
    sums = LLVM::InsertElementOp::create(builder, loc, sums, sum, at);
  }
  return sums;
}

Value Emitter::sumSegment(Frame &frame, const Node &node, Value begin, Value end, Value active) {
  Location loc = node.loc;
  Type type = target.getIndexType();
  auto toIndex = [&](Value bound) -> Value {
    // Bounds that were not read are any numbers.
    if (active) {
      bound =
          arith::SelectOp::create(builder, loc, active, bound, constant(loc, bound.getType(), 0));
    }
    return bound.getType() == type ? bound
                                   : Value(arith::TruncIOp::create(builder, loc, type, bound));
  };
  begin = toIndex(begin);
  end = toIndex(end);
  auto number = [&](int64_t count) { return constant(loc, type, count); };
  Value neutral =
      splat(loc, arith::ConstantOp::create(builder, loc, getNeutral(node.type)), frame.lanes);
  auto loop = [&](Value from, Value to, int64_t step, Value sum, bool isRest) -> Value {
    auto op = scf::ForOp::create(builder, loc, from, to, number(step), ValueRange{sum});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(op.getBody());
    SmallVector<Value> rows;
    for (int64_t k = 0; k < step; ++k) {
      Value position = arith::AddIOp::create(builder, loc, op.getInductionVar(), number(k)),
            isThere;
      if (isRest && k) {
        Value last = arith::SubIOp::create(builder, loc, to, number(1));
        isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, position, to);
        position = arith::SelectOp::create(builder, loc, isThere, position, last);
      }
      Frame inner(&frame);
      inner.bound |= 1u << program[node.body->position].dimension;
      inner.values[node.body->position] = position;
      rows.push_back(lanes(inner, node.body->value));
      if (isThere) {
        rows.back() = arith::SelectOp::create(builder, loc, isThere, rows.back(), neutral);
      }
    }
    Value total = op.getRegionIterArgs()[0];
    for (Value row : rows) {
      total = add(builder, loc, total, row);
    }
    scf::YieldOp::create(builder, loc, total);
    return op.getResult(0);
  };
  Value count = arith::SubIOp::create(builder, loc, end, begin);
  Value rest = arith::RemSIOp::create(builder, loc, count, number(kTogether));
  Value isAny = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, count, number(0));
  Value between = arith::SelectOp::create(builder, loc, isAny,
                                          arith::SubIOp::create(builder, loc, end, rest), begin);
  Value sum = loop(begin, between, kTogether, neutral, /*isRest=*/false);
  return loop(between, end, kRest, sum, /*isRest=*/true);
}
