#include "codegen/cpu/Loops.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::frit;

static Location locOf(CpuFunction &f) { return f.getBegin().getLoc(); }

Values mlir::frit::forRange(CpuFunction &f, Value low, Value high, int64_t step, ValueRange carried,
                            llvm::function_ref<Values(Value, ValueRange)> body) {
  OpBuilder &b = f.getBuilder();
  Location loc = locOf(f);
  auto loop = scf::ForOp::create(b, loc, low, high, f.i64(step), carried);
  OpBuilder::InsertionGuard guard(b);
  Block *block = loop.getBody();
  if (carried.empty()) {
    block->getTerminator()->erase();
  }
  b.setInsertionPointToEnd(block);
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(b, loc, next);
  return Values(loop.getResults());
}

void mlir::frit::forRange(CpuFunction &f, Value low, Value high, int64_t step,
                          llvm::function_ref<void(Value)> body) {
  forRange(f, low, high, step, {}, [&](Value i, ValueRange) {
    body(i);
    return Values();
  });
}

void mlir::frit::ifTrue(CpuFunction &f, Value condition, llvm::function_ref<void()> body,
                        llvm::function_ref<void()> otherwise) {
  OpBuilder &b = f.getBuilder();
  auto branch = scf::IfOp::create(b, locOf(f), condition, static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
  if (otherwise) {
    b.setInsertionPoint(branch.elseBlock()->getTerminator());
    otherwise();
  }
}

Value mlir::frit::add(CpuFunction &f, Value a, Value b) {
  return arith::AddIOp::create(f.getBuilder(), locOf(f), a, b);
}
Value mlir::frit::add(CpuFunction &f, Value a, int64_t b) {
  return b == 0 ? a : add(f, a, f.i64(b));
}
Value mlir::frit::sub(CpuFunction &f, Value a, Value b) {
  return arith::SubIOp::create(f.getBuilder(), locOf(f), a, b);
}
Value mlir::frit::mul(CpuFunction &f, Value a, Value b) {
  return arith::MulIOp::create(f.getBuilder(), locOf(f), a, b);
}
Value mlir::frit::minimum(CpuFunction &f, Value a, Value b) {
  return arith::MinSIOp::create(f.getBuilder(), locOf(f), a, b);
}
Value mlir::frit::divide(CpuFunction &f, Value a, Value b) {
  return arith::DivUIOp::create(f.getBuilder(), locOf(f), a, b);
}

Value mlir::frit::wholeSteps(CpuFunction &f, Value low, Value high, int64_t step) {
  Value count = sub(f, high, low);
  Value rest = arith::RemUIOp::create(f.getBuilder(), locOf(f), count, f.i64(step));
  return sub(f, high, rest);
}

Value mlir::frit::tailMask(CpuFunction &f, Value first, Value high, unsigned lanes) {
  OpBuilder &b = f.getBuilder();
  Location loc = locOf(f);
  // In 32 bits: only a rest below `lanes` matters, so it is limited first.
  Value left = minimum(f, sub(f, high, first), f.i64(lanes));
  Value narrow = arith::TruncIOp::create(b, loc, b.getI32Type(), left);
  if (lanes == 1) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, left, f.i64(0));
  }
  auto steps = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
  Value step = arith::ConstantOp::create(
      b, loc, DenseIntElementsAttr::get(VectorType::get({lanes}, b.getI32Type()), steps));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, step,
                               f.splatLanes(narrow, lanes));
}

static Values placeOf(CpuFunction &f, Value unit, ArrayRef<SizeExpr> sizes) {
  Values place(sizes.size(), f.i64(0));
  for (size_t i = sizes.size(); i-- > 0;) {
    if (i == 0) {
      place[i] = unit;
    } else if (!sizes[i].isConstant(1)) {
      Value size = f.size(sizes[i]);
      if (!sizes[i].getConstant()) {
        // A call without units divides too.
        size = arith::MaxSIOp::create(f.getBuilder(), locOf(f), size, f.i64(1));
      }
      Value quotient = divide(f, unit, size);
      place[i] = sub(f, unit, mul(f, quotient, size));
      unit = quotient;
    }
  }
  return place;
}

void mlir::frit::forUnits(CpuFunction &f, ArrayRef<SizeExpr> sizes,
                          llvm::function_ref<void(ValueRange)> body) {
  OpBuilder &b = f.getBuilder();
  if (sizes.empty() || llvm::all_of(sizes.drop_front(),
                                    [](SizeExpr size) { return size.getConstant().has_value(); })) {
    forRange(f, f.getBegin(), f.getEnd(), 1, [&](Value unit) { body(placeOf(f, unit, sizes)); });
    return;
  }
  Values first = placeOf(f, f.getBegin(), sizes);
  forRange(f, f.getBegin(), f.getEnd(), 1, first, [&](Value, ValueRange place) {
    body(place);
    Values next(place);
    Value carry = f.i64(1);
    for (size_t i = sizes.size(); i-- > 0;) {
      if (i > 0 && sizes[i].isConstant(1)) {
        continue;
      }
      next[i] = add(f, place[i], carry);
      if (i > 0) {
        Value isEnd =
            arith::CmpIOp::create(b, locOf(f), arith::CmpIPredicate::eq, next[i], f.size(sizes[i]));
        next[i] = arith::SelectOp::create(b, locOf(f), isEnd, f.i64(0), next[i]);
        carry = arith::ExtUIOp::create(b, locOf(f), b.getI64Type(), isEnd);
      }
    }
    return next;
  });
}

/// A sweep with one vector a step. The sets of accumulators rotate as loop-carried values, which
/// costs moves that the machine eliminates by renaming. If the length may not be whole vectors, the
/// one loop runs twice, over the whole vectors and over the rest, so that its mask is known before
/// it.
static SmallVector<Values>
sweepOnce(CpuFunction &f, Frame &outer, const Sweep &sweep, SmallVector<Values> carried,
          llvm::function_ref<void(MutableArrayRef<Frame>, MutableArrayRef<Values>)> body) {
  unsigned width = carried[0].size();
  Values flat;
  for (const Values &set : carried) {
    llvm::append_range(flat, set);
  }
  auto walk = [&](Value low, Value high, Value mask, Value whole, ValueRange sets) {
    return forRange(f, low, high, sweep.lanes, sets, [&](Value i, ValueRange values) {
      Frame frame(&outer);
      frame.bindLanes(sweep.dim, i, sweep.lanes, mask);
      frame.whole = whole;
      Values set(values.take_front(width));
      body(frame, set);
      Values next(values.drop_front(width));
      llvm::append_range(next, set);
      return next;
    });
  };
  if (sweep.multiple % sweep.lanes == 0) {
    flat = walk(sweep.low, sweep.high, Value(), Value(), flat);
  } else {
    OpBuilder &b = f.getBuilder();
    Value middle = wholeSteps(f, sweep.low, sweep.high, sweep.lanes);
    flat = forRange(f, f.i64(0), f.i64(2), 1, flat, [&](Value round, ValueRange values) {
      Value whole = arith::CmpIOp::create(b, locOf(f), arith::CmpIPredicate::eq, round, f.i64(0));
      Value low = arith::SelectOp::create(b, locOf(f), whole, sweep.low, middle);
      Value high = arith::SelectOp::create(b, locOf(f), whole, middle, sweep.high);
      return walk(low, high, tailMask(f, low, high, sweep.lanes), whole, values);
    });
  }
  for (auto [k, set] : llvm::enumerate(carried)) {
    set.assign(flat.begin() + k * width, flat.begin() + (k + 1) * width);
  }
  return carried;
}

SmallVector<Values> mlir::frit::sweepLanes(
    CpuFunction &f, Frame &outer, const Sweep &sweep, SmallVector<Values> carried,
    llvm::function_ref<void(MutableArrayRef<Frame>, MutableArrayRef<Values>)> body) {
  unsigned lanes = sweep.lanes;
  if (sweep.once && lanes > 1) {
    return sweepOnce(f, outer, sweep, std::move(carried), body);
  }
  unsigned unroll = carried.size(), width = carried[0].size();
  Values flat;
  for (const Values &set : carried) {
    llvm::append_range(flat, set);
  }
  auto step = [&](Value i, unsigned frames, Value mask, ValueRange values) {
    SmallVector<Frame> bodies(frames, Frame(&outer));
    SmallVector<Values> sets(frames);
    for (unsigned k = 0; k < frames; ++k) {
      bodies[k].bindLanes(sweep.dim, add(f, i, k * lanes), lanes, mask);
      sets[k] = Values(values.slice(k * width, width));
    }
    body(bodies, sets);
    Values next;
    for (const Values &set : sets) {
      llvm::append_range(next, set);
    }
    return next;
  };
  bool exact = sweep.multiple % (lanes * unroll) == 0;
  Value middle = exact ? sweep.high : wholeSteps(f, sweep.low, sweep.high, lanes * unroll);
  flat = forRange(f, sweep.low, middle, lanes * unroll, flat,
                  [&](Value i, ValueRange values) { return step(i, unroll, Value(), values); });
  if (!exact) {
    bool masked = sweep.multiple % lanes != 0;
    // The values that are carried but not used by a step rotate.
    size_t carried = sweep.rotates ? flat.size() : width;
    Values first(ArrayRef(flat).take_front(carried));
    first = forRange(f, middle, sweep.high, lanes, first, [&](Value i, ValueRange values) {
      Values next(values.drop_front(width));
      llvm::append_range(next,
                         step(i, 1, masked ? tailMask(f, i, sweep.high, lanes) : Value(), values));
      return next;
    });
    llvm::copy(first, flat.begin());
  }
  SmallVector<Values> result(unroll);
  for (unsigned k = 0; k < unroll; ++k) {
    result[k].assign(flat.begin() + k * width, flat.begin() + (k + 1) * width);
  }
  return result;
}

void mlir::frit::sweepLanes(CpuFunction &f, Frame &outer, const Sweep &sweep, unsigned unroll,
                            llvm::function_ref<void(MutableArrayRef<Frame>)> body) {
  sweepLanes(f, outer, sweep, SmallVector<Values>(sweep.once ? 1 : unroll),
             [&](MutableArrayRef<Frame> frames, MutableArrayRef<Values>) { body(frames); });
}

/// Whether a value within the loop is computed from values outside by constants and sums; `chain`
/// has these operations in order.
static bool isMadeOutside(scf::ForOp loop, Value value, SmallVectorImpl<Operation *> &chain) {
  if (loop.isDefinedOutsideOfLoop(value)) {
    return true;
  }
  Operation *op = value.getDefiningOp();
  bool isLinear = op && op->getBlock() == loop.getBody() &&
                  isa<arith::ConstantOp, arith::AddIOp>(op) &&
                  llvm::all_of(op->getOperands(),
                               [&](Value operand) { return isMadeOutside(loop, operand, chain); });
  if (isLinear) {
    chain.push_back(op);
  }
  return isLinear;
}

void mlir::frit::hoistProducts(func::FuncOp function) {
  // Inner loops come first, so that a product leaves one after the other.
  function.walk([](scf::ForOp loop) {
    for (Operation &op : llvm::make_early_inc_range(*loop.getBody())) {
      SmallVector<Operation *> chain;
      if (!isa<arith::MulIOp>(op) || !op.getResult(0).getType().isInteger(64) ||
          !llvm::all_of(op.getOperands(),
                        [&](Value operand) { return isMadeOutside(loop, operand, chain); })) {
        continue;
      }
      OpBuilder b(loop);
      IRMapping moved;
      for (Operation *part : chain) {
        b.clone(*part, moved);
      }
      op.moveBefore(loop);
      for (OpOperand &operand : op.getOpOperands()) {
        operand.set(moved.lookupOrDefault(operand.get()));
      }
    }
  });
}
