// Pointwise kernels: every operand is read once, every result written once, nothing is kept.
//
// The domain is walked in chunks of up to 8 elements along the dim in which most bytes are contiguous; a thread takes one
// chunk, a block 256 neighbouring ones, so a warp reads and writes whole lines with 16-byte accesses. One division a chunk finds
// the row when the domain has more than one dim; none is needed when it has one.
//
// Where accesses cannot be vectors (a pointer off by an element, a row length that is no multiple) the same block does the same
// elements one by one, neighbouring threads on neighbouring elements. The choice is one test on sizes and pointers, equal for all
// threads. A last partial chunk (one dim only) goes through the same scalar loop.
//
// Registers: width x (operands + live values); chooseWidth keeps the operands within 64. No shared memory.

#include "codegen/gpu/Accumulators.h"
#include "codegen/gpu/ChunkSpace.h"
#include "codegen/gpu/Schedules.h"

using namespace mlir;
using namespace mlir::frit;

static constexpr uint32_t kThreads = 256;

SizeExpr mlir::frit::getSweepBlocks(const ChunkSpace &space, uint32_t threads) {
  if (space.isOneDim()) {
    return space.getElements().ceilDiv(
        SizeExpr::constant(space.getElements().getContext(), space.getWidth() * threads));
  }
  SizeExpr chunks = space.getChunks();
  return chunks.ceilDiv(SizeExpr::constant(chunks.getContext(), threads));
}

static void emitStores(GpuFunction &function, Frame &frame, ArrayRef<Store> stores) {
  Emitter &emitter = function.getEmitter();
  // All loads of a chunk are asked for before the first store could keep one back.
  SmallVector<Value> values;
  for (const Store &store : stores) {
    values.push_back(emitter.value(frame, store.node));
  }
  for (auto [store, value] : llvm::zip(stores, values)) {
    emitter.store(frame, store, value);
  }
}

void mlir::frit::emitStoreSweep(GpuFunction &function, const ChunkSpace &space, Frame &outer,
                                ArrayRef<Store> stores) {
  uint32_t threads = function.getBlockThreads();
  unsigned width = space.getWidth();
  Value thread = function.threadId();
  Value blockStart = function.mul(function.blockId(), function.index(threads));
  Value elements = function.size(space.getElements());
  auto scalarElement = [&](Value element) {
    Frame frame(&outer);
    space.bindElement(function, frame, element);
    emitStores(function, frame, stores);
  };
  if (width == 1) {
    Value element = function.add(blockStart, thread);
    function.when(function.less(element, elements), [&] { scalarElement(element); });
    return;
  }
  function.setVectorAddresses(&space.getVectorAddresses());
  Type type = function.getIndexType();
  SmallVector<Type> types(3, type);
  // The scalar elements left to this thread: first, how many at most, distance.
  auto scalars = function.choose(
      space.isAligned(function, !space.isOneDim()), types,
      [&]() -> SmallVector<Value> {
        Value chunk = function.add(blockStart, thread);
        Value first = function.mul(chunk, function.index(width));
        Value whole = function.less(function.add(first, function.index(width - 1)), elements);
        if (!space.isOneDim()) {
          whole = function.less(chunk, function.size(space.getChunks()));
        }
        return function.choose(
            whole, types,
            [&]() -> SmallVector<Value> {
              Frame frame(&outer);
              space.bindChunk(function, frame, chunk);
              emitStores(function, frame, stores);
              return {elements, function.index(0), function.index(1)};
            },
            [&]() -> SmallVector<Value> {
              Value count = space.isOneDim() ? function.index(width) : function.index(0);
              return {first, count, function.index(1)};
            });
      },
      [&]() -> SmallVector<Value> {
        Value first = function.add(function.mul(blockStart, function.index(width)), thread);
        return {first, function.index(width), function.index(threads)};
      });
  function.setVectorAddresses(nullptr);
  Value limit = function.add(scalars[0], function.mul(scalars[1], scalars[2]));
  function.loop(scalars[0], function.minimum(limit, elements), scalars[2], {},
                [&](Value element, ValueRange) -> SmallVector<Value> {
                  scalarElement(element);
                  return {};
                });
}

void mlir::frit::emitGpuPointwise(gpu::GPUModuleOp module, const KernelProgram &program,
                                  KernelDesc &desc) {
  GpuFunction function(module, desc.name, program, {kThreads, false});
  SizeExpr one = SizeExpr::constant(program.getContext(), 1);
  LaunchDesc launch;
  launch.entry = desc.name;
  launch.block[0] = kThreads;
  launch.grid[0] = launch.grid[1] = launch.grid[2] = one;
  Frame top;
  if (program.getRank() == 0) {
    Value first = arith::CmpIOp::create(function.getBuilder(), function.getLoc(),
                                        arith::CmpIPredicate::eq, function.threadId(),
                                        function.index(0));
    function.when(first, [&] {
      Frame frame(&top);
      // Reductions of a single point.
      for (unsigned level = 0; level < program.numPhases(); ++level) {
        Accumulators sums(function, level);
        if (!sums.isEmpty()) {
          sums.supply(frame, sums.accumulate(frame, sums.identity(1)));
        }
      }
      emitStores(function, frame, program.getStores());
    });
  } else {
    unsigned lane = *program.getLaneDim();
    ChunkSpace space(program, 0, program.getRank(), lane, chooseWidth(program, lane));
    emitStoreSweep(function, space, top, program.getStores());
    launch.grid[0] = getSweepBlocks(space, kThreads);
  }
  function.finish();
  desc.launches.push_back(launch);
}
