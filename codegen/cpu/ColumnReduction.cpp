#include "codegen/cpu/Combine.h"
#include "codegen/cpu/CpuSchedules.h"
#include "codegen/cpu/Loops.h"

using namespace mlir;
using namespace mlir::frit;

namespace {

/// One kernel of the family. A tile is `rows` values of the row dim by `vectors` lane
/// vectors; its accumulators live in registers through the loop over the reduced
/// dims.
class ColumnReduction {
public:
  explicit ColumnReduction(const CpuKernel &kernel)
      : kernel(kernel), program(kernel.program),
        f(kernel.module, kernel.entryName(), program, kernel.cpu),
        emitter(program, f, f.getBuilder()), lane(*program.getLaneDim()),
        lanes(f.getShape().lanes()) {}

  void emit();

private:
  struct Tile {
    unsigned rows, vectors;
    /// Lane and row positions of the first element.
    Value firstLane, firstRow;
    Value mask;
  };

  void chooseTile();
  void emitTile(Frame &unit, const Tile &tile);
  Values loopReduced(Frame &outer, Values carried, llvm::function_ref<Values(Frame &, ValueRange)> body);
  /// Frames of all (row, vector) pairs below `point`.
  void openFrames(Frame &point, const Tile &tile, ArrayRef<unsigned> wanted,
                  SmallVectorImpl<Frame> &frames, std::vector<Frame> &shared);

  const CpuKernel &kernel;
  const KernelProgram &program;
  CpuFunction f;
  Emitter emitter;
  unsigned lane, lanes;
  /// The parallel dim along which rows of a tile lie, if blocking pays.
  std::optional<unsigned> rowDim;
  unsigned blockRows = 1, blockVectors = 1;
  SmallVector<unsigned> outerDims;
  SmallVector<unsigned> roots;
};

} // namespace

/// Blocks over rows where some load of the reduction does not depend on a second
/// parallel dim: it is then read once for all rows of a tile.
void ColumnReduction::chooseTile() {
  uint32_t reuse = 0;
  unsigned states = 0;
  for (const Node &node : program.getNodes()) {
    if (node.kind == NodeKind::Load && (node.dims & program.reducedMask())) {
      reuse |= program.parallelMask() & ~node.dims;
    }
    states += node.kind == NodeKind::Reduce;
  }
  reuse &= ~(1u << lane);
  if (reuse && program.numPhases() == 1) {
    // The innermost such dim.
    rowDim = llvm::Log2_32(reuse);
    blockRows = states == 1 ? 4 : 2;
  }
  blockVectors = states <= 2 ? 2 : 1;
  if (!rowDim && states <= 2) {
    blockVectors = 4;
  }
}

void ColumnReduction::openFrames(Frame &point, const Tile &tile, ArrayRef<unsigned> wanted,
                                 SmallVectorImpl<Frame> &frames, std::vector<Frame> &shared) {
  shared.clear();
  shared.reserve(tile.rows + tile.vectors);
  // Values of a row alone and of a lane vector alone, each once.
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
                                                              Values values) -> Values {
    if (dim == program.getRank()) {
      return body(frame, values);
    }
    return forRange(f, f.i64(0), f.size(program.getDomain()[dim]), 1, values,
                    [&](Value i, ValueRange inner) {
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

void ColumnReduction::emitTile(Frame &unit, const Tile &tile) {
  OpBuilder &b = f.getBuilder();
  // The tile's frames live across phases: row values stay in them.
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
  for (unsigned phase = 0; phase < program.numPhases(); ++phase) {
    SmallVector<Combine> combines;
    SmallVector<unsigned> inputs;
    for (unsigned id : program.getReduces()) {
      if (program[id].level == phase) {
        combines.emplace_back(program, id);
        inputs.push_back(program[id].operands[0]);
      }
    }
    Values states;
    for (unsigned i = 0; i < count; ++i) {
      for (const Combine &combine : combines) {
        llvm::append_range(states, combine.identity(b, lanes));
      }
    }
    states = loopReduced(unit, states, [&](Frame &point, ValueRange carried) {
      SmallVector<Frame> frames;
      std::vector<Frame> shared;
      open(point, inputs, frames, shared);
      Values next;
      unsigned at = 0;
      for (Frame &frame : frames) {
        for (const Combine &combine : combines) {
          Value element = emitter.lanes(frame, program[combine.getNode()].operands[0]);
          Value position;
          if (combine.needsPosition()) {
            SizeExpr linear = SizeExpr::constant(program.getContext(), 0);
            for (unsigned dim = program.numParallel(); dim < program.getRank(); ++dim) {
              linear = linear * program.getDomain()[dim] +
                       SizeExpr::dim(program.getContext(), dim);
            }
            position = emitter.splat(frame, emitter.firstLane(frame, linear));
          }
          ValueRange old = carried.slice(at, combine.stateSize());
          llvm::append_range(next, combine.combine(b, old, combine.lift(b, element, position)));
          at += combine.stateSize();
        }
      }
      return next;
    });
    unsigned at = 0;
    for (unsigned i = 0; i < count; ++i) {
      for (const Combine &combine : combines) {
        rowValues[i][combine.getNode()] =
            combine.result(ValueRange(states).slice(at, combine.stateSize()));
        at += combine.stateSize();
      }
    }
    // What follows from them for the row, before the next sweep.
    SmallVector<Frame> frames;
    std::vector<Frame> shared;
    open(unit, roots, frames, shared);
    for (unsigned i = 0; i < count; ++i) {
      emitter.hoist(frames[i], roots);
      rowValues[i] = frames[i].values;
    }
  }
  SmallVector<const Store *> rowStores, fullStores;
  SmallVector<unsigned> fullRoots;
  for (const Store &store : program.getStores()) {
    bool full = store.dims & program.reducedMask();
    (full ? fullStores : rowStores).push_back(&store);
    if (full) {
      fullRoots.push_back(store.node);
    }
  }
  auto write = [&](Frame &point, ArrayRef<const Store *> stores, ArrayRef<unsigned> wanted) {
    SmallVector<Frame> frames;
    std::vector<Frame> shared;
    open(point, wanted, frames, shared);
    for (Frame &frame : frames) {
      for (const Store *store : stores) {
        emitter.store(frame, *store, emitter.value(frame, store->node));
      }
    }
  };
  if (!rowStores.empty()) {
    write(unit, rowStores, roots);
  }
  if (!fullStores.empty()) {
    loopReduced(unit, {}, [&](Frame &point, ValueRange) {
      write(point, fullStores, fullRoots);
      return Values();
    });
  }
}

void ColumnReduction::emit() {
  MLIRContext *context = program.getContext();
  for (const Store &store : program.getStores()) {
    roots.push_back(store.node);
  }
  for (unsigned id : program.getReduces()) {
    roots.push_back(program[id].operands[0]);
  }
  chooseTile();
  SizeExpr one = SizeExpr::constant(context, 1);
  SizeExpr rows = one;
  for (unsigned dim = 0; dim < program.numParallel(); ++dim) {
    if (dim != lane && rowDim != dim) {
      outerDims.push_back(dim);
      rows = rows * program.getDomain()[dim];
    }
  }
  // A unit: `chunk` rows of the row dim by one tile's lanes.
  int64_t chunk = rowDim ? 32 : 1, wide = lanes * blockVectors;
  SizeExpr laneSize = program.getDomain()[lane];
  SizeExpr columns = laneSize.ceilDiv(SizeExpr::constant(context, wide));
  SizeExpr rowSize = rowDim ? program.getDomain()[*rowDim] : one;
  SizeExpr chunks = rowSize.ceilDiv(SizeExpr::constant(context, chunk));
  Frame entry;
  emitter.hoist(entry, roots);
  Value laneCount = f.size(laneSize), columnCount = f.size(columns), chunkCount = f.size(chunks);
  Value rowCount = f.size(rowSize);
  forRange(f, f.getBegin(), f.getEnd(), 1, [&](Value unit) {
    Frame frame(&entry);
    Value rest = divide(f, unit, columnCount);
    Value column = mul(f, sub(f, unit, mul(f, rest, columnCount)), f.i64(wide));
    Value chunkIndex = f.i64(0);
    if (rowDim) {
      Value outer = divide(f, rest, chunkCount);
      chunkIndex = sub(f, rest, mul(f, outer, chunkCount));
      rest = outer;
    }
    if (!outerDims.empty()) {
      emitter.bindLinear(frame, rest, outerDims);
    }
    emitter.hoist(frame, roots);
    Value columnEnd = minimum(f, add(f, column, wide), laneCount);
    Value rowBegin = mul(f, chunkIndex, f.i64(chunk));
    Value rowEnd = minimum(f, add(f, rowBegin, chunk), rowCount);
    Value full = arith::CmpIOp::create(f.getBuilder(), unit.getLoc(), arith::CmpIPredicate::sle,
                                       add(f, column, wide), laneCount);
    // Whole tiles; then what is left of the rows, or of the lanes, one masked vector at a time.
    Value wholeRows = rowDim ? wholeSteps(f, rowBegin, rowEnd, blockRows) : rowEnd;
    Value tiled = arith::SelectOp::create(f.getBuilder(), unit.getLoc(), full, wholeRows, rowBegin);
    forRange(f, rowBegin, tiled, blockRows, [&](Value row) {
      emitTile(frame, {blockRows, blockVectors, column, row, Value()});
    });
    forRange(f, tiled, rowEnd, 1, [&](Value row) {
      forRange(f, column, columnEnd, lanes, [&](Value first) {
        emitTile(frame, {1, 1, first, row, tailMask(f, first, laneCount, lanes)});
      });
    });
  });
  f.finish();
  int64_t elements = guessSize(program, program.getExtent(program.numParallel(),
                                                          program.getRank())) *
                     chunk * wide;
  kernel.addLaunch(kernel.entryName(), rows * chunks * columns, chooseGrain(program, elements));
}

void mlir::frit::emitColumnReduction(const CpuKernel &kernel) { ColumnReduction(kernel).emit(); }
