// The order in which tiles of a column reduction walk the reduced dims.
#include "codegen/cpu/ColumnReduction.h"

using namespace mlir;
using namespace mlir::frit;

/// Nested loops over the reduced dims, outermost first.
Values ColumnReduction::loopReduced(Frame &outer, Values carried,
                                    llvm::function_ref<Values(Frame &, ValueRange)> body) {
  std::function<Values(Frame &, unsigned, Values)> nest = [&](Frame &frame, unsigned dim,
                                                              const Values &values) -> Values {
    if (dim == program.getRank()) {
      return body(frame, values);
    }
    return forRange(f, getStart(dim), getStop(dim), 1, values, [&](Value i, ValueRange inner) {
      Frame point(&frame);
      point.bind(dim, i);
      if (dim + 1 < program.getRank()) {
        emitter.hoist(point, roots);
      }
      return nest(point, dim + 1, Values(inner));
    });
  };
  return nest(outer, program.numParallel(), std::move(carried));
}

bool ColumnReduction::isShort() const {
  int64_t terms = 1;
  for (unsigned dim = program.numParallel(); dim < program.getRank(); ++dim) {
    auto bound = program.sharedBound(program.getDomain()[dim]);
    if (!bound || *bound > kSumSteps[1]) {
      return false;
    }
    terms *= std::max<int64_t>(*bound, 1);
    if (terms > kSumSteps[1]) {
      return false;
    }
  }
  return true;
}

/// Divides `dim` into stretches of steps[0], steps[1] ... (each divides the next). Each stretch
/// starts from the identity, and the results are combined: stretches are short enough for narrow
/// counters (which are added up in i64) and for the precision of sums. The results of the longest
/// stretches are added in f64.
Values ColumnReduction::loopStretches(Frame &outer, unsigned dim, ArrayRef<Combine> combines,
                                      const Values &identity, ArrayRef<int64_t> steps,
                                      llvm::function_ref<Values(Frame &, ValueRange)> body) {
  OpBuilder &b = f.getBuilder();
  // Narrow counters are added up in i64.
  auto widen = [&](Values states) {
    for (size_t at = 0; at < states.size();) {
      for (const Combine &combine : combines) {
        states[at] = combine.isNarrow() ? combine.widen(b, states[at]) : states[at];
        at += combine.stateSize();
      }
    }
    return states;
  };
  Values wide = widen(identity);
  std::function<Values(unsigned, Value, Value)> nest = [&](unsigned level, Value low,
                                                           Value high) -> Values {
    if (level == 0) {
      return forRange(f, low, high, 1, identity, [&](Value i, ValueRange inner) {
        Frame point(&outer);
        point.bind(dim, i);
        return body(point, inner);
      });
    }
    int64_t step = steps[level - 1];
    bool inDoubles = level > 1 && level == steps.size();
    return forRange(f, low, high, step, inDoubles ? toWide(b, combines, wide) : wide,
                    [&](Value first, ValueRange carried) -> Values {
                      Values sums = nest(level - 1, first, minimum(f, high, add(f, first, step)));
                      sums = level == 1 ? widen(std::move(sums)) : sums;
                      return combined(b, combines, carried,
                                      inDoubles ? toWide(b, combines, sums) : sums);
                    });
  };
  Values states = nest(steps.size(), getStart(dim), getStop(dim));
  return steps.size() > 1 ? fromWide(b, combines, states) : states;
}

/// Divides the last of several reduced dims into stretches, which start from the identity for each
/// index of the others; their results are added in f64.
Values ColumnReduction::loopStretchesOfRows(Frame &outer, ArrayRef<Combine> combines,
                                            const Values &identity, ArrayRef<int64_t> steps,
                                            llvm::function_ref<Values(Frame &, ValueRange)> body) {
  OpBuilder &b = f.getBuilder();
  unsigned last = program.getRank() - 1;
  std::function<Values(Frame &, unsigned, Values)> nest = [&](Frame &frame, unsigned dim,
                                                              const Values &totals) -> Values {
    if (dim == last) {
      return combined(
          b, combines, totals,
          toWide(b, combines, loopStretches(frame, last, combines, identity, steps, body)));
    }
    return forRange(f, getStart(dim), getStop(dim), 1, totals,
                    [&](Value i, ValueRange inner) -> Values {
                      Frame point(&frame);
                      point.bind(dim, i);
                      emitter.hoist(point, roots);
                      return nest(point, dim + 1, Values(inner));
                    });
  };
  return fromWide(b, combines, nest(outer, program.numParallel(), toWide(b, combines, identity)));
}
