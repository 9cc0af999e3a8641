// Column reductions: the contiguous dim is kept, the reduced dims lie across it.
//
// A block of 8 x 32 threads takes 32 chunks of neighbouring columns: thread (y, x) sweeps every eighth reduced index of its chunk
// of columns, so that a warp reads whole lines; the eight partial sums of a column meet in shared memory and are combined in
// fixed order by every thread that goes on with them. Results on the full domain (a softmax over dim 0) sweep the columns again.
//
// Where accesses cannot be vectors, or the width does not divide the columns, the block takes the same columns one chunk of 32 at
// a time, element by element, with the same order of combination.
//
// Shared memory: 256 x width x element bytes a value, one slot for each reduction.

#include "codegen/gpu/Accumulators.h"
#include "codegen/gpu/ChunkSpace.h"
#include "codegen/gpu/Schedules.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::frit;

namespace {

constexpr uint32_t kThreads = 256, kLanes = 32, kRows = kThreads / kLanes;

class ColumnKernel {
public:
  ColumnKernel(GpuFunction &function, const ChunkSpace &columns)
      : function(function), program(function.getProgram()), emitter(function.getEmitter()),
        columns(columns) {
    for (const Store &store : program.getStores()) {
      bool full = (store.dims | program[store.node].dims) & program.reducedMask();
      (full ? fullStores : columnStores).push_back(store);
    }
  }

  void emit() {
    x = function.rem(function.threadId(), function.index(kLanes));
    y = function.div(function.threadId(), function.index(kLanes));
    unsigned width = columns.getWidth();
    Value block = function.mul(function.blockId(), function.index(kLanes));
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
                        [&](Value part, ValueRange) -> SmallVector<Value> {
                          sweep(function.add(first, function.mul(part, function.index(kLanes))), 1);
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

private:
  /// One chunk of columns (`chunk` numbers elements if `width` is 1).
  void sweep(Value chunk, unsigned width) {
    Value count = function.size(width == 1 ? columns.getElements() : columns.getChunks());
    Value active = function.less(chunk, count);
    chunk = function.minimum(chunk, function.sub(count, function.index(1)));
    Frame column;
    if (width == 1) {
      columns.bindElement(function, column, chunk);
    } else {
      columns.bindChunk(function, column, chunk);
    }
    Value depth = function.size(program.getExtent(program.numParallel(), program.getRank()));
    auto overRows = [&](ValueRange carried,
                        llvm::function_ref<SmallVector<Value>(Frame &, ValueRange)> body) {
      return function.loop(y, depth, function.index(kRows), carried,
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
            return sums.accumulate(frame, carried);
          });
      sums.supply(column, exchange(sums, level, totals, width));
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

  void write(Frame &frame, ArrayRef<Store> stores) {
    SmallVector<Value> values;
    for (const Store &store : stores) {
      values.push_back(emitter.value(frame, store.node));
    }
    for (auto [store, value] : llvm::zip(stores, values)) {
      emitter.store(frame, store, value);
    }
  }

  GpuFunction &function;
  const KernelProgram &program;
  Emitter &emitter;
  const ChunkSpace &columns;
  SmallVector<Store> fullStores, columnStores;
  Value x, y;
};

} // namespace

void mlir::frit::emitGpuColumnReduction(gpu::GPUModuleOp module, const KernelProgram &program,
                                        KernelDesc &desc) {
  unsigned lane = *program.getLaneDim(), width = chooseWidth(program, lane);
  while (width > 1 && ColumnKernel::getSharedBytes(program, width) > (32 << 10)) {
    width /= 2;
  }
  ChunkSpace columns(program, 0, program.numParallel(), lane, width);
  GpuFunction function(module, desc.name, program, {kThreads, false});
  ColumnKernel(function, columns).emit();
  function.finish();

  LaunchDesc launch;
  launch.entry = desc.name;
  launch.block[0] = kThreads;
  launch.grid[0] = getSweepBlocks(columns, kLanes);
  launch.grid[1] = launch.grid[2] = SizeExpr::constant(program.getContext(), 1);
  launch.sharedBytes = ColumnKernel::getSharedBytes(program, columns.getWidth());
  desc.launches.push_back(launch);
}
