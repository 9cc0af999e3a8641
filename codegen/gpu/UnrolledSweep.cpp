#include "codegen/gpu/UnrolledSweep.h"

using namespace mlir;
using namespace mlir::frit;

SmallVector<unsigned> mlir::frit::getSweptLoads(const KernelProgram &program, ArrayRef<unsigned> roots) {
  SmallVector<unsigned> loads;
  std::vector<bool> needed;
  program.reach(roots, needed);
  for (unsigned id = 0; id < needed.size(); ++id) {
    if (needed[id] && program[id].kind == NodeKind::Load && (program[id].dims & program.reducedMask())) {
      loads.push_back(id);
    }
  }
  return loads;
}

SmallVector<Value> mlir::frit::emitUnrolledSweep(GpuFunction &function, const UnrolledSweep &sweep, Frame &outer, ArrayRef<unsigned> loads,
                                                 ValueRange carried, llvm::function_ref<void(Frame &, Value)> bind,
                                                 llvm::function_ref<SmallVector<Value>(ArrayRef<Frame *>, ValueRange)> body) {
  int64_t length = sweep.run();
  auto stepsFrom = [&](Value first, Value end, Value distance, ValueRange values) {
    return function.loop(first, end, distance, values, [&](Value step, ValueRange now) {
      Frame frame(&outer);
      bind(frame, step);
      return body(&frame, now);
    });
  };
  Value first = sweep.thread, distance = function.index(length);
  if (sweep.parts) {
    first = function.add(first, function.mul(sweep.part, distance));
    distance = function.mul(distance, function.size(sweep.parts));
  }
  if (sweep.unroll == 1) {
    return stepsFrom(first, function.size(sweep.extent), distance, carried);
  }
  auto emitRun = [&](Value step, ValueRange values) -> SmallVector<Value> {
    if (sweep.isRolled) {
      return stepsFrom(step, function.add(step, function.index(length)), function.index(sweep.threads), values);
    }
    std::vector<std::unique_ptr<Frame>> frames;
    for (unsigned k = 0; k < sweep.unroll; ++k) {
      frames.push_back(std::make_unique<Frame>(&outer));
      bind(*frames.back(), k ? function.add(step, function.index(k * sweep.threads)) : step);
      for (unsigned id : loads) {
        function.getEmitter().value(*frames.back(), id);
      }
    }
    SmallVector<Frame *> run;
    llvm::transform(frames, std::back_inserter(run), [](const auto &frame) { return frame.get(); });
    return body(run, values);
  };
  SizeExpr whole = sweep.extent.floorDiv(SizeExpr::constant(sweep.extent.getContext(), length)) * length;
  SmallVector<Value> totals = function.loop(first, function.size(whole), distance, carried, emitRun);
  if (whole == sweep.extent) {
    return totals;
  }
  Value rest = function.add(function.size(whole), sweep.thread), end = function.size(sweep.extent);
  if (sweep.parts) {
    Value last = function.sub(function.size(sweep.parts), function.index(1));
    Value isLast = arith::CmpIOp::create(function.getBuilder(), function.getLoc(), arith::CmpIPredicate::eq, sweep.part, last);
    rest = arith::SelectOp::create(function.getBuilder(), function.getLoc(), isLast, rest, end);
  }
  return stepsFrom(rest, end, function.index(sweep.threads), totals);
}
