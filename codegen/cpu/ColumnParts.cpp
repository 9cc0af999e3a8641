// Column reductions whose units have several tiles, which take turns: each adds up a few terms of
// the reduced dim, then the next one. In between the sums lie in memory, so all of a row that the
// unit reads is read at once. The order of additions in a unit is that of `loopStretches`.
#include "codegen/cpu/ColumnReduction.h"

using namespace mlir;
using namespace mlir::frit;

/// Steps of the reduced dim for which a tile keeps its sums in registers: so many rows of each
/// operand are read at once, few enough for the prefetchers of a processor.
static constexpr int64_t kTurn = 4;
static_assert(kSumSteps[0] % kTurn == 0);

void ColumnReduction::forTiles(const Columns &unit, llvm::function_ref<void(const Tile &)> body) {
  SizeExpr laneSize = program.getDomain()[lane];
  int64_t wide = int64_t(lanes) * blockVectors;
  bool isWhole = laneSize.getContentDivisor() % wide == 0;
  Value rest = unitColumn;
  if (!once || isWhole) {
    rest = isWhole ? unit.end : wholeSteps(f, unitColumn, unit.end, wide);
    forRange(f, unitColumn, rest, wide,
             [&](Value first) { body({1, blockVectors, first, unitRow, Value(), Value()}); });
  }
  if (!isWhole) {
    forRange(f, rest, unit.end, lanes, [&](Value first) {
      body({1, 1, first, unitRow, tailMask(f, first, f.size(laneSize), lanes), unit.isFull});
    });
  }
}

void ColumnReduction::forVectors(const Columns &unit, llvm::function_ref<void(const Tile &)> body) {
  forRange(f, unitColumn, unit.end, lanes,
           [&](Value first) { body({1, 1, first, unitRow, Value(), Value()}); });
}

ColumnReduction::Columns ColumnReduction::openUnit(Frame &frame, Value column) {
  Value count = f.size(program.getDomain()[lane]), end = add(f, column, unitLanes());
  Value isFull =
      arith::CmpIOp::create(f.getBuilder(), column.getLoc(), arith::CmpIPredicate::sle, end, count);
  unitColumn = column;
  unitRow = f.i64(0);
  emitter.hoist(frame, roots);
  return {&frame, minimum(f, end, count), isFull};
}

Values ColumnReduction::zero(Level level, const Tile &tile, ArrayRef<Combine> combines) {
  Values identity = identityOf(tile, combines);
  return level == All ? toWide(f.getBuilder(), combines, identity) : identity;
}

void ColumnReduction::addSteps(const Columns &unit, ArrayRef<Combine> combines, Value low,
                               Value high, Level level) {
  OpBuilder &b = f.getBuilder();
  auto clear = [&](Level of) {
    forVectors(unit, [&](const Tile &tile) { save(sums[of], tile, zero(of, tile, combines)); });
  };
  auto addUp = [&](Level from, Level to) {
    forVectors(unit, [&](const Tile &tile) {
      Values states = savedSums(from, tile, combines);
      states = to == All ? toWide(b, combines, states) : states;
      save(sums[to], tile, combined(b, combines, savedSums(to, tile, combines), states));
    });
  };
  auto addBlock = [&](Value first, Value last) {
    clear(Block);
    forRange(f, first, last, kTurn, [&](Value begin) {
      Value end = minimum(f, last, add(f, begin, kTurn));
      forTiles(unit, [&](const Tile &tile) {
        Row row(tile);
        Values states = forRange(f, begin, end, 1, savedSums(Block, tile, combines),
                                 [&](Value i, ValueRange carried) {
                                   Frame point(unit.frame);
                                   point.bind(program.numParallel(), i);
                                   return step(point, row, combines, carried, /*stores=*/true);
                                 });
        save(sums[Block], tile, states);
      });
    });
    addUp(Block, Stretches);
  };
  auto addStretch = [&](Value first, Value last) {
    clear(Stretches);
    forRange(f, first, last, kSumSteps[0],
             [&](Value begin) { addBlock(begin, minimum(f, last, add(f, begin, kSumSteps[0]))); });
  };
  if (level == Stretches) {
    return addStretch(low, high);
  }
  clear(All);
  forRange(f, low, high, kSumSteps[1], [&](Value first) {
    addStretch(first, minimum(f, high, add(f, first, kSumSteps[1])));
    addUp(Stretches, All);
  });
}

void ColumnReduction::emitBlocks(const Columns &unit) {
  SmallVector<Combine> combines = combinesOf(/*phase=*/0);
  unsigned dim = program.numParallel();
  Level level = stepsOf(combines).size() > 1 ? All : Stretches;
  addSteps(unit, combines, getStart(dim), getStop(dim), level);
  forTiles(unit, [&](const Tile &tile) {
    Row row(tile);
    Values states = savedSums(level, tile, combines);
    finish(*unit.frame, row, combines,
           level == All ? fromWide(f.getBuilder(), combines, states) : states);
    write(*unit.frame, row, rowStores, roots);
  });
}

Value ColumnReduction::partAddress(Value part, unsigned slot, unsigned slots, Value column) {
  Value row = add(f, mul(f, part, f.i64(slots)), slot);
  Value index = add(f, mul(f, row, f.size(program.getDomain()[lane])), column);
  return f.address(f.getWorkspace(), f.getBuilder().getF64Type(), index);
}

void ColumnReduction::emitParts(SizeExpr parts) {
  Frame entry;
  prepare(entry);
  SmallVector<Combine> combines = combinesOf(/*phase=*/0);
  auto constant = [&](int64_t value) { return SizeExpr::constant(program.getContext(), value); };
  SizeExpr length = program.getDomain().back(), laneSize = program.getDomain()[lane],
           line = constant(kSumSteps[0]), columns = laneSize.ceilDiv(constant(unitLanes()));
  Value steps = f.size(length.ceilDiv(parts).ceilDiv(line) * line), all = f.size(length);
  unsigned slots = combines.size();
  forUnits(f, {parts, columns}, [&](ValueRange place) {
    Frame frame(&entry);
    Columns unit = openUnit(frame, mul(f, place[1], f.i64(unitLanes())));
    Value part = place[0], low = minimum(f, mul(f, part, steps), all);
    addSteps(unit, combines, low, minimum(f, add(f, low, steps), all), All);
    bool isWhole = laneSize.getContentDivisor() % lanes == 0;
    forVectors(unit, [&](const Tile &tile) {
      Value mask = isWhole ? Value() : tailMask(f, tile.firstLane, f.size(laneSize), lanes);
      for (auto [slot, state] : llvm::enumerate(savedSums(All, tile, combines))) {
        f.storeVector(state.getLoc(), partAddress(part, slot, slots, tile.firstLane),
                      getElementTypeOrSelf(state.getType()), state, mask);
      }
    });
  });
  f.finish();
  kernel.addLaunch(kernel.entryName("_parts"), parts * columns, schedule.getGrain());
  kernel.desc.workspaceBytes = parts * laneSize * constant(8 * slots);
}

void ColumnReduction::emitCombination(SizeExpr parts) {
  Frame entry;
  prepare(entry);
  OpBuilder &b = f.getBuilder();
  SmallVector<Combine> combines = combinesOf(/*phase=*/0);
  SizeExpr columns =
      program.getDomain()[lane].ceilDiv(SizeExpr::constant(program.getContext(), unitLanes()));
  unsigned slots = combines.size();
  forUnits(f, {columns}, [&](ValueRange place) {
    Frame frame(&entry);
    Columns unit = openUnit(frame, mul(f, place[0], f.i64(unitLanes())));
    forTiles(unit, [&](const Tile &tile) {
      Row row(tile);
      Values total = forRange(
          f, f.i64(0), f.size(parts), 1, zero(All, tile, combines),
          [&](Value part, ValueRange carried) {
            Values own;
            for (auto [number, state] : llvm::enumerate(carried)) {
              Value column = add(f, tile.firstLane, static_cast<int64_t>(number / slots) * lanes);
              own.push_back(f.loadVector(state.getLoc(),
                                         partAddress(part, number % slots, slots, column),
                                         getElementTypeOrSelf(state.getType()), lanes, tile.mask));
            }
            return combined(b, combines, carried, own);
          });
      finish(frame, row, combines, fromWide(b, combines, total));
      write(frame, row, rowStores, roots);
    });
  });
  f.finish();
  kernel.addLaunch(kernel.entryName(), columns, 1);
}
