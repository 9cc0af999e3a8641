#include "codegen/cpu/Combine.h"
#include "codegen/cpu/CpuSchedules.h"
#include "codegen/cpu/Loops.h"

using namespace mlir;
using namespace mlir::frit;

/// Longest reduction whose strided operand is packed: 64 KB with two vectors of f32.
static constexpr int64_t kPackedSteps = 512;

/// Terms of a sum that are added one by one; see RowReduction.
static constexpr int64_t kBlockSteps[] = {16, 512};

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
    Value mask, whole;
  };

  void chooseTile();
  void emitTile(Frame &unit, const Tile &tile);
  Values loopReduced(Frame &outer, Values carried, llvm::function_ref<Values(Frame &, ValueRange)> body);
  Values loopStretches(Frame &outer, ArrayRef<Combine> combines, const Values &identity,
                       ArrayRef<int64_t> steps,
                       llvm::function_ref<Values(Frame &, ValueRange)> body);
  void choosePacked();
  void pack(Frame &unit, Value column, Value laneCount);
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
  /// Only one tile is emitted, of one masked vector.
  bool once = false;
  SmallVector<unsigned> outerDims;
  SmallVector<unsigned> roots;
  struct Packed {
    unsigned node;
    Value buffer;
  };
  SmallVector<Packed> packed;
  Value packedColumn;
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
  once = isLongBody(f, program, roots, lane);
  if (once) {
    // Long code hides its latencies by itself.
    blockRows = blockVectors = 1;
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
    vector.whole = tile.whole;
    unsigned reduced = program.numParallel();
    if (!packed.empty() && vector.dims.size() > reduced && vector.dims[reduced]) {
      Value at = add(f, mul(f, vector.dims[reduced], f.i64(lanes * blockVectors)),
                     sub(f, vector.dims[lane], packedColumn));
      for (const Packed &p : packed) {
        Type element = program[p.node].type;
        vector.values[p.node] = f.loadVector(program[p.node].loc, f.address(p.buffer, element, at),
                                             element, lanes, Value());
      }
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

/// Stretches of steps[0], steps[1] ... (each divides the next), each from the identity on,
/// whose ends are combined: short enough for narrow counters (which are added up in i64),
/// and for sums to keep their bits.
Values ColumnReduction::loopStretches(Frame &outer, ArrayRef<Combine> combines,
                                      const Values &identity, ArrayRef<int64_t> steps,
                                      llvm::function_ref<Values(Frame &, ValueRange)> body) {
  OpBuilder &b = f.getBuilder();
  unsigned dim = program.numParallel();
  auto forEach = [&](llvm::function_ref<void(const Combine &, size_t)> visit) {
    for (size_t at = 0; at < identity.size();) {
      for (const Combine &combine : combines) {
        visit(combine, at);
        at += combine.stateSize();
      }
    }
  };
  Values wide = identity;
  forEach([&](const Combine &combine, size_t at) {
    if (combine.isNarrow()) {
      wide[at] = combine.widen(b, wide[at]);
    }
  });
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
    return forRange(f, low, high, step, wide, [&](Value first, ValueRange carried) {
      Values sums = nest(level - 1, first, minimum(f, high, add(f, first, step)));
      Values next;
      forEach([&](const Combine &combine, size_t at) {
        if (combine.isNarrow() && level == 1) {
          sums[at] = combine.widen(b, sums[at]);
        }
        unsigned size = combine.stateSize();
        llvm::append_range(next, combine.combine(b, carried.slice(at, size),
                                                 ValueRange(sums).slice(at, size)));
      });
      return next;
    });
  };
  return nest(steps.size(), f.i64(0), f.size(program.getDomain()[dim]));
}

/// Loads with a stride along the lanes that rows of a tile share are brought into lane
/// order once a unit.
void ColumnReduction::choosePacked() {
  auto bound = program.getFacts().upperBound(program.getDomain().back());
  if (!rowDim || program.numReduced() != 1 || !bound || *bound > kPackedSteps) {
    return;
  }
  unsigned reduced = program.numParallel();
  for (auto [id, node] : llvm::enumerate(program.getNodes())) {
    if (node.kind != NodeKind::Load || !(node.dims >> lane & 1) || !(node.dims >> reduced & 1) ||
        (node.dims >> *rowDim & 1)) {
      continue;
    }
    auto stride = program.getStride(node.expr, lane);
    if (!stride || !stride->isConstant(1)) {
      packed.push_back({static_cast<unsigned>(id),
                        f.scratch(node.type, *bound * lanes * blockVectors)});
    }
  }
}

void ColumnReduction::pack(Frame &unit, Value column, Value laneCount) {
  if (packed.empty()) {
    return;
  }
  unsigned reduced = program.numParallel();
  int64_t wide = lanes * blockVectors;
  packedColumn = column;
  forRange(f, f.i64(0), f.size(program.getDomain()[reduced]), 1, [&](Value k) {
    Frame point(&unit);
    point.bind(reduced, k);
    Value base = mul(f, k, f.i64(wide));
    for (unsigned v = 0; v < blockVectors; ++v) {
      Frame vector(&point);
      Value first = add(f, column, v * lanes);
      vector.bindLanes(lane, first, lanes, tailMask(f, first, laneCount, lanes));
      for (const Packed &p : packed) {
        Type element = program[p.node].type;
        f.storeVector(program[p.node].loc, f.address(p.buffer, element, add(f, base, v * lanes)),
                      element, emitter.lanes(vector, p.node), Value());
      }
    }
  });
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
  SmallVector<Store> rowStores, fullStores;
  SmallVector<unsigned> fullRoots;
  for (const Store &store : program.getStores()) {
    bool full = store.dims & program.reducedMask();
    (full ? fullStores : rowStores).push_back(store);
    if (full) {
      fullRoots.push_back(store.node);
    }
  }
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
          Value element = emitter.lanes(frame, combine.getInput());
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
      if (isSum && program.numReduced() == 1 && (!bound || *bound > 2 * block)) {
        steps.push_back(block);
      }
    }
    if (anyNarrow && steps.empty()) {
      steps.push_back(Combine::kNarrowSteps);
    }
    if (!steps.empty()) {
      states = loopStretches(unit, combines, states, steps, step);
    } else {
      states = loopReduced(unit, states, step);
    }
    unsigned at = 0;
    for (unsigned i = 0; i < count; ++i) {
      for (const Combine &combine : combines) {
        rowValues[i][combine.getNode()] =
            combine.result(b, ValueRange(states).slice(at, combine.stateSize()));
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
  auto write = [&](Frame &point, ArrayRef<Store> stores, ArrayRef<unsigned> wanted) {
    SmallVector<Frame> frames;
    std::vector<Frame> shared;
    open(point, wanted, frames, shared);
    for (Frame &frame : frames) {
      emitter.storeAll(frame, stores);
    }
  };
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
  for (const Store &store : program.getStores()) {
    roots.push_back(store.node);
  }
  for (unsigned id : program.getReduces()) {
    roots.push_back(program[id].operands[0]);
  }
  chooseTile();
  choosePacked();
  SizeExpr one = SizeExpr::constant(context, 1);
  SizeExpr rows = one;
  for (unsigned dim = 0; dim < program.numParallel(); ++dim) {
    if (dim != lane && rowDim != dim) {
      outerDims.push_back(dim);
      rows = rows * program.getDomain()[dim];
    }
  }
  // A unit: `chunk` rows of the row dim by one tile's lanes.
  int64_t chunk = !rowDim ? 1 : packed.empty() ? 32 : 128, wide = lanes * blockVectors;
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
    pack(frame, column, laneCount);
    // Whole tiles; then what is left of the rows, or of the lanes, one masked vector at a time.
    bool wholeLanes = laneSize.getContentDivisor() % wide == 0;
    bool wholeBlocks = rowSize.getContentDivisor() % blockRows == 0;
    Value tiled = rowBegin;
    if (!once || wholeLanes) {
      Value wholeRows = wholeBlocks ? rowEnd : wholeSteps(f, rowBegin, rowEnd, blockRows);
      tiled = wholeLanes ? wholeRows
                         : arith::SelectOp::create(f.getBuilder(), unit.getLoc(), full, wholeRows,
                                                   rowBegin);
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
  });
  f.finish();
  int64_t elements = program.guess(program.getExtent(program.numParallel(),
                                                          program.getRank())) *
                     chunk * wide;
  kernel.addLaunch(kernel.entryName(), rows * chunks * columns, chooseGrain(program, elements));
}

void mlir::frit::emitColumnReduction(const CpuKernel &kernel) { ColumnReduction(kernel).emit(); }
