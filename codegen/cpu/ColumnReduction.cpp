#include "codegen/cpu/ColumnReduction.h"

using namespace mlir;
using namespace mlir::frit;

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

/// Packs loads that have a stride along the lanes and are shared by the rows of a tile into lane
/// order, once for each unit and stretch.
void ColumnReduction::pack() {
  auto bound = program.getFacts().upperBound(program.getDomain().back());
  inStretches = !bound || *bound > kPackedSteps;
  packing.emplace(program, f, emitter, lane, blockVectors);
  packing->choose(*rowDim, inStretches ? kPackedSteps : *bound);
}

Value ColumnReduction::stateAddress(Buffers &buffers, const Tile &tile, size_t number,
                                    size_t states, Type element) {
  size_t each = states / (tile.rows * tile.vectors), point = number / each;
  buffers.resize(each);
  Value &buffer = buffers[number % each];
  if (!buffer) {
    buffer = f.scratch(element, unitRows * unitLanes());
  }
  Value row = add(f, sub(f, tile.firstRow, unitRow), point / tile.vectors);
  Value at = add(f, add(f, mul(f, row, f.i64(unitLanes())), sub(f, tile.firstLane, unitColumn)),
                 point % tile.vectors * lanes);
  return f.address(buffer, element, at);
}

void ColumnReduction::save(Buffers &buffers, const Tile &tile, ValueRange states) {
  for (auto [number, state] : llvm::enumerate(states)) {
    Type element = getElementTypeOrSelf(state.getType());
    Value to = stateAddress(buffers, tile, number, states.size(), element);
    f.storeVector(state.getLoc(), to, element, state, Value());
  }
}

Values ColumnReduction::saved(Buffers &buffers, const Tile &tile, ValueRange like) {
  Values states;
  for (auto [number, state] : llvm::enumerate(like)) {
    Type element = getElementTypeOrSelf(state.getType());
    Value from = stateAddress(buffers, tile, number, like.size(), element);
    states.push_back(f.loadVector(state.getLoc(), from, element, lanes, Value()));
  }
  return states;
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
    Values before = saved(carried, tile, states);
    scf::YieldOp::create(b, loc, combined(b, combines, before, states));
  }
  return Values(sum.getResults());
}

void ColumnReduction::openFrames(Frame &point, const Row &row, ArrayRef<unsigned> wanted,
                                 SmallVectorImpl<Frame> &frames, std::vector<Frame> &shared) {
  openFrames(point, row.tile, wanted, frames, shared);
  for (auto [frame, values] : llvm::zip(frames, row.values)) {
    for (auto &[node, value] : values) {
      frame.values[node] = value;
    }
  }
}

void ColumnReduction::write(Frame &point, const Row &row, ArrayRef<Store> stores,
                            ArrayRef<unsigned> wanted) {
  SmallVector<Frame> frames;
  std::vector<Frame> shared;
  openFrames(point, row, wanted, frames, shared);
  for (Frame &frame : frames) {
    emitter.storeAll(frame, stores);
  }
}

void ColumnReduction::finish(Frame &unit, Row &row, ArrayRef<Combine> combines, ValueRange states) {
  unsigned at = 0;
  for (auto &values : row.values) {
    for (const Combine &combine : combines) {
      values[combine.getNode()] =
          combine.result(f.getBuilder(), states.slice(at, combine.stateSize()));
      at += combine.stateSize();
    }
  }
  // The values of the row that depend on them, before the next sweep.
  SmallVector<Frame> frames;
  std::vector<Frame> shared;
  openFrames(unit, row, roots, frames, shared);
  for (auto [frame, values] : llvm::zip(frames, row.values)) {
    emitter.hoist(frame, roots);
    values = frame.values;
  }
}

Values ColumnReduction::step(Frame &point, const Row &row, ArrayRef<Combine> combines,
                             ValueRange carried, bool stores) {
  SmallVector<unsigned> inputs =
      llvm::map_to_vector(combines, [](const Combine &combine) { return combine.getInput(); });
  SmallVector<Frame> frames;
  std::vector<Frame> shared;
  openFrames(point, row, inputs, frames, shared);
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
    if (stores) {
      emitter.storeAll(frame, fullStores);
    }
  }
  return next;
}

Values ColumnReduction::identityOf(const Tile &tile, ArrayRef<Combine> combines) {
  Values states;
  for (unsigned i = 0; i < tile.rows * tile.vectors; ++i) {
    for (const Combine &combine : combines) {
      llvm::append_range(states, combine.identity(f.getBuilder(), lanes));
    }
  }
  return states;
}

SmallVector<Combine> ColumnReduction::combinesOf(unsigned phase) const {
  SmallVector<Combine> combines;
  for (unsigned id : program.getReduces()) {
    if (program[id].level == phase) {
      Combine &combine = combines.emplace_back(program, id);
      if (program.numReduced() == 1 && combine.canBeNarrow()) {
        combine.makeNarrow();
      }
    }
  }
  return combines;
}

SmallVector<int64_t> ColumnReduction::stepsOf(ArrayRef<Combine> combines) const {
  auto bound = program.sharedBound(program.getDomain().back());
  SmallVector<int64_t> steps;
  for (int64_t block : kSumSteps) {
    // Combining a stretch with the identity does not change it, so the sum is the same whether
    // sizes are known or not.
    bool several = !bound || *bound > block;
    if (several && !(inStretches && block >= kPackedSteps) &&
        llvm::any_of(combines, [](const Combine &c) { return c.isFloatSum(); })) {
      steps.push_back(block);
    }
  }
  return steps;
}

void ColumnReduction::emitTile(Frame &unit, const Tile &tile) {
  Row row(tile);
  bool early = areStoresEarly(program);
  for (unsigned phase = 0; phase < program.numPhases(); ++phase) {
    SmallVector<Combine> combines = combinesOf(phase);
    Values states = identityOf(tile, combines);
    auto next = [&](Frame &point, ValueRange carried) {
      return step(point, row, combines, carried, early && phase + 1 == program.numPhases());
    };
    SmallVector<int64_t> steps = stepsOf(combines);
    bool isSum = llvm::any_of(combines, [](const Combine &c) { return c.isFloatSum(); });
    bool isNarrow = llvm::any_of(combines, [](const Combine &c) { return c.isNarrow(); });
    bool isOfRows = isSum && program.numReduced() > 1 && !isShort();
    if (isNarrow && steps.empty()) {
      steps.push_back(Combine::kNarrowSteps);
    }
    if (isOfRows) {
      states = loopStretchesOfRows(unit, combines, states, steps, next);
    } else if (!steps.empty() && program.numReduced() == 1) {
      states = loopStretches(unit, program.numParallel(), combines, states, steps, next);
    } else {
      states = loopReduced(unit, states, next);
    }
    if (inStretches) {
      states = carry(tile, combines, states);
      ifTrue(
          f, stretch->isLast,
          [&] {
            finish(unit, row, combines, states);
            write(unit, row, rowStores, roots);
          },
          [&] { save(carried, tile, states); });
      return;
    }
    finish(unit, row, combines, states);
  }
  if (!rowStores.empty()) {
    write(unit, row, rowStores, roots);
  }
  if (!fullStores.empty() && !early) {
    loopReduced(unit, {}, [&](Frame &point, ValueRange) {
      write(point, row, fullStores, getFullRoots(program));
      return Values();
    });
  }
}

void ColumnReduction::prepare(Frame &entry) {
  roots = program.getRoots();
  for (const Store &store : program.getStores()) {
    (store.dims & program.reducedMask() ? fullStores : rowStores).push_back(store);
  }
  emitter.hoist(entry, roots);
}

void ColumnReduction::emit() {
  MLIRContext *context = program.getContext();
  Frame entry;
  prepare(entry);
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
  // A unit: `chunk` rows of the row dim by the lanes of its tiles.
  int64_t chunk = unitRows, wide = unitLanes();
  SizeExpr laneSize = program.getDomain()[lane];
  SizeExpr columns = laneSize.ceilDiv(SizeExpr::constant(context, wide));
  SizeExpr rowSize = rowDim ? program.getDomain()[*rowDim] : one;
  SizeExpr chunks = rowSize.ceilDiv(SizeExpr::constant(context, chunk));
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
    Columns unit = openUnit(frame, column);
    Value rowBegin = mul(f, chunkIndex, f.i64(chunk));
    Value rowEnd = minimum(f, add(f, rowBegin, chunk), rowCount);
    unitRow = rowBegin;
    if (schedule.getTiles() > 1) {
      emitBlocks(unit);
      return;
    }
    // Whole tiles first; then the remaining rows or lanes, one masked vector at a time.
    auto emitTiles = [&] {
      bool wholeLanes = laneSize.getContentDivisor() % wide == 0;
      bool wholeBlocks = rowSize.getContentDivisor() % blockRows == 0;
      Value tiled = rowBegin;
      if (!once || wholeLanes) {
        Value wholeRows = wholeBlocks ? rowEnd : wholeSteps(f, rowBegin, rowEnd, blockRows);
        tiled = wholeLanes ? wholeRows
                           : arith::SelectOp::create(f.getBuilder(), loc, unit.isFull, wholeRows,
                                                     rowBegin);
        forRange(f, rowBegin, tiled, blockRows, [&](Value row) {
          emitTile(frame, {blockRows, blockVectors, column, row, Value(), Value()});
        });
      }
      if (!wholeLanes || !wholeBlocks) {
        forRange(f, tiled, rowEnd, 1, [&](Value row) {
          forRange(f, column, unit.end, lanes, [&](Value first) {
            emitTile(frame, {1, 1, first, row, tailMask(f, first, laneCount, lanes), unit.isFull});
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
  if (schedule.getPartSteps() == 0) {
    return ColumnReduction(kernel, schedule).emit();
  }
  SizeExpr parts = countParts(kernel.program.getDomain().back(), schedule.getPartSteps(),
                              schedule.getMostParts());
  ColumnReduction(kernel, schedule, "_parts").emitParts(parts);
  ColumnReduction(kernel, schedule).emitCombination(parts);
}
