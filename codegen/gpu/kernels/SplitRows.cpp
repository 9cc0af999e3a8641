// Full reductions (no dim is kept) and reductions of a few long rows, with several blocks per row.
// Each phase has two launches: the blocks of a row fold their shares into one partial result each,
// then one block per row folds these in order, so results are deterministic. Later launches read
// the results of a phase from the workspace. A last launch writes the results on the full domain
// that depend on reduced values, if there are any; the first launch writes those that do not.
//
// The number of blocks of a row is a function of its length alone: as many as the schedule says
// (`split`, about four per multiprocessor over all rows), with at least `chunksOfPart` chunks. A
// thread issues the loads of `unroll` chunks before it uses the first (UnrolledSweep.h), within the
// registers that leave room for `resident` blocks per multiprocessor. Where accesses cannot be
// vectors it takes the same elements in the same order, one at a time unless a tile is one step of
// the reduction. Places over several dims of unknown sizes are carried from chunk to chunk
// (MixedRadixCounter.h).
//
// Workspace: 8 bytes for each partial result and each final value. Shared memory: 8 bytes x warps x
// reductions.

#include "codegen/gpu/kernels/Accumulators.h"
#include "codegen/gpu/kernels/ChunkSpace.h"
#include "codegen/gpu/kernels/Schedules.h"
#include "codegen/gpu/kernels/UnrolledSweep.h"

using namespace mlir;
using namespace mlir::frit;

namespace {

constexpr uint32_t kSplitThreads = 256;

class SplitKernel {
public:
  SplitKernel(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc,
              const ChunkSpace &space, GpuSplitRowsAttr as, bool isInPlace)
      : module(module), program(program), desc(desc), space(space),
        unroll(static_cast<uint32_t>(as.getUnroll())),
        resident(static_cast<uint32_t>(as.getResident())) {
    one = SizeExpr::constant(program.getContext(), 1);
    takesTiles = Accumulators::takesTiles(program);
    rows = program.getExtent(0, program.numParallel());
    parts = space.getChunks().ceilDiv(one * as.getChunksOfPart()).min(one * as.getSplit()).max(one);
    for (const Store &store : program.getStores()) {
      bool full = (store.dims | program[store.node].dims) & program.reducedMask();
      (full ? fullStores : rowStores).push_back(store);
    }
    std::tie(earlyStores, fullStores) = splitByTime(program, fullStores, isInPlace);
  }

  void emit() {
    unsigned values = Accumulators::countValues(program, program.numPhases());
    desc.workspaceBytes = partialsOf(values);
    for (unsigned level = 0; level < program.numPhases(); ++level) {
      emitPartials(level);
      emitCombination(level);
    }
    if (!fullStores.empty()) {
      emitStores();
    }
  }

private:
  std::string nextEntry(SizeExpr grid, uint32_t sharedBytes) {
    return addLaunch(desc, getNumberedEntry(desc), grid, kSplitThreads, sharedBytes);
  }

  /// The byte offset of the partial results of a value; those of one row are adjacent. The final
  /// values of all rows follow them.
  SizeExpr partialsOf(unsigned value) const { return rows * (parts + one) * (8 * int64_t(value)); }
  SizeExpr finalsOf(unsigned value) const { return partialsOf(value) + rows * parts * 8; }

  /// The row of a block, and the block's part of it. `isWhole`: a block has a whole row.
  std::pair<Value, Value> bindRow(GpuFunction &function, Frame &frame, bool isWhole) {
    Value block = function.blockId(), row = function.index(0);
    if (program.numParallel()) {
      row = block;
      if (!isWhole) {
        Value count = function.size(parts);
        row = function.div(block, count);
        block = function.sub(block, function.mul(row, count));
      }
      function.getEmitter().bindLinear(frame, row, 0, program.numParallel());
    }
    return {row, block};
  }

  void supplyFinals(GpuFunction &function, Frame &frame, Value row, unsigned levels) {
    for (unsigned level = 0; level < levels; ++level) {
      Accumulators sums(function, level);
      unsigned first = Accumulators::countValues(program, level);
      SmallVector<Value> finals;
      for (auto [i, type] : llvm::enumerate(sums.getTypes())) {
        finals.push_back(function.loadWorkspace(function.size(finalsOf(first + i)), row, type));
      }
      if (!sums.isEmpty()) {
        sums.supply(frame, finals);
      }
    }
  }

  void writeFirst(GpuFunction &function, llvm::function_ref<void()> body) {
    Value first =
        arith::CmpIOp::create(function.getBuilder(), function.getLoc(), arith::CmpIPredicate::eq,
                              function.threadId(), function.index(0));
    function.when(first, body);
  }

  /// Sweeps the block's chunks of a row.
  SmallVector<Value>
  sweep(GpuFunction &function, Frame &row, Value part, bool vectors, ArrayRef<unsigned> roots,
        ValueRange carried,
        llvm::function_ref<SmallVector<Value>(ArrayRef<Frame *>, ValueRange)> body) {
    function.setVectorAddresses(vectors ? &space.getVectorAddresses() : nullptr);
    MixedRadixCounter counter = space.countChunks(function);
    UnrolledSweep chunks{space.getChunks(),
                         function.threadId(),
                         kSplitThreads,
                         unroll,
                         part,
                         parts,
                         /*isRolled=*/!vectors && !takesTiles,
                         &counter};
    auto totals = emitUnrolledSweep(
        function, chunks, row, program.getSweptLoads(roots), carried,
        [&](Frame &frame, Value chunk, ArrayRef<Value> place) {
          space.bindStep(function, frame, counter, chunk, place, !vectors);
        },
        body);
    function.setVectorAddresses(nullptr);
    return totals;
  }

  /// The nodes that a level's sweep computes for every chunk; the level after the last is the sweep
  /// that writes.
  SmallVector<unsigned> rootsOf(unsigned level) const {
    SmallVector<unsigned> roots = program.getReducedNodes(level);
    for (const Store &store : level == 0 ? earlyStores : fullStores) {
      if (level == 0 || level == program.numPhases()) {
        roots.push_back(store.node);
      }
    }
    return roots;
  }

  SmallVector<Value> eitherWay(GpuFunction &function, TypeRange types,
                               llvm::function_ref<SmallVector<Value>(bool vectors)> body) {
    Value aligned = space.isAligned(function, true);
    return aligned ? function.choose(
                         aligned, types, [&] { return body(true); }, [&] { return body(false); })
                   : body(true);
  }

  void emitPartials(unsigned level) {
    uint32_t shared = Accumulators::getSharedBytes(program, kSplitThreads, kSplitThreads);
    GpuFunction function(module, nextEntry(rows * parts, shared), program,
                         {.threads = kSplitThreads, .hasWorkspace = true, .resident = resident});
    Frame top;
    auto [row, part] = bindRow(function, top, /*isWhole=*/false);
    supplyFinals(function, top, row, level);
    Accumulators sums(function, level);
    function.getEmitter().hoist(top, rootsOf(level));
    SmallVector<Value> totals = eitherWay(function, sums.getTypes(), [&](bool vectors) {
      return sums.foldLanes(
          sums.leave(sweep(function, top, part, vectors, rootsOf(level),
                           sums.start(space.getWidth(), /*isMasked=*/!vectors),
                           [&](ArrayRef<Frame *> frames, ValueRange carried) {
                             return sums.accumulate(frames, carried, {}, [&](Frame &frame) {
                               if (level == 0) {
                                 function.getEmitter().computeThenStore(frame, earlyStores);
                               }
                             });
                           }),
                     space.getWidth()));
    });
    totals = sums.foldThreads(totals, kSplitThreads);
    unsigned firstValue = Accumulators::countValues(program, level);
    writeFirst(function, [&] {
      for (auto [i, value] : llvm::enumerate(totals)) {
        function.storeWorkspace(function.size(partialsOf(firstValue + i)), function.blockId(),
                                value);
      }
    });
    function.finish();
  }

  void emitCombination(unsigned level) {
    uint32_t shared = Accumulators::getSharedBytes(program, kSplitThreads, kSplitThreads);
    GpuFunction function(module, nextEntry(rows, shared), program, {kSplitThreads, true});
    Frame top;
    Value row = bindRow(function, top, /*isWhole=*/true).first;
    supplyFinals(function, top, row, level);
    Accumulators sums(function, level);
    unsigned firstValue = Accumulators::countValues(program, level);
    Value count = function.size(parts), begin = function.mul(row, count);
    auto totals = function.loop(
        function.threadId(), count, function.index(kSplitThreads), sums.identity(1),
        [&](Value part, ValueRange carried) {
          SmallVector<Value> partials;
          for (auto [i, type] : llvm::enumerate(sums.getTypes())) {
            partials.push_back(function.loadWorkspace(function.size(partialsOf(firstValue + i)),
                                                      function.add(begin, part), type));
          }
          return sums.combine(carried, partials);
        });
    totals = sums.foldThreads(totals, kSplitThreads);
    sums.supply(top, totals);
    writeFirst(function, [&] {
      for (auto [i, value] : llvm::enumerate(totals)) {
        function.storeWorkspace(function.size(finalsOf(firstValue + i)), row, value);
      }
      Frame frame(&top);
      for (const Store &store : rowStores) {
        if (level + 1 == program.numPhases()) {
          function.getEmitter().store(frame, store, function.getEmitter().value(frame, store.node));
        }
      }
    });
    function.finish();
  }

  void emitStores() {
    GpuFunction function(module, nextEntry(rows * parts, 0), program, {kSplitThreads, true});
    Frame top;
    auto [row, part] = bindRow(function, top, /*isWhole=*/false);
    supplyFinals(function, top, row, program.numPhases());
    function.getEmitter().hoist(top, rootsOf(program.numPhases()));
    eitherWay(function, {}, [&](bool vectors) {
      return sweep(function, top, part, vectors, rootsOf(program.numPhases()), {},
                   [&](ArrayRef<Frame *> frames, ValueRange) -> SmallVector<Value> {
                     llvm::for_each(frames, [&](Frame *frame) {
                       function.getEmitter().computeThenStore(*frame, fullStores);
                     });
                     return {};
                   });
    });
    function.finish();
  }

  gpu::GPUModuleOp module;
  const KernelProgram &program;
  KernelDesc &desc;
  const ChunkSpace &space;
  uint32_t unroll, resident;
  bool takesTiles = false;
  SizeExpr one, rows, parts;
  SmallVector<Store> fullStores, earlyStores, rowStores;
};

} // namespace

void mlir::frit::emitGpuKernel(gpu::GPUModuleOp module, const KernelProgram &program,
                               GpuSplitRowsAttr as, KernelDesc &desc, bool isInPlace) {
  ChunkSpace space(program, program.numParallel(), program.getRank(), as.getLane(), as.getWidth());
  SplitKernel(module, program, desc, space, as, isInPlace).emit();
}
