#pragma once

#include "codegen/cpu/Combine.h"
#include "codegen/cpu/CpuSchedules.h"
#include "codegen/cpu/Loops.h"
#include "codegen/cpu/Packing.h"
#include "kernel/KernelCosts.h"

/// The generator of kernels that reduce across their vectors: tiles in ColumnReduction.cpp, the
/// order in which they walk the reduced dims in ColumnLoops.cpp.
namespace mlir::frit {

/// One kernel of the family. A tile is `rows` values of the row dim by `vectors` lane
/// vectors; its accumulators live in registers through the loop over the reduced
/// dims.
class ColumnReduction {
public:
  ColumnReduction(const CpuKernel &kernel, CpuColumnsAttr schedule, StringRef suffix = "")
      : kernel(kernel), program(kernel.program), schedule(schedule),
        f(kernel.module, kernel.entryName(suffix), program, kernel.cpu),
        emitter(program, f, f.getBuilder()), lane(schedule.getLane()), lanes(f.getShape().lanes()),
        rowDim(schedule.getRowDim()), blockRows(schedule.getRows()),
        blockVectors(schedule.getVectors()), once(schedule.getOnce()),
        unitRows(schedule.getUnitRows()) {}

  void emit();
  /// The two launches of a reduction whose steps are shared out.
  void emitParts(SizeExpr parts);
  void emitCombination(SizeExpr parts);

private:
  struct Tile {
    unsigned rows, vectors;
    /// Lane and row positions of the first element.
    Value firstLane, firstRow;
    Value mask, whole;
  };

  /// A tile and what is known of its rows: values of nodes for each of its vectors.
  struct Row {
    explicit Row(const Tile &tile) : tile(tile), values(tile.rows * tile.vectors) {}

    Tile tile;
    SmallVector<llvm::DenseMap<unsigned, Value>> values;
  };

  /// A stretch of the reduced dim, for which the strided operands are packed.
  struct Stretch {
    Value low, high, isFirst, isLast;
  };

  /// States of tiles in memory: for each state of a point a buffer for the rows and lanes of the
  /// unit.
  using Buffers = SmallVector<Value>;

  void emitTile(Frame &unit, const Tile &tile);
  /// The lanes of a unit.
  struct Columns {
    Frame *frame;
    /// Their end, and whether no tile is cut.
    Value end, isFull;
  };
  /// The sums of the tiles of a unit, as they lie in memory. Of the steps that are added one by
  /// one, of stretches of those, and of all stretches.
  enum Level : unsigned { Block, Stretches, All };

  /// Begins a function: notes stores, hoists what all units share.
  void prepare(Frame &entry);
  int64_t unitLanes() const { return int64_t(lanes) * blockVectors * schedule.getTiles(); }
  /// The unit whose lanes begin at `column`.
  Columns openUnit(Frame &frame, Value column);
  void forTiles(const Columns &unit, llvm::function_ref<void(const Tile &)> body);
  /// For what only moves sums in memory: one vector at a time, which is less code to compile.
  void forVectors(const Columns &unit, llvm::function_ref<void(const Tile &)> body);
  void emitBlocks(const Columns &unit);
  /// Adds the steps [low, high) to the sums of a unit, which `level` then has.
  void addSteps(const Columns &unit, ArrayRef<Combine> combines, Value low, Value high,
                Level level);
  Values zero(Level level, const Tile &tile, ArrayRef<Combine> combines);
  Values savedSums(Level level, const Tile &tile, ArrayRef<Combine> combines) {
    return saved(sums[level], tile, zero(level, tile, combines));
  }
  /// Where a part's sums for one vector of lanes lie in the workspace.
  Value partAddress(Value part, unsigned slot, unsigned slots, Value column);
  SmallVector<Combine> combinesOf(unsigned phase) const;
  /// The steps of `loopStretches` along the last reduced dim.
  SmallVector<int64_t> stepsOf(ArrayRef<Combine> combines) const;
  Values identityOf(const Tile &tile, ArrayRef<Combine> combines);
  /// One step of the reductions at a point of the reduced dims; `stores`: it also writes the
  /// results of the whole domain.
  Values step(Frame &point, const Row &row, ArrayRef<Combine> combines, ValueRange carried,
              bool stores);
  /// Notes the results of reductions in `row`, and what follows from them.
  void finish(Frame &unit, Row &row, ArrayRef<Combine> combines, ValueRange states);
  void write(Frame &point, const Row &row, ArrayRef<Store> stores, ArrayRef<unsigned> wanted);
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
  void save(Buffers &buffers, const Tile &tile, ValueRange states);
  /// What was saved, in the types of `like`.
  Values saved(Buffers &buffers, const Tile &tile, ValueRange like);
  /// Where state `number` of all `states` of a tile lies.
  Value stateAddress(Buffers &buffers, const Tile &tile, size_t number, size_t states,
                     Type element);
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
  /// The same, with the known values of the tile.
  void openFrames(Frame &point, const Row &row, ArrayRef<unsigned> wanted,
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
  /// Results of a row, and of the whole domain.
  SmallVector<Store> rowStores, fullStores;
  std::optional<Packing> packing;
  /// Reductions of more than kPackedSteps, or of unknown length, have several stretches.
  /// Between stretches accumulators are stored in `carried`, one buffer for each state.
  bool inStretches = false;
  std::optional<Stretch> stretch;
  Buffers carried;
  /// The sums of each level.
  Buffers sums[3];
  /// The unit's first lane and row.
  Value unitColumn, unitRow;
};

} // namespace mlir::frit
