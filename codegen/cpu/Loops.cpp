#include "codegen/cpu/Loops.h"

using namespace mlir;
using namespace mlir::frit;

static Location locOf(CpuFunction &f) { return f.getBegin().getLoc(); }

Values mlir::frit::forRange(CpuFunction &f, Value low, Value high, int64_t step,
                            ValueRange carried,
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

void mlir::frit::ifTrue(CpuFunction &f, Value condition, llvm::function_ref<void()> body) {
  OpBuilder &b = f.getBuilder();
  auto branch = scf::IfOp::create(b, locOf(f), condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
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
  // 32 bits: what is left is below `lanes` wherever it matters, so it is capped first.
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

SmallVector<Values> mlir::frit::sweepLanes(
    CpuFunction &f, Frame &outer, unsigned dim, Value low, Value high, unsigned lanes,
    SmallVector<Values> carried,
    llvm::function_ref<void(MutableArrayRef<Frame>, MutableArrayRef<Values>)> body) {
  unsigned unroll = carried.size(), width = carried[0].size();
  Values flat;
  for (const Values &set : carried) {
    llvm::append_range(flat, set);
  }
  auto step = [&](Value i, unsigned frames, Value mask, ValueRange values) {
    SmallVector<Frame> bodies(frames, Frame(&outer));
    SmallVector<Values> sets(frames);
    for (unsigned k = 0; k < frames; ++k) {
      bodies[k].bindLanes(dim, add(f, i, k * lanes), lanes, mask);
      sets[k] = Values(values.slice(k * width, width));
    }
    body(bodies, sets);
    Values next;
    for (const Values &set : sets) {
      llvm::append_range(next, set);
    }
    return next;
  };
  Value middle = low;
  if (lanes * unroll > 1) {
    middle = wholeSteps(f, low, high, lanes * unroll);
  } else {
    middle = high;
  }
  flat = forRange(f, low, middle, lanes * unroll, flat, [&](Value i, ValueRange values) {
    return step(i, unroll, Value(), values);
  });
  if (lanes * unroll > 1) {
    Values first(ArrayRef(flat).take_front(width));
    first = forRange(f, middle, high, lanes, first, [&](Value i, ValueRange values) {
      return step(i, 1, tailMask(f, i, high, lanes), values);
    });
    llvm::copy(first, flat.begin());
  }
  SmallVector<Values> result(unroll);
  for (unsigned k = 0; k < unroll; ++k) {
    result[k].assign(flat.begin() + k * width, flat.begin() + (k + 1) * width);
  }
  return result;
}

void mlir::frit::sweepLanes(CpuFunction &f, Frame &outer, unsigned dim, Value low, Value high,
                            unsigned lanes, unsigned unroll,
                            llvm::function_ref<void(MutableArrayRef<Frame>)> body) {
  sweepLanes(f, outer, dim, low, high, lanes, SmallVector<Values>(unroll),
             [&](MutableArrayRef<Frame> frames, MutableArrayRef<Values>) { body(frames); });
}

int64_t mlir::frit::guessSize(const KernelProgram &program, SizeExpr size) {
  if (auto constant = size.getConstant()) {
    return *constant;
  }
  auto value = size.evaluate([&](StringRef name) -> std::optional<int64_t> {
    for (auto symbol : program.getKernel().getSymbols().getAsRange<SymbolAttr>()) {
      if (symbol.getName() == name) {
        // Hints count by their power of two: nearby sizes share a kernel.
        int64_t hint = symbol.getHint().value_or(64);
        return hint <= 1 ? hint : int64_t(1) << llvm::Log2_64(hint);
      }
    }
    return std::nullopt;
  });
  return value.value_or(64);
}

int64_t mlir::frit::chooseGrain(const KernelProgram &program, int64_t elements) {
  double weight = 0;
  for (const Node &node : program.getNodes()) {
    if (node.kind == NodeKind::Apply) {
      weight += isa<math::MathDialect>(node.op->getDialect()) ? 8 : 1;
    } else if (node.kind == NodeKind::Load || node.kind == NodeKind::Reduce) {
      weight += 2;
    }
  }
  // About 10 us of vector work.
  double budget = 400e3 / std::max(weight, 4.0);
  return std::max<int64_t>(1, budget / std::max<int64_t>(elements, 1));
}
