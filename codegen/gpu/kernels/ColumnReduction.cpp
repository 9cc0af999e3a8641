// Column reductions: the contiguous dim is kept, the reduced dims lie across it.
//
// A block of 256 threads takes `threadsX` chunks of neighbouring columns: 32, or fewer where there
// are few columns. Thread (y, x) sweeps every rows-th reduced index (rows = 256 / threadsX) of its
// chunk, so a warp reads whole cache lines. A thread issues the loads of `unroll` rows before it
// uses the first, then adds them in order. Rows over several dims of unknown sizes carry their
// places (MixedRadixCounter.h). The partial sums of a column are combined by shuffles where a warp
// has several rows, then through shared memory with one value per warp, in fixed order, by every
// thread that needs the result. Results on the full domain that depend on a reduction (a softmax
// over dim 0) sweep the columns again; those that do not (a gradient beside its sum) are written by
// the first sweep.
//
// Where accesses cannot be vectors, or the width does not divide the columns, the block takes the
// same columns element by element, `threadsX` columns at a time, with the same order of additions.
//
// Where the columns give too few blocks to fill a device, several blocks share the rows (`split` of
// the schedule; only for kernels with one round of reductions). A block takes every parts-th run of
// rows x unroll rows (UnrolledSweep.h) and leaves a partial result for each column in the
// workspace; a second launch folds them in order (ColumnParts.h). The number of parts is a function
// of the number of rows alone: `split`, but at least `rowsOfPart` rows for each part.
//
// Registers: width x (running values + values computed from a row's chunk), and width x unroll
// loaded elements of each operand. The schedule keeps them, and shared memory, within its budgets,
// and sets the number of resident blocks (`resident`) as a limit for ptxas, which would otherwise
// unroll further. Shared memory: 8 warps x threadsX x width x 8 bytes a value (4 for squared
// deviations), one slot for each reduction.

#include "codegen/gpu/kernels/Accumulators.h"
#include "codegen/gpu/kernels/ChunkSpace.h"
#include "codegen/gpu/kernels/ColumnParts.h"
#include "codegen/gpu/kernels/Schedules.h"
#include "codegen/gpu/kernels/UnrolledSweep.h"

#include "kernel/KernelBudgets.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::frit;

namespace {

constexpr uint32_t kColumnThreads = 256, kWarp = 32, kWarps = kColumnThreads / kWarp;

struct ColumnShape {
  /// Threads along the columns, and rows that a thread loads at once.
  uint32_t threadsX = kWarp, unroll = 1;
  /// Blocks that share a column; null if one block sweeps all rows.
  SizeAttr parts;

  uint32_t rows() const { return kColumnThreads / threadsX; }
  /// Rows that a block takes at once.
  int64_t run() const { return int64_t(rows()) * unroll; }
};

class ColumnKernel {
public:
  ColumnKernel(GpuFunction &function, const ChunkSpace &columns, bool isInPlace,
               const ColumnShape &shape)
      : shape(shape), parts(shape.parts), function(function), program(function.getProgram()),
        emitter(function.getEmitter()), columns(columns), isInPlace(isInPlace) {
    for (const Store &store : program.getStores()) {
      bool full = (store.dims | program[store.node].dims) & program.reducedMask();
      (full ? fullStores : columnStores).push_back(store);
    }
    std::tie(earlyStores, fullStores) = splitByTime(program, fullStores, isInPlace);
  }

  void emit() {
    x = function.rem(function.threadId(), function.index(shape.threadsX));
    y = function.div(function.threadId(), function.index(shape.threadsX));
    unsigned width = columns.getWidth();
    Value block = function.blockId();
    if (parts) {
      Value count = function.size(parts), group = function.div(block, count);
      part = function.sub(block, function.mul(group, count));
      block = group;
    }
    block = function.mul(block, function.index(shape.threadsX));
    if (width == 1) {
      return sweep(function.add(block, x), 1);
    }
    function.choose(
        columns.isAligned(function, true), {},
        [&]() -> SmallVector<Value> {
          function.setVectorAddresses(&columns.getVectorAddresses());
          sweep(function.add(block, x), width);
          function.setVectorAddresses(nullptr);
          return {};
        },
        [&]() -> SmallVector<Value> {
          Value first = function.add(function.mul(block, function.index(width)), x);
          function.loop(
              function.index(0), function.index(width), function.index(1), {},
              [&](Value piece, ValueRange) -> SmallVector<Value> {
                sweep(function.add(first, function.mul(piece, function.index(shape.threadsX))), 1);
                // The next piece uses the same slots of shared memory.
                function.barrier();
                return {};
              });
          return {};
        });
  }

  static uint32_t getSharedBytes(const KernelProgram &program, const ColumnShape &shape,
                                 unsigned width) {
    return getSlotBytes(program) * kWarps * shape.threadsX * width *
           Accumulators::countValues(program, program.numPhases());
  }

  static uint32_t getSlotBytes(const KernelProgram &program) {
    return frit::getSlotBytes(llvm::map_range(
        program.getReduces(), [&](unsigned id) { return cast<ReduceOp>(program[id].op); }));
  }

private:
  /// Sweeps one chunk of columns (`chunk` numbers elements if `width` is 1).
  void sweep(Value chunk, unsigned width) {
    Value count = function.size(width == 1 ? columns.getElements() : columns.getChunks());
    Value active = function.less(chunk, count);
    Value element = function.mul(chunk, function.index(width));
    chunk = function.minimum(chunk, function.sub(count, function.index(1)));
    Frame column;
    if (width == 1) {
      columns.bindElement(function, column, chunk);
    } else {
      columns.bindChunk(function, column, chunk);
    }
    if (isInPlace) {
      column.mask = active;
    }
    for (unsigned level = 0; level < program.numPhases(); ++level) {
      Accumulators sums(function, level);
      if (sums.isEmpty()) {
        continue;
      }
      SmallVector<Value> totals = overRows(
          column, sums.start(width), loadsOf(level),
          [&](ArrayRef<Frame *> frames, ValueRange carried) {
            return sums.accumulate(frames, carried, {}, [&](Frame &frame) {
              if (level == 0 && !earlyStores.empty()) {
                function.when(active, [&] { emitter.computeThenStore(frame, earlyStores); });
              }
            });
          });
      totals = sums.leave(totals, width);
      leaveWarps(sums, level, totals, width);
      if (parts) {
        return leavePartials(sums, element, active, width);
      }
      sums.supply(column, foldWarps(sums, level, width));
    }
    if (!columnStores.empty()) {
      function.when(function.both(equals(y, function.index(0)), active), [&] {
        Frame frame(&column);
        emitter.computeThenStore(frame, columnStores);
      });
    }
    if (!fullStores.empty()) {
      function.when(active, [&] {
        overRows(column, {}, {}, [&](ArrayRef<Frame *> frames, ValueRange) -> SmallVector<Value> {
          llvm::for_each(frames,
                         [&](Frame *frame) { emitter.computeThenStore(*frame, fullStores); });
          return {};
        });
      });
    }
  }

  /// The loads over the full domain in a level's sweep.
  SmallVector<unsigned> loadsOf(unsigned level) {
    SmallVector<unsigned> roots = program.getReducedNodes(level);
    for (const Store &store : earlyStores) {
      if (level == 0) {
        roots.push_back(store.node);
      }
    }
    return program.getSweptLoads(roots);
  }

  SmallVector<Value>
  overRows(Frame &column, ValueRange carried, ArrayRef<unsigned> loads,
           llvm::function_ref<SmallVector<Value>(ArrayRef<Frame *>, ValueRange)> body) {
    unsigned begin = program.numParallel(), end = program.getRank();
    SmallVector<MixedRadixCounter::Digit> digits;
    for (unsigned dim = begin; dim < end; ++dim) {
      digits.push_back({dim, program.getDomain()[dim]});
    }
    MixedRadixCounter counter(function, digits);
    UnrolledSweep rows{program.getExtent(begin, end),
                       y,
                       shape.rows(),
                       shape.unroll,
                       part,
                       parts,
                       /*isRolled=*/false,
                       &counter};
    return emitUnrolledSweep(
        function, rows, column, loads, carried,
        [&](Frame &frame, Value row, ArrayRef<Value> place) {
          if (place.empty()) {
            return emitter.bindLinear(frame, row, begin, end);
          }
          counter.bind(frame, place);
          frame.bind(end - 1, place[digits.size() - 1]);
        },
        body);
  }
  Value equals(Value a, Value b) {
    return arith::CmpIOp::create(function.getBuilder(), function.getLoc(), arith::CmpIPredicate::eq,
                                 a, b);
  }

  Value laneOf(Value value, unsigned lane, unsigned width) {
    return width == 1 ? value
                      : Value(vector::ExtractOp::create(function.getBuilder(), function.getLoc(),
                                                        value, static_cast<int64_t>(lane)));
  }

  Value joinLanes(ValueRange lanes, Type type) {
    return lanes.size() == 1
               ? lanes[0]
               : Value(vector::FromElementsOp::create(function.getBuilder(), function.getLoc(),
                                                      getLanesType(type, lanes.size()), lanes));
  }

  /// Combines the rows of each warp and stores the result in the warp's slots of shared memory.
  void leaveWarps(Accumulators &sums, unsigned level, SmallVector<Value> totals, unsigned width) {
    for (uint32_t distance = shape.threadsX; distance < kWarp; distance *= 2) {
      SmallVector<Value> others;
      for (auto [value, type] : llvm::zip(totals, sums.getTypes())) {
        SmallVector<Value> lanes;
        for (unsigned lane = 0; lane < width; ++lane) {
          lanes.push_back(function.shuffle(laneOf(value, lane, width), distance));
        }
        others.push_back(joinLanes(lanes, type));
      }
      totals = sums.combine(totals, others);
    }
    Value inWarp = function.rem(function.threadId(), function.index(kWarp)),
          warp = function.div(function.threadId(), function.index(kWarp));
    function.when(shape.threadsX < kWarp ? function.less(inWarp, function.index(shape.threadsX))
                                         : Value(),
                  [&] {
                    for (auto [i, value] : llvm::enumerate(totals)) {
                      for (unsigned lane = 0; lane < width; ++lane) {
                        function.storeShared(slotBytes(level, i), slotOf(warp, lane),
                                             laneOf(value, lane, width));
                      }
                    }
                  });
    function.barrier();
  }

  int64_t slotBytes(unsigned level, unsigned value) {
    return int64_t(getSlotBytes(program)) * kWarps * shape.threadsX * columns.getWidth() *
           (Accumulators::countValues(program, level) + value);
  }

  /// Lanes of a chunk are stored apart, so neighbouring threads use neighbouring banks.
  Value slotOf(Value warp, unsigned lane) {
    Value at = function.add(function.mul(warp, function.index(shape.threadsX)), x);
    return function.add(at, function.index(int64_t(lane) * kWarps * shape.threadsX));
  }

  /// Combines the results of the warps, in order.
  SmallVector<Value> foldWarps(Accumulators &sums, unsigned level, unsigned width) {
    auto readWarp = [&](Value warp) {
      SmallVector<Value> values;
      for (auto [i, type] : llvm::enumerate(sums.getTypes())) {
        SmallVector<Value> lanes;
        for (unsigned lane = 0; lane < width; ++lane) {
          lanes.push_back(function.loadShared(slotBytes(level, i), slotOf(warp, lane), type));
        }
        values.push_back(joinLanes(lanes, type));
      }
      return values;
    };
    return function.loop(
        function.index(1), function.index(kWarps), function.index(1), readWarp(function.index(0)),
        [&](Value warp, ValueRange carried) { return sums.combine(carried, readWarp(warp)); });
  }

  /// Stores the block's partial results in the workspace. There is only one round of reductions;
  /// the second launch does the rest.
  void leavePartials(Accumulators &sums, Value element, Value active, unsigned width) {
    function.when(function.both(equals(y, function.index(0)), active), [&] {
      ColumnParts workspace{function, columns, parts};
      for (auto [i, value] : llvm::enumerate(foldWarps(sums, 0, width))) {
        for (unsigned lane = 0; lane < width; ++lane) {
          workspace.store(i, part, function.add(element, function.index(lane)),
                          laneOf(value, lane, width));
        }
      }
    });
  }

  ColumnShape shape;
  SizeAttr parts;
  Value part;
  GpuFunction &function;
  const KernelProgram &program;
  Emitter &emitter;
  const ChunkSpace &columns;
  bool isInPlace;
  SmallVector<Store> fullStores, earlyStores, columnStores;
  Value x, y;
};

} // namespace

void mlir::frit::emitGpuKernel(gpu::GPUModuleOp module, const KernelProgram &program,
                               GpuColumnsAttr as, KernelDesc &desc, bool isInPlace) {
  SizeExpr one = SizeExpr::constant(program.getContext(), 1), parts = one;
  ColumnShape shape;
  shape.threadsX = static_cast<uint32_t>(as.getThreadsX());
  shape.unroll = static_cast<uint32_t>(as.getUnroll());
  ChunkSpace columns(program, 0, program.numParallel(), as.getLane(), as.getWidth());
  bool isSplit = as.getSplit() > 1;
  if (isSplit) {
    SizeExpr depth = program.getExtent(program.numParallel(), program.getRank());
    parts = depth.ceilDiv(one * as.getRowsOfPart()).min(one * as.getSplit()).max(one);
    shape.parts = parts;
    desc.workspaceBytes = ColumnParts::bytes(columns, parts, Accumulators::countValues(program, 1));
  }
  std::string entry = addLaunch(desc, isSplit ? getNumberedEntry(desc) : desc.name,
                                getSweepBlocks(columns, shape.threadsX) * parts, kColumnThreads,
                                ColumnKernel::getSharedBytes(program, shape, columns.getWidth()));
  GpuFunction function(module, entry, program,
                       {.threads = kColumnThreads,
                        .hasWorkspace = isSplit,
                        .resident = static_cast<uint32_t>(as.getResident())});
  ColumnKernel(function, columns, isInPlace, shape).emit();
  function.finish();
  if (isSplit) {
    emitColumnFold(module, program, desc, columns, parts, program.getReduces(),
                   program.reducedMask());
  }
}
