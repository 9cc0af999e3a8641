#include "codegen/cpu/Combine.h"
#include "codegen/cpu/CpuSchedules.h"
#include "codegen/cpu/Loops.h"
#include "ir/FritAttributes.h"
#include "ir/Planted.h"
#include "kernel/KernelCosts.h"

#include <numeric>

using namespace mlir;
using namespace mlir::frit;

/// Longest scratch row, a power of two: 64 KB of f32 stay in the second-level cache.
static constexpr int64_t kScratchElements = 16384;

/// The number of terms that one accumulator adds one by one.
static constexpr int64_t kBlockVectors = 64;

/// Parts of a row begin at multiples of this.
static constexpr int64_t kPartLine = 64;

namespace {

struct Kept : KeptValue {
  Value buffer;
};

class RowReduction {
public:
  RowReduction(const CpuKernel &kernel, CpuRowsAttr schedule, StringRef suffix = "")
      : kernel(kernel), program(kernel.program), schedule(schedule),
        f(kernel.module, kernel.entryName(suffix), program, kernel.cpu),
        emitter(program, f, f.getBuilder()), lane(schedule.getLane()), lanes(f.getShape().lanes()) {
  }

  void emit();
  void emitParts(SizeExpr parts);
  void emitCombination(SizeExpr parts);

private:
  void prepare();
  SmallVector<Combine> getCombines();
  Value partAddress(Value part, unsigned slot, unsigned slots);
  void chooseKept();
  void keep(Frame &frame, unsigned phase);
  void reuse(Frame &frame, unsigned phase);
  void reuse(Frame &frame, ArrayRef<Kept> read);
  SmallVector<Kept> keptFor(unsigned phase);
  void writeRow(Frame &row);
  Value keptAddress(Frame &frame, const Kept &one);
  void accumulate(Frame &row, unsigned phase);
  /// The states of all reductions of a phase over [low, high) of the lane dim.
  SmallVector<Values> accumulateRange(Frame &row, ArrayRef<Combine> combines,
                                      ArrayRef<unsigned> inputs, unsigned phase, Value low,
                                      Value high, int64_t multiple);
  SmallVector<Values>
  sweepRows(Frame &row, const Sweep &sweep, ArrayRef<unsigned> inputs, Value first, Value last,
            SmallVector<Values> state,
            llvm::function_ref<void(MutableArrayRef<Frame>, MutableArrayRef<Values>)> body);
  SmallVector<Values>
  sweepInBlocks(Frame &row, const Sweep &sweep, ArrayRef<Combine> combines,
                ArrayRef<unsigned> inputs, SmallVector<Values> identity,
                llvm::function_ref<void(MutableArrayRef<Frame>, MutableArrayRef<Values>)> body);
  /// The product of the reduced dims other than the lane dim.
  SizeExpr otherExtent() const;
  void sweepOuter(Frame &row, llvm::function_ref<void(Frame &)> body);
  void writeFull(Frame &frame) { emitter.storeAll(frame, fullStores); }
  Value positionOf(Frame &frame);

  const CpuKernel &kernel;
  const KernelProgram &program;
  CpuRowsAttr schedule;
  CpuFunction f;
  Emitter emitter;
  unsigned lane, lanes;
  SmallVector<unsigned> otherReduced;
  SmallVector<unsigned> roots, rowStores;
  SmallVector<Store> fullStores;
  /// No full result depends on the last reductions, so full results are written in their sweep.
  bool writesEarly = false;
  SmallVector<Kept> kept;
  /// An i1 that is true if the row fits into its scratch; null if it is known to fit.
  Value fits;
  Value length;
  /// Divides the length.
  int64_t divisor = 1;
};

} // namespace

/// Costly values of the lane dim that a later sweep reads again are stored in a row of scratch. If
/// the row may be longer, a later sweep tests whether it was.
void RowReduction::chooseKept() {
  if (!otherReduced.empty() || program.numPhases() > 30) {
    return;
  }
  auto bound = program.getFacts().upperBound(program.getDomain()[lane]);
  if (!bound || *bound > kScratchElements) {
    bound = kScratchElements;
    fits = arith::CmpIOp::create(f.getBuilder(), program.getKernel().getLoc(),
                                 arith::CmpIPredicate::sle, length, f.i64(kScratchElements));
  }
  for (const KeptValue &value : findKeptValues(program, lane, schedule.getKeep())) {
    // Whole vectors are stored, whatever the row's length.
    int64_t whole = llvm::alignTo(*bound, lanes);
    kept.push_back({value, f.scratch(program[value.node].type, whole)});
  }
}

/// The address of a stored value; a row that does not fit wraps around.
Value RowReduction::keptAddress(Frame &frame, const Kept &one) {
  Value at = frame.dims[lane];
  if (fits) {
    at = arith::AndIOp::create(f.getBuilder(), at.getLoc(), at, f.i64(kScratchElements - 1));
  }
  return f.address(one.buffer, program[one.node].type, at);
}

void RowReduction::keep(Frame &frame, unsigned phase) {
  for (const Kept &k : kept) {
    if (k.phase == phase && frame.values.count(k.node)) {
      const Node &node = program[k.node];
      f.storeVector(node.loc, keptAddress(frame, k), node.type, emitter.lanes(frame, k.node),
                    Value());
    }
  }
}

/// The values of earlier sweeps that a sweep reads.
SmallVector<Kept> RowReduction::keptFor(unsigned phase) {
  SmallVector<Kept> read;
  llvm::copy_if(kept, std::back_inserter(read),
                [&](const Kept &k) { return k.phase < phase && (k.readers >> phase & 1); });
  return read;
}

void RowReduction::reuse(Frame &frame, ArrayRef<Kept> read) {
  for (const Kept &k : read) {
    const Node &node = program[k.node];
    frame.values[k.node] =
        f.loadVector(node.loc, keptAddress(frame, k), node.type, frame.lanes, Value());
  }
}

void RowReduction::reuse(Frame &frame, unsigned phase) {
  SmallVector<Kept> read = keptFor(phase);
  if (!fits || read.empty()) {
    return reuse(frame, read);
  }
  OpBuilder &b = f.getBuilder();
  SmallVector<Type> types;
  for (const Kept &k : read) {
    types.push_back(getLanesType(memoryType(program[k.node].type), frame.lanes));
  }
  auto branch = scf::IfOp::create(b, length.getLoc(), types, fits, /*withElseRegion=*/true);
  auto fill = [&](Block *block, bool again) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(block);
    Frame inner(&frame);
    if (!again) {
      reuse(inner, read);
    }
    Values yielded;
    for (const Kept &k : read) {
      yielded.push_back(toMemory(b, program[k.node].loc, emitter.lanes(inner, k.node)));
    }
    scf::YieldOp::create(b, length.getLoc(), yielded);
  };
  fill(branch.thenBlock(), false);
  fill(branch.elseBlock(), true);
  for (auto [k, value] : llvm::zip(read, branch.getResults())) {
    frame.values[k.node] = fromMemory(b, program[k.node].loc, value, program[k.node].type);
  }
}

/// Emits one loop over the reduced dims other than the lane dim around the sweep.
void RowReduction::sweepOuter(Frame &row, llvm::function_ref<void(Frame &)> body) {
  if (otherReduced.empty()) {
    body(row);
    return;
  }
  forRange(f, f.i64(0), f.size(otherExtent()), 1, [&](Value i) {
    Frame inner(&row);
    emitter.bindLinear(inner, i, otherReduced);
    body(inner);
  });
}

Value RowReduction::positionOf(Frame &frame) {
  SizeExpr position = SizeExpr::constant(program.getContext(), 0);
  for (unsigned dim = program.numParallel(); dim < program.getRank(); ++dim) {
    position = position * program.getDomain()[dim] + SizeExpr::dim(program.getContext(), dim);
  }
  return emitter.splat(frame, emitter.index(frame, position));
}

void RowReduction::accumulate(Frame &row, unsigned phase) {
  SmallVector<Combine> combines;
  SmallVector<unsigned> inputs;
  for (unsigned id : program.getReduces()) {
    if (program[id].level == phase) {
      Combine &combine = combines.emplace_back(program, id);
      // A row that is alone has no parallel dims, and must not be added otherwise than among
      // others.
      if (!program.numParallel() && !kBatchInvariantAttr.isOn(program.getKernel())) {
        combine.makePrecise();
      }
      inputs.push_back(program[id].operands[0]);
    }
  }
  auto states = accumulateRange(row, combines, inputs, phase, f.i64(0), length, divisor);
  for (auto [combine, state] : llvm::zip(combines, states)) {
    row.values[combine.getNode()] = combine.result(f.getBuilder(), state);
  }
}

SmallVector<Values> RowReduction::accumulateRange(Frame &row, ArrayRef<Combine> combines,
                                                  ArrayRef<unsigned> inputs, unsigned phase,
                                                  Value low, Value high, int64_t multiple) {
  OpBuilder &b = f.getBuilder();
  bool isInvariant = kBatchInvariantAttr.isOn(program.getKernel());
  Sweep sweep{lane, low, high, lanes, multiple, schedule.getOnce()[phase], isInvariant};
  unsigned unroll = schedule.getUnroll()[phase];
  Values identity;
  for (const Combine &combine : combines) {
    llvm::append_range(identity, combine.identity(b, lanes));
  }
  SmallVector<Values> state(unroll, identity);
  auto body = [&](MutableArrayRef<Frame> frames, MutableArrayRef<Values> sets) {
    for (auto [frame, set] : llvm::zip(frames, sets)) {
      reuse(frame, phase);
      unsigned at = 0;
      for (const Combine &combine : combines) {
        Value position = combine.needsPosition() ? positionOf(frame) : Value();
        ValueRange old = ValueRange(set).slice(at, combine.stateSize());
        Values next = combine.accumulate(emitter, frame, old, position);
        if (frame.mask && !isPlanted(Mistake::Padding)) {
          next = combine.select(b, frame.mask, next, old);
        }
        llvm::copy(next, set.begin() + at);
        at += combine.stateSize();
      }
      keep(frame, phase);
      if (writesEarly && phase + 1 == program.numPhases()) {
        writeFull(frame);
      }
    }
  };
  state = sweepInBlocks(row, sweep, combines, inputs, state, body);
  unsigned at = 0;
  SmallVector<Values> result;
  for (const Combine &combine : combines) {
    auto part = [&](unsigned k) {
      return Values(ArrayRef(state[k]).slice(at, combine.stateSize()));
    };
    SmallVector<Values> parts;
    for (unsigned k = 0; k < unroll; ++k) {
      parts.push_back(combine.toPrecise(b, part(k)));
    }
    while (parts.size() > 1) {
      for (unsigned k = 0; k < parts.size() / 2; ++k) {
        parts[k] = combine.combine(b, parts[2 * k], parts[2 * k + 1]);
      }
      parts.resize(parts.size() / 2);
    }
    result.push_back(combine.horizontal(b, parts[0], lanes));
    at += combine.stateSize();
  }
  return result;
}

SizeExpr RowReduction::otherExtent() const {
  SizeExpr extent = SizeExpr::constant(program.getContext(), 1);
  for (unsigned dim : otherReduced) {
    extent = extent * program.getDomain()[dim];
  }
  return extent;
}

/// The sweep along the lane dim for the indices [first, last) of the other reduced dims; once where
/// there are none.
SmallVector<Values> RowReduction::sweepRows(
    Frame &row, const Sweep &sweep, ArrayRef<unsigned> inputs, Value first, Value last,
    SmallVector<Values> state,
    llvm::function_ref<void(MutableArrayRef<Frame>, MutableArrayRef<Values>)> body) {
  if (otherReduced.empty()) {
    return sweepLanes(f, row, sweep, std::move(state), body);
  }
  unsigned width = state[0].size();
  Values flat = forRange(f, first, last, 1, flatten(state), [&](Value i, ValueRange values) {
    Frame inner(&row);
    emitter.bindLinear(inner, i, otherReduced);
    emitter.hoist(inner, inputs);
    return flatten(sweepLanes(f, inner, sweep, unflatten(values, width), body));
  });
  return unflatten(flat, width);
}

/// A sum of many terms added one by one loses half its bits to rounding. So accumulators are reset
/// for each block of about kBlockVectors vectors, and blocks of f32 are added in f64. A block is a
/// part of a long row, or, if other dims are reduced too, several short rows. The order of
/// additions depends on sizes alone, whether they are known or not.
SmallVector<Values> RowReduction::sweepInBlocks(
    Frame &row, const Sweep &sweep, ArrayRef<Combine> combines, ArrayRef<unsigned> inputs,
    SmallVector<Values> identity,
    llvm::function_ref<void(MutableArrayRef<Frame>, MutableArrayRef<Values>)> body) {
  OpBuilder &b = f.getBuilder();
  unsigned sets = identity.size(), width = identity[0].size();
  int64_t block = kBlockVectors * sets * lanes;
  SizeExpr extent = otherExtent();
  auto bound = program.sharedBound(program.getDomain()[lane]), others = program.sharedBound(extent);
  bool isSum = llvm::any_of(combines, [](const Combine &c) { return c.isFloatSum(); });
  bool isShort =
      bound && others && *bound <= block && *others <= block && *bound * *others <= block;
  Value zero = f.i64(0), count = f.size(extent);
  if (!isSum || isShort) {
    return sweepRows(row, sweep, inputs, zero, count, std::move(identity), body);
  }
  Values totals = toWide(b, combines, flatten(identity));
  auto overParts = [&](Value first, Value last, ValueRange before) -> Values {
    return forRange(f, sweep.low, sweep.high, block, before, [&](Value low, ValueRange values) {
      Sweep part = sweep;
      part.low = low;
      part.high = minimum(f, sweep.high, add(f, low, block));
      part.multiple = std::gcd(sweep.multiple, block);
      return combined(
          b, combines, values,
          toWide(b, combines, flatten(sweepRows(row, part, inputs, first, last, identity, body))));
    });
  };
  if (otherReduced.empty()) {
    totals = overParts(zero, count, totals);
  } else {
    // Rows of a block; one where a row has several blocks.
    Value length = arith::MaxSIOp::create(b, program.getKernel().getLoc(),
                                          sub(f, sweep.high, sweep.low), f.i64(1));
    Value rows = arith::MaxSIOp::create(b, program.getKernel().getLoc(),
                                        divide(f, f.i64(block), length), f.i64(1));
    Value blocks = divide(f, add(f, count, sub(f, rows, f.i64(1))), rows);
    totals = forRange(f, zero, blocks, 1, totals, [&](Value i, ValueRange values) -> Values {
      Value first = mul(f, i, rows);
      return overParts(first, minimum(f, count, add(f, first, rows)), values);
    });
  }
  return unflatten(fromWide(b, combines, totals), width);
}

void RowReduction::prepare() {
  for (unsigned dim = program.numParallel(); dim < program.getRank(); ++dim) {
    if (dim != lane) {
      otherReduced.push_back(dim);
    }
  }
  for (auto [i, store] : llvm::enumerate(program.getStores())) {
    if (store.dims & program.reducedMask()) {
      fullStores.push_back(store);
    } else {
      rowStores.push_back(i);
    }
  }
  roots = program.getRoots();
  writesEarly = areStoresEarly(program);
  length = f.size(program.getDomain()[lane]);
  divisor = program.getDomain()[lane].getContentDivisor();
}

SmallVector<Combine> RowReduction::getCombines() {
  SmallVector<Combine> combines;
  for (unsigned id : program.getReduces()) {
    combines.emplace_back(program, id).makePrecise();
  }
  return combines;
}

/// The address of a partial state; they are stored in the workspace part by part, eight bytes each.
Value RowReduction::partAddress(Value part, unsigned slot, unsigned slots) {
  Value index = add(f, mul(f, part, f.i64(slots)), slot);
  return f.address(f.getWorkspace(), f.getBuilder().getI64Type(), index);
}

static unsigned countSlots(ArrayRef<Combine> combines) {
  unsigned slots = 0;
  for (const Combine &combine : combines) {
    slots += combine.stateSize();
  }
  return slots;
}

void RowReduction::emitParts(SizeExpr parts) {
  prepare();
  SmallVector<Combine> combines = getCombines();
  SmallVector<unsigned> inputs =
      llvm::map_to_vector(combines, [](const Combine &combine) { return combine.getInput(); });
  unsigned slots = countSlots(combines);
  SizeExpr line = SizeExpr::constant(program.getContext(), kPartLine);
  Value stretch = f.size(program.getDomain()[lane].ceilDiv(parts).ceilDiv(line) * line);
  Frame entry;
  emitter.hoist(entry, inputs);
  forRange(f, f.getBegin(), f.getEnd(), 1, [&](Value part) {
    Frame row(&entry);
    Value low = minimum(f, mul(f, part, stretch), length);
    Value high = minimum(f, add(f, low, stretch), length);
    unsigned slot = 0;
    for (auto [combine, state] :
         llvm::zip(combines, accumulateRange(row, combines, inputs, 0, low, high,
                                             std::gcd(divisor, kPartLine)))) {
      for (auto [k, value] : llvm::enumerate(state)) {
        f.storeVector(part.getLoc(), partAddress(part, slot++, slots), combine.stateType(k), value,
                      Value());
      }
    }
  });
  f.finish();
  kernel.addLaunch(kernel.entryName("_parts"), parts, 1);
  kernel.desc.workspaceBytes = parts * (8 * slots);
}

void RowReduction::emitCombination(SizeExpr parts) {
  prepare();
  OpBuilder &b = f.getBuilder();
  SmallVector<Combine> combines = getCombines();
  unsigned slots = countSlots(combines);
  Values states;
  for (const Combine &combine : combines) {
    llvm::append_range(states, combine.toPrecise(b, combine.identity(b, 1)));
  }
  states = forRange(f, f.i64(0), f.size(parts), 1, states, [&](Value part, ValueRange carried) {
    Values next;
    unsigned slot = 0;
    for (const Combine &combine : combines) {
      Values one;
      ValueRange old = carried.slice(slot, combine.stateSize());
      for (unsigned k = 0; k < combine.stateSize(); ++k) {
        one.push_back(f.loadVector(part.getLoc(), partAddress(part, slot++, slots),
                                   combine.stateType(k), 1, Value()));
      }
      llvm::append_range(next, combine.combine(b, old, one));
    }
    return next;
  });
  Frame row;
  unsigned slot = 0;
  for (const Combine &combine : combines) {
    row.values[combine.getNode()] =
        combine.result(b, ValueRange(states).slice(slot, combine.stateSize()));
    slot += combine.stateSize();
  }
  for (const Store &store : program.getStores()) {
    emitter.store(row, store, emitter.value(row, store.node));
  }
  f.finish();
  kernel.addLaunch(kernel.entryName(), SizeExpr::constant(program.getContext(), 1), 1);
}

/// The last sweep: one version for rows whose values were stored, and one that recomputes
/// everything, if rows may be too long.
void RowReduction::writeRow(Frame &row) {
  auto sweepFrom = [&](ArrayRef<Kept> read) {
    sweepOuter(row, [&](Frame &outer) {
      bool once = read.empty() ? schedule.getRecomputeOnce() : schedule.getWriteOnce();
      Sweep sweep{lane, f.i64(0), length, lanes, divisor, once};
      sweepLanes(f, outer, sweep, 1, [&](MutableArrayRef<Frame> frames) {
        for (Frame &frame : frames) {
          reuse(frame, read);
          writeFull(frame);
        }
      });
    });
  };
  SmallVector<Kept> read = keptFor(program.numPhases());
  if (fits && !read.empty()) {
    ifTrue(f, fits, [&] { sweepFrom(read); }, [&] { sweepFrom({}); });
  } else {
    sweepFrom(read);
  }
}

void RowReduction::emit() {
  prepare();
  chooseKept();
  if (schedule.getStreams()) {
    f.allowStreaming(lane);
  }
  Frame entry;
  emitter.hoist(entry, roots);
  forUnits(f, ArrayRef(program.getDomain()).take_front(program.numParallel()),
           [&](ValueRange place) {
             Frame row(&entry);
             for (auto [dim, at] : llvm::enumerate(place)) {
               row.bind(dim, at);
             }
             for (unsigned phase = 0; phase < program.numPhases(); ++phase) {
               emitter.hoist(row, roots);
               accumulate(row, phase);
             }
             emitter.hoist(row, roots);
             for (unsigned i : rowStores) {
               const Store &store = program.getStores()[i];
               emitter.store(row, store, emitter.value(row, store.node));
             }
             if (!fullStores.empty() && !writesEarly) {
               writeRow(row);
             }
           });
  f.finish();
  kernel.addLaunch(kernel.entryName(), program.getExtent(0, program.numParallel()),
                   schedule.getGrain());
}

void mlir::frit::emitSplitReduction(const CpuKernel &kernel, CpuRowsAttr schedule) {
  SizeExpr parts = countParts(kernel.program.getDomain().back(), schedule.getSplitElements(),
                              schedule.getMostParts());
  RowReduction(kernel, schedule, "_parts").emitParts(parts);
  RowReduction(kernel, schedule).emitCombination(parts);
}

void mlir::frit::emitRowReduction(const CpuKernel &kernel, CpuRowsAttr schedule) {
  RowReduction(kernel, schedule).emit();
}
