// Pointwise kernels: every operand is read once, every result written once, nothing is kept.
//
// The domain is swept in chunks of up to 8 elements along the dim in which most bytes are
// contiguous. A thread takes one chunk and a block 256 neighbouring ones, so a warp accesses whole
// cache lines with 16-byte accesses. Where the schedule says so (`unroll`: one operand, of which
// one chunk per thread would not keep memory busy) a thread takes several chunks, a block's width
// apart, and issues all loads before it computes with the first. If the domain has more than one
// dim, one division per chunk finds the row. Addresses that divide by unknown sizes do so for the
// first lane of a chunk only (Emitter.h).
//
// Where accesses cannot be vectors (a misaligned pointer, a row length that is no multiple of the
// width) the block takes the same elements one by one, neighbouring threads on neighbouring
// elements; a thread loads `together` of them before it stores the first. The choice is one uniform
// test of sizes and pointers. If no access can ever be a vector, a thread takes `unroll` elements.
// A partial last chunk (one dim only) goes through the same scalar loop. Where finding an element
// would divide by unknown sizes the loop carries its place as a mixed-radix counter: it divides
// once in front, not for each element (MixedRadixCounter.h).
//
// A kernel over a list (ir/KernelLists.h) runs over several tensors: a block takes a chunk of one
// of them, up to 16 times as much as it handles at once, and finds it by a binary search in the
// table of first blocks, a few loads of constant memory. Vector access is decided for each tensor.
//
// Registers: width x (operands + live values); the schedule keeps the operands within 64. No shared
// memory.

#include "codegen/gpu/kernels/Accumulators.h"
#include "codegen/gpu/kernels/ChunkSpace.h"
#include "codegen/gpu/kernels/Schedules.h"
#include "ir/KernelLists.h"

using namespace mlir;
using namespace mlir::frit;

SizeExpr mlir::frit::getSweepBlocks(const ChunkSpace &space, uint32_t threads) {
  if (space.isOneDim()) {
    return space.getElements().ceilDiv(
        SizeExpr::constant(space.getElements().getContext(), space.getWidth() * threads));
  }
  SizeExpr chunks = space.getChunks();
  return chunks.ceilDiv(SizeExpr::constant(chunks.getContext(), threads));
}

/// The loads that the stores need and that vary over the domain.
static SmallVector<unsigned> loadsBelow(const KernelProgram &program, ArrayRef<Store> stores) {
  SmallVector<unsigned> roots, loads;
  llvm::transform(stores, std::back_inserter(roots), [](const Store &store) { return store.node; });
  for (unsigned id : program.reach(roots)) {
    if (program[id].kind == NodeKind::Load && program[id].dims) {
      loads.push_back(id);
    }
  }
  return loads;
}

/// Emits a sweep over all elements of `space`; `outer` holds values computed before.
static void emitSweep(GpuFunction &function, const ChunkSpace &space, GpuPointwiseAttr as,
                      Frame *outer = nullptr) {
  auto unroll = static_cast<unsigned>(as.getUnroll());
  uint32_t threads = function.getBlockThreads();
  unsigned width = space.getWidth();
  ArrayRef<Store> stores = function.getProgram().getStores();
  SmallVector<unsigned> loads = loadsBelow(function.getProgram(), stores);
  Value thread = function.threadId();
  Value blockStart = function.mul(function.blockId(), function.index(threads * unroll));
  Value elements = function.size(space.getElements());
  // Sweeps the elements that are left to this thread one by one: the first, at most how many, their
  // distance.
  auto sweepElements = [&](Value first, Value count, Value distance) {
    Value limit = function.minimum(function.add(first, function.mul(count, distance)), elements);
    auto sweepFrom = [&](ValueRange place, const MixedRadixCounter &counter,
                         const MixedRadixCounter::Step &step) {
      function.loop(first, limit, distance, place,
                    [&](Value element, ValueRange at) -> SmallVector<Value> {
                      Frame frame(outer);
                      if (at.empty()) {
                        space.bindElement(function, frame, element);
                        function.getEmitter().computeThenStore(frame, stores);
                        return {};
                      }
                      SmallVector<Value> now(at);
                      space.bindElement(frame, counter, now);
                      function.getEmitter().computeThenStore(frame, stores);
                      return counter.advance(now, step);
                    });
    };
    MixedRadixCounter counter = space.countElements(function);
    if (!counter.divides()) {
      return sweepFrom({}, counter, {});
    }
    // Threads whose chunks were vectors have nothing left and skip the divisions, as does every
    // thread if a size is 0.
    function.when(function.less(first, limit), [&] {
      Frame top(outer);
      sweepFrom(counter.find(top, first), counter, counter.getStep(distance));
    });
  };
  if (width == 1 && unroll == 1) {
    Value element = function.add(blockStart, thread);
    return function.when(function.less(element, elements), [&] {
      Frame frame(outer);
      space.bindElement(function, frame, element);
      function.getEmitter().computeThenStore(frame, stores);
    });
  }
  auto elementsOfBlock = [&]() -> SmallVector<Value> {
    Value first = function.add(function.mul(blockStart, function.index(width)), thread);
    return {first, function.index(width * unroll), function.index(threads)};
  };
  SmallVector<Type> types(3, function.getIndexType());
  auto nothing = [&]() -> SmallVector<Value> {
    return {elements, function.index(0), function.index(1)};
  };
  // Whether the block lies inside of the domain, so that all of its chunks and elements exist.
  auto reachesEnd = [&] {
    Value end = function.mul(function.add(blockStart, function.index(threads * unroll)),
                             function.index(width));
    return function.less(elements, end);
  };
  // Takes several steps at once: all loads, then all values, then all stores.
  auto emitTogether = [&](int64_t steps, llvm::function_ref<void(Frame &, int64_t)> bind) {
    std::vector<std::unique_ptr<Frame>> frames;
    SmallVector<SmallVector<Value>> values;
    for (int64_t k = 0; k < steps; ++k) {
      frames.push_back(std::make_unique<Frame>(outer));
      bind(*frames.back(), k);
      llvm::for_each(loads, [&](unsigned id) { function.getEmitter().value(*frames.back(), id); });
    }
    for (auto &frame : frames) {
      values.push_back(function.getEmitter().compute(*frame, stores));
    }
    for (auto [frame, computed] : llvm::zip(frames, values)) {
      function.getEmitter().store(*frame, stores, computed);
    }
  };
  // Each element finds its place by itself, which should not divide by unknown sizes.
  auto sweepSingles = [&]() -> SmallVector<Value> {
    if (as.getTogether() == 1 || space.countElements(function).divides()) {
      return elementsOfBlock();
    }
    return function.choose(reachesEnd(), types, elementsOfBlock, [&]() -> SmallVector<Value> {
      SmallVector<Value> own = elementsOfBlock();
      int64_t distance = as.getTogether() * threads;
      function.loop(
          own[0], function.add(own[0], function.index(int64_t(width) * unroll * threads)),
          function.index(distance), {}, [&](Value first, ValueRange) -> SmallVector<Value> {
            emitTogether(as.getTogether(), [&](Frame &frame, int64_t k) {
              space.bindElement(function, frame, function.add(first, function.index(k * threads)));
            });
            return {};
          });
      return nothing();
    });
  };
  if (width == 1) {
    SmallVector<Value> left = sweepSingles();
    return sweepElements(left[0], left[1], left[2]);
  }
  auto sweepChunk = [&]() -> SmallVector<Value> {
    Value chunk = function.add(blockStart, thread);
    Value first = function.mul(chunk, function.index(width));
    Value whole = function.less(function.add(first, function.index(width - 1)), elements);
    if (!space.isOneDim()) {
      whole = function.less(chunk, function.size(space.getChunks()));
    }
    return function.choose(
        whole, types,
        [&]() -> SmallVector<Value> {
          Frame frame(outer);
          space.bindChunk(function, frame, chunk);
          if (as.getLoadsFirst()) {
            llvm::for_each(loads, [&](unsigned id) { function.getEmitter().value(frame, id); });
          }
          function.getEmitter().computeThenStore(frame, stores);
          return nothing();
        },
        [&]() -> SmallVector<Value> {
          Value count = space.isOneDim() ? function.index(width) : function.index(0);
          return {first, count, function.index(1)};
        });
  };
  // Several chunks: a block takes them only if all of its chunks exist; otherwise it goes element
  // by element.
  auto sweepChunks = [&]() -> SmallVector<Value> {
    return function.choose(reachesEnd(), types, elementsOfBlock, [&]() -> SmallVector<Value> {
      emitTogether(unroll, [&](Frame &frame, int64_t k) {
        space.bindChunk(
            function, frame,
            function.add(blockStart, function.add(thread, function.index(k * threads))));
      });
      return nothing();
    });
  };
  auto left = function.choose(
      space.isAligned(function, !space.isOneDim()), types,
      [&] {
        function.setVectorAddresses(&space.getVectorAddresses());
        SmallVector<Value> left = unroll > 1 ? sweepChunks() : sweepChunk();
        function.setVectorAddresses(nullptr);
        return left;
      },
      sweepSingles);
  sweepElements(left[0], left[1], left[2]);
}

void mlir::frit::emitGpuKernel(gpu::GPUModuleOp module, const KernelProgram &program,
                               GpuPointwiseAttr as, KernelDesc &desc, bool) {
  KernelOp kernel = program.getKernel();
  auto items = static_cast<uint32_t>(kernel.getList().value_or(0)),
       threads = static_cast<uint32_t>(as.getThreads());
  std::optional<ChunkSpace> space;
  GpuFunction::Options options{.threads = threads, .listItems = items};
  if (as.getLane()) {
    space.emplace(program, 0, program.getRank(), *as.getLane(), as.getWidth());
    options.listChunk = kernel.getSweeps().value_or(1) * threads * space->getWidth();
  }
  GpuFunction function(module, desc.name, program, options);
  SizeExpr one = SizeExpr::constant(program.getContext(), 1);
  LaunchDesc launch;
  launch.entry = desc.name;
  launch.block[0] = threads;
  launch.listItems = items;
  launch.grid[0] = launch.grid[1] = launch.grid[2] = one;
  Frame top;
  if (!space) {
    Value first =
        arith::CmpIOp::create(function.getBuilder(), function.getLoc(), arith::CmpIPredicate::eq,
                              function.threadId(), function.index(0));
    function.when(first, [&] {
      Frame frame(&top);
      // Reductions over a single point.
      for (unsigned level = 0; level < program.numPhases(); ++level) {
        Accumulators sums(function, level);
        if (!sums.isEmpty()) {
          sums.supply(frame, sums.leave(sums.accumulate(frame, sums.start(1)), 1));
        }
      }
      function.getEmitter().computeThenStore(frame, program.getStores());
    });
  } else if (items) {
    // Values that all elements share are computed once.
    SmallVector<unsigned> roots = program.getStoredNodes();
    function.getEmitter().hoist(top, roots);
    int64_t width = int64_t(threads) * space->getWidth();
    Value elements = function.size(space->getElements());
    Value sweeps =
        function.div(function.add(elements, function.index(width - 1)), function.index(width));
    function.loop(function.index(0), sweeps, function.index(1), {},
                  [&](Value sweep, ValueRange) -> SmallVector<Value> {
                    function.setBlockId(sweep);
                    emitSweep(function, *space, as, &top);
                    return {};
                  });
    launch.grid[0] =
        space->getElements().ceilDiv(SizeExpr::constant(program.getContext(), options.listChunk));
  } else {
    emitSweep(function, *space, as);
    launch.grid[0] = getSweepBlocks(*space, threads * as.getUnroll());
  }
  function.finish();
  desc.launches.push_back(launch);
}
