#include "codegen/cpu/Combine.h"
#include "codegen/cpu/CpuSchedules.h"
#include "codegen/cpu/Loops.h"
#include "codegen/cpu/Packing.h"
#include "kernel/KernelCosts.h"

using namespace mlir;
using namespace mlir::frit;

/// Terms of a sum that are added one by one; see RowReduction.
static constexpr int64_t kBlockSteps[] = {16, 512};
static_assert(kPackedSteps % kBlockSteps[1] == 0);

namespace {

/// One kernel of the family. A tile is `rows` values of the row dim by `vectors` lane
/// vectors; its accumulators live in registers through the loop over the reduced
/// dims.
class ColumnReduction {
public:
  ColumnReduction(const CpuKernel &kernel, CpuColumnsAttr schedule)
      : kernel(kernel), program(kernel.program), schedule(schedule),
        f(kernel.module, kernel.entryName(), program, kernel.cpu),
        emitter(program, f, f.getBuilder()), lane(schedule.getLane()), lanes(f.getShape().lanes()),
        rowDim(schedule.getRowDim()), blockRows(schedule.getRows()),
        blockVectors(schedule.getVectors()), once(schedule.getOnce()),
        unitRows(schedule.getUnitRows()) {}

  void emit();

private:
  struct Tile {
    unsigned rows, vectors;
    /// Lane and row positions of the first element.
    Value firstLane, firstRow;
    Value mask, whole;
  };

  /// A stretch of the reduced dim, for which the strided operands are packed.
  struct Stretch {
    Value low, high, isFirst, isLast;
  };

  void emitTile(Frame &unit, const Tile &tile);
  Values loopReduced(Frame &outer, Values carried,
                     llvm::function_ref<Values(Frame &, ValueRange)> body);
  Values loopStretches(Frame &outer, unsigned dim, ArrayRef<Combine> combines,
                       const Values &identity, ArrayRef<int64_t> steps,
                       llvm::function_ref<Values(Frame &, ValueRange)> body);
  Values loopStretchesOfRows(Frame &outer, ArrayRef<Combine> combines, const Values &identity,
                             ArrayRef<int64_t> steps,
                             llvm::function_ref<Values(Frame &, ValueRange)> body);
  /// Whether there are few terms over all reduced dims.
  bool isShort() const;
  void pack();
  Values carry(const Tile &tile, ArrayRef<Combine> combines, Values states);
  void storeCarried(const Tile &tile, ValueRange states);
  Value carriedAddress(const Tile &tile, size_t number, size_t states, Type element);
  Value getStart(unsigned dim) {
    return dim == program.numParallel() && stretch ? stretch->low : f.i64(0);
  }
  Value getStop(unsigned dim) {
    return dim == program.numParallel() && stretch ? stretch->high
                                                   : f.size(program.getDomain()[dim]);
  }
  /// Frames of all (row, vector) pairs below `point`.
  void openFrames(Frame &point, const Tile &tile, ArrayRef<unsigned> wanted,
                  SmallVectorImpl<Frame> &frames, std::vector<Frame> &shared);

  const CpuKernel &kernel;
  const KernelProgram &program;
  CpuColumnsAttr schedule;
  CpuFunction f;
  Emitter emitter;
  unsigned lane, lanes;
  /// The parallel dim along which rows of a tile lie.
  std::optional<unsigned> rowDim;
  unsigned blockRows, blockVectors;
  /// Only one tile is emitted, of one masked vector.
  bool once;
  int64_t unitRows;
  SmallVector<unsigned> outerDims;
  SmallVector<unsigned> roots;
  std::optional<Packing> packing;
  /// Reductions of more than kPackedSteps, or of unknown length, have several stretches.
  /// Between stretches accumulators are stored in `carried`, one buffer for each state.
  bool inStretches = false;
  std::optional<Stretch> stretch;
  SmallVector<Value> carried;
  /// The unit's first lane and row.
  Value unitColumn, unitRow;
};

} // namespace

void ColumnReduction::openFrames(Frame &point, const Tile &tile, ArrayRef<unsigned> wanted,
                                 SmallVectorImpl<Frame> &frames, std::vector<Frame> &shared) {
  shared.clear();
  shared.reserve(tile.rows + tile.vectors);
  // Values that depend only on the row, or only on the lane vector, are emitted once each.
  if (rowDim) {
    for (unsigned r = 0; r < tile.rows; ++r) {
      Frame &row = shared.emplace_back(&point);
      row.bind(*rowDim, add(f, tile.firstRow, r));
      emitter.hoist(row, wanted);
    }
  }
  size_t firstVector = shared.size();
  for (unsigned v = 0; v < tile.vectors; ++v) {
    Frame &vector = shared.emplace_back(&point);
    vector.bindLanes(lane, add(f, tile.firstLane, v * lanes), lanes, tile.mask);
    vector.whole = tile.whole;
    unsigned reduced = program.numParallel();
    if (packing && vector.dims.size() > reduced && vector.dims[reduced]) {
      packing->supply(vector, stretch->low, unitColumn);
    }
    emitter.hoist(vector, wanted);
  }
  for (unsigned r = 0; r < tile.rows; ++r) {
    for (unsigned v = 0; v < tile.vectors; ++v) {
      Frame &frame = frames.emplace_back(&shared[firstVector + v]);
      if (rowDim) {
        Frame &row = shared[r];
        frame.bind(*rowDim, row.dims[*rowDim]);
        for (auto &[node, value] : row.values) {
          frame.values[node] = value;
        }
        for (auto &[node, value] : row.valid) {
          frame.valid[node] = value;
        }
      }
    }
  }
}

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
    if (!bound || *bound > kBlockSteps[1]) {
      return false;
    }
    terms *= std::max<int64_t>(*bound, 1);
    if (terms > kBlockSteps[1]) {
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

/// Packs loads that have a stride along the lanes and are shared by the rows of a tile into lane
/// order, once for each unit and stretch.
void ColumnReduction::pack() {
  auto bound = program.getFacts().upperBound(program.getDomain().back());
  inStretches = !bound || *bound > kPackedSteps;
  packing.emplace(program, f, emitter, lane, blockVectors);
  packing->choose(*rowDim, inStretches ? kPackedSteps : *bound);
}

/// The address at which state `number` of a tile is stored between stretches.
Value ColumnReduction::carriedAddress(const Tile &tile, size_t number, size_t states,
                                      Type element) {
  size_t each = states / (tile.rows * tile.vectors), point = number / each;
  int64_t wide = lanes * blockVectors;
  while (carried.size() < each) {
    carried.push_back(Value());
  }
  Value &buffer = carried[number % each];
  if (!buffer) {
    buffer = f.scratch(element, unitRows * wide);
  }
  Value row = add(f, sub(f, tile.firstRow, unitRow), point / tile.vectors);
  Value at = add(f, add(f, mul(f, row, f.i64(wide)), sub(f, tile.firstLane, unitColumn)),
                 point % tile.vectors * lanes);
  return f.address(buffer, element, at);
}

/// The states of a tile after the stretches so far: combines them with those that are stored.
Values ColumnReduction::carry(const Tile &tile, ArrayRef<Combine> combines, Values states) {
  OpBuilder &b = f.getBuilder();
  Location loc = states[0].getLoc();
  auto sum = scf::IfOp::create(b, loc, ValueRange(states).getTypes(), stretch->isFirst,
                               /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(sum.thenBlock());
    scf::YieldOp::create(b, loc, states);
    b.setInsertionPointToEnd(sum.elseBlock());
    Values before, next;
    for (auto [number, state] : llvm::enumerate(states)) {
      Type element = getElementTypeOrSelf(state.getType());
      before.push_back(f.loadVector(loc, carriedAddress(tile, number, states.size(), element),
                                    element, lanes, Value()));
    }
    while (next.size() < states.size()) {
      for (const Combine &combine : combines) {
        size_t at = next.size(), size = combine.stateSize();
        llvm::append_range(next, combine.combine(b, ValueRange(before).slice(at, size),
                                                 ValueRange(states).slice(at, size)));
      }
    }
    scf::YieldOp::create(b, loc, next);
  }
  return Values(sum.getResults());
}

void ColumnReduction::storeCarried(const Tile &tile, ValueRange states) {
  for (auto [number, state] : llvm::enumerate(states)) {
    Type element = getElementTypeOrSelf(state.getType());
    f.storeVector(state.getLoc(), carriedAddress(tile, number, states.size(), element), element,
                  state, Value());
  }
}

void ColumnReduction::emitTile(Frame &unit, const Tile &tile) {
  OpBuilder &b = f.getBuilder();
  // The tile's frames live across phases, because they hold the values of rows.
  unsigned count = tile.rows * tile.vectors;
  SmallVector<llvm::DenseMap<unsigned, Value>> rowValues(count);
  auto open = [&](Frame &point, ArrayRef<unsigned> wanted, SmallVectorImpl<Frame> &frames,
                  std::vector<Frame> &shared) {
    openFrames(point, tile, wanted, frames, shared);
    for (unsigned i = 0; i < count; ++i) {
      for (auto &[node, value] : rowValues[i]) {
        frames[i].values[node] = value;
      }
    }
  };
  SmallVector<Store> rowStores, fullStores;
  SmallVector<unsigned> fullRoots;
  for (const Store &store : program.getStores()) {
    bool full = store.dims & program.reducedMask();
    (full ? fullStores : rowStores).push_back(store);
    if (full) {
      fullRoots.push_back(store.node);
    }
  }
  auto write = [&](Frame &point, ArrayRef<Store> stores, ArrayRef<unsigned> wanted) {
    SmallVector<Frame> frames;
    std::vector<Frame> shared;
    open(point, wanted, frames, shared);
    for (Frame &frame : frames) {
      emitter.storeAll(frame, stores);
    }
  };
  bool early = areStoresEarly(program);
  for (unsigned phase = 0; phase < program.numPhases(); ++phase) {
    SmallVector<Combine> combines;
    SmallVector<unsigned> inputs;
    bool anyNarrow = false;
    for (unsigned id : program.getReduces()) {
      if (program[id].level == phase) {
        Combine &combine = combines.emplace_back(program, id);
        if (program.numReduced() == 1 && combine.canBeNarrow()) {
          combine.makeNarrow();
          anyNarrow = true;
        }
        inputs.push_back(combine.getInput());
      }
    }
    Values states;
    for (unsigned i = 0; i < count; ++i) {
      for (const Combine &combine : combines) {
        llvm::append_range(states, combine.identity(b, lanes));
      }
    }
    auto step = [&](Frame &point, ValueRange carried) {
      SmallVector<Frame> frames;
      std::vector<Frame> shared;
      open(point, inputs, frames, shared);
      Values next;
      unsigned at = 0;
      for (Frame &frame : frames) {
        for (const Combine &combine : combines) {
          Value position;
          if (combine.needsPosition()) {
            SizeExpr linear = SizeExpr::constant(program.getContext(), 0);
            for (unsigned dim = program.numParallel(); dim < program.getRank(); ++dim) {
              linear = linear * program.getDomain()[dim] + SizeExpr::dim(program.getContext(), dim);
            }
            position = emitter.splat(frame, emitter.firstLane(frame, linear));
          }
          ValueRange old = carried.slice(at, combine.stateSize());
          llvm::append_range(next, combine.accumulate(emitter, frame, old, position));
          at += combine.stateSize();
        }
        if (early && phase + 1 == program.numPhases()) {
          emitter.storeAll(frame, fullStores);
        }
      }
      return next;
    };
    bool isSum = llvm::any_of(combines, [](const Combine &c) { return c.isFloatSum(); });
    auto bound = program.sharedBound(program.getDomain().back());
    SmallVector<int64_t> steps;
    for (int64_t block : kBlockSteps) {
      // Combining a stretch with the identity does not change it, so the sum is the same whether
      // sizes are known or not.
      bool several = !bound || *bound > block;
      if (isSum && several && !(inStretches && block >= kPackedSteps)) {
        steps.push_back(block);
      }
    }
    bool isOfRows = isSum && program.numReduced() > 1 && !isShort();
    if (anyNarrow && steps.empty()) {
      steps.push_back(Combine::kNarrowSteps);
    }
    if (isOfRows) {
      states = loopStretchesOfRows(unit, combines, states, steps, step);
    } else if (!steps.empty() && program.numReduced() == 1) {
      states = loopStretches(unit, program.numParallel(), combines, states, steps, step);
    } else {
      states = loopReduced(unit, states, step);
    }
    auto finish = [&]() {
      unsigned at = 0;
      for (unsigned i = 0; i < count; ++i) {
        for (const Combine &combine : combines) {
          rowValues[i][combine.getNode()] =
              combine.result(b, ValueRange(states).slice(at, combine.stateSize()));
          at += combine.stateSize();
        }
      }
      // The values of the row that depend on them, before the next sweep.
      SmallVector<Frame> frames;
      std::vector<Frame> shared;
      open(unit, roots, frames, shared);
      for (unsigned i = 0; i < count; ++i) {
        emitter.hoist(frames[i], roots);
        rowValues[i] = frames[i].values;
      }
    };
    if (inStretches) {
      states = carry(tile, combines, states);
      ifTrue(
          f, stretch->isLast,
          [&] {
            finish();
            write(unit, rowStores, roots);
          },
          [&] { storeCarried(tile, states); });
      return;
    }
    finish();
  }
  if (!rowStores.empty()) {
    write(unit, rowStores, roots);
  }
  if (!fullStores.empty() && !early) {
    loopReduced(unit, {}, [&](Frame &point, ValueRange) {
      write(point, fullStores, fullRoots);
      return Values();
    });
  }
}

void ColumnReduction::emit() {
  MLIRContext *context = program.getContext();
  roots = program.getRoots();
  if (schedule.getPacks()) {
    pack();
  }
  SizeExpr one = SizeExpr::constant(context, 1);
  SizeExpr rows = one;
  for (unsigned dim = 0; dim < program.numParallel(); ++dim) {
    if (dim != lane && rowDim != dim) {
      outerDims.push_back(dim);
      rows = rows * program.getDomain()[dim];
    }
  }
  // A unit: `chunk` rows of the row dim by one tile's lanes.
  int64_t chunk = unitRows, wide = lanes * blockVectors;
  SizeExpr laneSize = program.getDomain()[lane];
  SizeExpr columns = laneSize.ceilDiv(SizeExpr::constant(context, wide));
  SizeExpr rowSize = rowDim ? program.getDomain()[*rowDim] : one;
  SizeExpr chunks = rowSize.ceilDiv(SizeExpr::constant(context, chunk));
  Frame entry;
  emitter.hoist(entry, roots);
  Value laneCount = f.size(laneSize), rowCount = f.size(rowSize);
  auto places =
      llvm::map_to_vector(outerDims, [&](unsigned dim) { return program.getDomain()[dim]; });
  if (rowDim) {
    places.push_back(chunks);
  }
  places.push_back(columns);
  forUnits(f, places, [&](ValueRange place) {
    Frame frame(&entry);
    Location loc = f.getBegin().getLoc();
    for (auto [dim, at] : llvm::zip(outerDims, place)) {
      frame.bind(dim, at);
    }
    Value column = mul(f, place.back(), f.i64(wide));
    Value chunkIndex = rowDim ? place[outerDims.size()] : f.i64(0);
    emitter.hoist(frame, roots);
    Value columnEnd = minimum(f, add(f, column, wide), laneCount);
    Value rowBegin = mul(f, chunkIndex, f.i64(chunk));
    Value rowEnd = minimum(f, add(f, rowBegin, chunk), rowCount);
    Value full = arith::CmpIOp::create(f.getBuilder(), loc, arith::CmpIPredicate::sle,
                                       add(f, column, wide), laneCount);
    unitColumn = column;
    unitRow = rowBegin;
    // Whole tiles first; then the remaining rows or lanes, one masked vector at a time.
    auto emitTiles = [&] {
      bool wholeLanes = laneSize.getContentDivisor() % wide == 0;
      bool wholeBlocks = rowSize.getContentDivisor() % blockRows == 0;
      Value tiled = rowBegin;
      if (!once || wholeLanes) {
        Value wholeRows = wholeBlocks ? rowEnd : wholeSteps(f, rowBegin, rowEnd, blockRows);
        tiled = wholeLanes
                    ? wholeRows
                    : arith::SelectOp::create(f.getBuilder(), loc, full, wholeRows, rowBegin);
        forRange(f, rowBegin, tiled, blockRows, [&](Value row) {
          emitTile(frame, {blockRows, blockVectors, column, row, Value(), Value()});
        });
      }
      if (!wholeLanes || !wholeBlocks) {
        forRange(f, tiled, rowEnd, 1, [&](Value row) {
          forRange(f, column, columnEnd, lanes, [&](Value first) {
            emitTile(frame, {1, 1, first, row, tailMask(f, first, laneCount, lanes), full});
          });
        });
      }
    };
    if (!packing) {
      emitTiles();
      return;
    }
    SizeExpr steps = program.getDomain().back();
    Value stepCount = f.size(steps);
    if (!inStretches) {
      stretch = {f.i64(0), stepCount, Value(), Value()};
      packing->emit(frame, column, laneCount, stretch->low, stretch->high);
      emitTiles();
      return;
    }
    // There is at least one stretch, because the last one writes the results.
    forRange(f, f.i64(0), f.size(steps.max(one)), kPackedSteps, [&](Value low) {
      OpBuilder &b = f.getBuilder();
      Value next = add(f, low, kPackedSteps);
      stretch = {low, minimum(f, next, stepCount),
                 arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, low, f.i64(0)),
                 arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, next, stepCount)};
      packing->emit(frame, column, laneCount, stretch->low, stretch->high);
      emitTiles();
    });
  });
  f.finish();
  kernel.addLaunch(kernel.entryName(), rows * chunks * columns, schedule.getGrain());
}

void mlir::frit::emitColumnReduction(const CpuKernel &kernel, CpuColumnsAttr schedule) {
  ColumnReduction(kernel, schedule).emit();
}
