#include "codegen/gpu/kernels/UnrolledSweep.h"

using namespace mlir;
using namespace mlir::frit;

namespace {

class SweepEmitter {
public:
  SweepEmitter(GpuFunction &function, const UnrolledSweep &sweep, Frame &outer,
               ArrayRef<unsigned> loads,
               llvm::function_ref<void(Frame &, Value, ArrayRef<Value>)> bind,
               llvm::function_ref<SmallVector<Value>(ArrayRef<Frame *>, ValueRange)> body)
      : function(function), sweep(sweep), outer(&outer), loads(loads), bind(bind), body(body),
        counter(sweep.counter && sweep.counter->divides() ? sweep.counter : nullptr) {}

  SmallVector<Value> emit(ValueRange carried) {
    int64_t run = sweep.run();
    Value first = sweep.thread, distance = function.index(run);
    if (sweep.parts) {
      first = function.add(first, function.mul(sweep.part, distance));
      distance = function.mul(distance, function.size(sweep.parts));
    }
    if (sweep.unroll == 1) {
      SmallVector<Value> start = place(first);
      return steps(first, function.size(sweep.extent), distance, carried, start, stepOf(distance))
          .values;
    }
    // The distances from step to step of a run, and from its last step to the first of the next
    // run.
    SmallVector<Value> start = place(first);
    Value next = function.index(sweep.threads);
    Step inside = stepOf(next), between = inside;
    if (sweep.isRolled) {
      between = sweep.parts ? stepOf(function.sub(distance, function.index(run))) : Step();
    } else if (sweep.parts) {
      between = stepOf(function.sub(distance, function.index(run - sweep.threads)));
    }
    SizeExpr whole =
        sweep.extent.floorDiv(SizeExpr::constant(sweep.extent.getContext(), run)) * run;
    Carried totals = loop(first, function.size(whole), distance,
                          {SmallVector<Value>(carried), start}, [&](Value step, Carried now) {
                            now = sweep.isRolled
                                      ? steps(step, function.add(step, function.index(run)), next,
                                              now.values, now.place, inside)
                                      : emitRun(step, std::move(now), inside);
                            advance(now.place, between);
                            return now;
                          });
    if (whole == sweep.extent) {
      return totals.values;
    }
    Value rest = function.add(function.size(whole), sweep.thread),
          end = function.size(sweep.extent);
    if (sweep.parts) {
      Value last = function.sub(function.size(sweep.parts), function.index(1));
      Value isLast = arith::CmpIOp::create(function.getBuilder(), function.getLoc(),
                                           arith::CmpIPredicate::eq, sweep.part, last);
      rest = arith::SelectOp::create(function.getBuilder(), function.getLoc(), isLast, rest, end);
    }
    return steps(rest, end, next, totals.values, place(rest), inside).values;
  }

private:
  /// The values carried from step to step: those of the body and, if it is carried, the place.
  struct Carried {
    SmallVector<Value> values, place;
  };
  using Step = std::optional<MixedRadixCounter::Step>;

  SmallVector<Value> place(Value step) {
    return counter ? counter->find(outer, step) : SmallVector<Value>();
  }
  Step stepOf(Value distance) { return counter ? Step(counter->getStep(distance)) : Step(); }
  void advance(SmallVector<Value> &place, const Step &step) {
    if (counter && step) {
      place = counter->advance(place, *step);
    }
  }

  Carried loop(Value first, Value end, Value distance, const Carried &start,
               llvm::function_ref<Carried(Value, Carried)> each) {
    size_t count = start.values.size();
    auto split = [&](ValueRange both) {
      return Carried{SmallVector<Value>(both.take_front(count)),
                     SmallVector<Value>(both.drop_front(count))};
    };
    auto join = [](const Carried &carried) {
      return llvm::to_vector(llvm::concat<const Value>(carried.values, carried.place));
    };
    return split(function.loop(first, end, distance, join(start), [&](Value step, ValueRange now) {
      return join(each(step, split(now)));
    }));
  }

  Carried steps(Value first, Value end, Value distance, ValueRange values, SmallVector<Value> place,
                const Step &step) {
    return loop(first, end, distance, {SmallVector<Value>(values), std::move(place)},
                [&](Value number, Carried now) {
                  Frame frame(&outer);
                  bind(frame, number, now.place);
                  now.values = body(&frame, now.values);
                  advance(now.place, step);
                  return now;
                });
  }

  /// Emits the steps of a run one after the other. The returned place is that of the last one.
  Carried emitRun(Value step, Carried now, const Step &next) {
    std::vector<std::unique_ptr<Frame>> frames;
    for (unsigned k = 0; k < sweep.unroll; ++k) {
      frames.push_back(std::make_unique<Frame>(&outer));
      if (k) {
        advance(now.place, next);
      }
      bind(*frames.back(), k ? function.add(step, function.index(k * sweep.threads)) : step,
           now.place);
      for (unsigned id : loads) {
        function.getEmitter().value(*frames.back(), id);
      }
    }
    SmallVector<Frame *> run;
    llvm::transform(frames, std::back_inserter(run), [](const auto &frame) { return frame.get(); });
    now.values = body(run, now.values);
    return now;
  }

  GpuFunction &function;
  const UnrolledSweep &sweep;
  /// Values that all steps share are computed in this frame.
  Frame outer;
  ArrayRef<unsigned> loads;
  llvm::function_ref<void(Frame &, Value, ArrayRef<Value>)> bind;
  llvm::function_ref<SmallVector<Value>(ArrayRef<Frame *>, ValueRange)> body;
  const MixedRadixCounter *counter;
};

} // namespace

SmallVector<Value> mlir::frit::emitUnrolledSweep(
    GpuFunction &function, const UnrolledSweep &sweep, Frame &outer, ArrayRef<unsigned> loads,
    ValueRange carried, llvm::function_ref<void(Frame &, Value, ArrayRef<Value>)> bind,
    llvm::function_ref<SmallVector<Value>(ArrayRef<Frame *>, ValueRange)> body) {
  return SweepEmitter(function, sweep, outer, loads, bind, body).emit(carried);
}
