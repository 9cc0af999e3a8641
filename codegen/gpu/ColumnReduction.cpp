// Column reductions: the contiguous dim is kept, the reduced dims lie across it.
//
// A block of 8 x 32 threads takes 32 chunks of neighbouring columns: thread (y, x) sweeps every eighth reduced index of its chunk
// of columns, so that a warp reads whole lines; the eight partial sums of a column meet in shared memory and are combined in
// fixed order by every thread that goes on with them. Results on the full domain that need them (a softmax over dim 0) sweep the
// columns again; those that do not (a gradient beside the sum of it) are written by the first sweep.
//
// Where accesses cannot be vectors, or the width does not divide the columns, the block takes the same columns one chunk of 32 at
// a time, element by element, with the same order of combination.
//
// Few columns and many rows would leave most of a device idle. Where the schedule says so (and one round of reductions is all there
// is), a block takes only every parts-th run of eight rows and leaves a partial result for each column in the workspace; a second
// launch folds them in order, a thread a column. The number of parts is a function of the number of rows alone.
//
// Shared memory: 256 x width x element bytes a value, one slot for each reduction. Workspace: 8 bytes a value, column and part.

#include "codegen/gpu/Accumulators.h"
#include "codegen/gpu/ChunkSpace.h"
#include "codegen/gpu/Schedules.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::frit;

namespace {

constexpr uint32_t kThreads = 256, kLanes = 32, kRows = kThreads / kLanes, kRowsOfPart = 32 * kRows, kMaxParts = 64;

class ColumnKernel {
public:
  /// `parts`: null where a block sweeps all rows.
  ColumnKernel(GpuFunction &function, const ChunkSpace &columns, bool isInPlace, SizeAttr parts)
      : parts(parts), function(function), program(function.getProgram()), emitter(function.getEmitter()),
        columns(columns), isInPlace(isInPlace) {
    for (const Store &store : program.getStores()) {
      bool full = (store.dims | program[store.node].dims) & program.reducedMask();
      (full ? fullStores : columnStores).push_back(store);
    }
    std::tie(earlyStores, fullStores) = splitByTime(program, fullStores, isInPlace);
  }

  void emit() {
    x = function.rem(function.threadId(), function.index(kLanes));
    y = function.div(function.threadId(), function.index(kLanes));
    unsigned width = columns.getWidth();
    Value block = function.blockId();
    if (parts) {
      Value count = function.size(parts), group = function.div(block, count);
      part = function.sub(block, function.mul(group, count));
      block = group;
    }
    block = function.mul(block, function.index(kLanes));
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
          function.loop(function.index(0), function.index(width), function.index(1), {},
                        [&](Value piece, ValueRange) -> SmallVector<Value> {
                          sweep(function.add(first, function.mul(piece, function.index(kLanes))), 1);
                          // The slots of shared memory are used again.
                          function.barrier();
                          return {};
                        });
          return {};
        });
  }

  static uint32_t getSharedBytes(const KernelProgram &program, unsigned width) {
    return 8 * kThreads * width * Accumulators::countValues(program, program.numPhases());
  }

  /// Byte offset of the partials of a value.
  static SizeExpr partialsOf(const ChunkSpace &columns, SizeExpr parts, unsigned value) {
    return columns.getElements() * parts * (8 * int64_t(value));
  }

private:
  /// One chunk of columns (`chunk` numbers elements if `width` is 1).
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
    Value depth = function.size(program.getExtent(program.numParallel(), program.getRank()));
    auto overRows = [&](ValueRange carried,
                        llvm::function_ref<SmallVector<Value>(Frame &, ValueRange)> body) {
      Value first = y, step = function.index(kRows);
      if (parts) {
        first = function.add(y, function.mul(part, step));
        step = function.mul(step, function.size(parts));
      }
      return function.loop(first, depth, step, carried,
                           [&](Value row, ValueRange values) {
                             Frame frame(&column);
                             emitter.bindLinear(frame, row, program.numParallel(),
                                                program.getRank());
                             return body(frame, values);
                           });
    };
    for (unsigned level = 0; level < program.numPhases(); ++level) {
      Accumulators sums(function, level);
      if (sums.isEmpty()) {
        continue;
      }
      SmallVector<Value> totals =
          overRows(sums.identity(width), [&](Frame &frame, ValueRange carried) {
            auto next = sums.accumulate(frame, carried);
            if (level == 0 && !earlyStores.empty()) {
              function.when(active, [&] { write(frame, earlyStores); });
            }
            return next;
          });
      totals = exchange(sums, level, totals, width);
      if (parts) {
        return leavePartials(totals, element, active, width);
      }
      sums.supply(column, totals);
    }
    if (!columnStores.empty()) {
      Value first = arith::CmpIOp::create(function.getBuilder(), function.getLoc(),
                                          arith::CmpIPredicate::eq, y, function.index(0));
      function.when(function.both(first, active), [&] {
        Frame frame(&column);
        write(frame, columnStores);
      });
    }
    if (!fullStores.empty()) {
      function.when(active, [&] {
        overRows({}, [&](Frame &frame, ValueRange) -> SmallVector<Value> {
          write(frame, fullStores);
          return {};
        });
      });
    }
  }

  /// Combines over y; every thread gets the result of its columns.
  SmallVector<Value> exchange(Accumulators &sums, unsigned level, ValueRange totals,
                              unsigned width) {
    OpBuilder &builder = function.getBuilder();
    Location loc = function.getLoc();
    int64_t slotBytes = 8 * kThreads * columns.getWidth();
    int64_t slot = Accumulators::countValues(program, level);
    auto place = [&](Value row, unsigned lane) {
      // Lanes apart by 256 elements: neighbouring threads on neighbouring banks.
      Value at = function.add(function.mul(row, function.index(kLanes)), x);
      return function.add(at, function.index(lane * kThreads));
    };
    auto lanesOf = [&](Value value, unsigned lane) -> Value {
      return width == 1 ? value : vector::ExtractOp::create(builder, loc, value, (int64_t)lane);
    };
    for (auto [i, value] : llvm::enumerate(totals)) {
      for (unsigned lane = 0; lane < width; ++lane) {
        function.storeShared((slot + i) * slotBytes, place(y, lane), lanesOf(value, lane));
      }
    }
    function.barrier();
    auto readRow = [&](Value row) {
      SmallVector<Value> values;
      for (auto [i, type] : llvm::enumerate(sums.getTypes())) {
        SmallVector<Value> lanes;
        for (unsigned lane = 0; lane < width; ++lane) {
          lanes.push_back(function.loadShared((slot + i) * slotBytes, place(row, lane), type));
        }
        values.push_back(width == 1 ? lanes[0]
                                    : Value(vector::FromElementsOp::create(
                                          builder, loc, getLanesType(type, width), lanes)));
      }
      return values;
    };
    return function.loop(function.index(1), function.index(kRows), function.index(1),
                         readRow(function.index(0)), [&](Value row, ValueRange carried) {
                           return sums.combine(carried, readRow(row));
                         });
  }

  /// One round is all there is: the rest is the second launch's.
  void leavePartials(ValueRange totals, Value element, Value active, unsigned width) {
    Value first = arith::CmpIOp::create(function.getBuilder(), function.getLoc(),
                                        arith::CmpIPredicate::eq, y, function.index(0));
    function.when(function.both(first, active), [&] {
      Value at = function.add(function.mul(part, function.size(columns.getElements())), element);
      for (auto [i, value] : llvm::enumerate(totals)) {
        Value offset = function.size(partialsOf(columns, parts, i));
        for (unsigned lane = 0; lane < width; ++lane) {
          Value one = width == 1 ? value
                                 : vector::ExtractOp::create(function.getBuilder(), function.getLoc(),
                                                             value, static_cast<int64_t>(lane));
          function.storeWorkspace(offset, function.add(at, function.index(lane)), one);
        }
      }
    });
  }

  void write(Frame &frame, ArrayRef<Store> stores) {
    SmallVector<Value> values;
    for (const Store &store : stores) {
      values.push_back(emitter.value(frame, store.node));
    }
    for (auto [store, value] : llvm::zip(stores, values)) {
      emitter.store(frame, store, value);
    }
  }

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

/// The second launch of split columns.
static void emitCombination(GpuFunction &function, const ChunkSpace &columns, SizeExpr parts) {
  const KernelProgram &program = function.getProgram();
  Value elements = function.size(columns.getElements());
  Value element = function.add(function.mul(function.blockId(), function.index(kThreads)), function.threadId());
  function.when(function.less(element, elements), [&] {
    Frame column;
    columns.bindElement(function, column, element);
    Accumulators sums(function, 0);
    auto totals = function.loop(
        function.index(0), function.size(parts), function.index(1), sums.identity(1),
        [&](Value part, ValueRange carried) {
          Value at = function.add(function.mul(part, elements), element);
          SmallVector<Value> partials;
          for (auto [i, type] : llvm::enumerate(sums.getTypes())) {
            Value offset = function.size(ColumnKernel::partialsOf(columns, parts, i));
            partials.push_back(function.loadWorkspace(offset, at, type));
          }
          return sums.combine(carried, partials);
        });
    sums.supply(column, totals);
    for (const Store &store : program.getStores()) {
      if (!((store.dims | program[store.node].dims) & program.reducedMask())) {
        function.getEmitter().store(column, store, function.getEmitter().value(column, store.node));
      }
    }
  });
}

void mlir::frit::emitGpuColumnReduction(gpu::GPUModuleOp module, const KernelProgram &program,
                                        KernelDesc &desc, bool isInPlace, bool isSplit) {
  unsigned lane = *program.getLaneDim(), width = chooseWidth(program, lane);
  while (width > 1 && ColumnKernel::getSharedBytes(program, width) > (32 << 10)) {
    width /= 2;
  }
  ChunkSpace columns(program, 0, program.numParallel(), lane, width);
  SizeExpr one = SizeExpr::constant(program.getContext(), 1), parts = one;
  isSplit = isSplit && program.numPhases() == 1 && llvm::none_of(program.getStores(), [&](const Store &store) {
              return ((store.dims | program[store.node].dims) & program.reducedMask()) && program[store.node].level > 0;
            });
  if (isSplit) {
    SizeExpr depth = program.getExtent(program.numParallel(), program.getRank());
    parts = depth.ceilDiv(one * kRowsOfPart).min(one * kMaxParts).max(one);
    desc.workspaceBytes = ColumnKernel::partialsOf(columns, parts, Accumulators::countValues(program, 1));
  }
  auto launchOf = [&](SizeExpr grid, uint32_t sharedBytes) {
    return addLaunch(desc, isSplit ? getNumberedEntry(desc) : desc.name, grid, kThreads, sharedBytes);
  };
  std::string entry = launchOf(getSweepBlocks(columns, kLanes) * parts,
                               ColumnKernel::getSharedBytes(program, columns.getWidth()));
  GpuFunction function(module, entry, program, {kThreads, isSplit});
  ColumnKernel(function, columns, isInPlace, isSplit ? SizeAttr(parts) : SizeAttr()).emit();
  function.finish();
  if (isSplit) {
    GpuFunction combination(module, launchOf(columns.getElements().ceilDiv(one * kThreads), 0), program,
                            {kThreads, true});
    emitCombination(combination, columns, parts);
    combination.finish();
  }
}
