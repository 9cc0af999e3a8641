// Full reductions: no dim is kept. For each phase two launches in fixed order, so the result does not depend on timing: blocks
// fold their share into one partial a block, and one block folds the partials. What a phase found is read from the workspace by
// the launches after it. A last launch writes results on the full domain, if there are any.
//
// The number of blocks is a function of the size alone: four chunks a thread, at most 512 blocks. A small reduction (what one
// block sweeps in sixteen rounds) is a single row instead, see RowReduction.cpp.
//
// Workspace: for each value 512 partials and one final, 8 bytes each. Shared memory: 8 bytes x warps x reductions.

#include "codegen/gpu/Accumulators.h"
#include "codegen/gpu/ChunkSpace.h"
#include "codegen/gpu/Schedules.h"

using namespace mlir;
using namespace mlir::frit;

namespace {

constexpr uint32_t kThreads = 256, kMaxBlocks = 512, kChunksPerThread = 4;

class FullKernel {
public:
  FullKernel(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc,
             const ChunkSpace &space)
      : module(module), program(program), desc(desc), space(space) {
    MLIRContext *context = program.getContext();
    one = SizeExpr::constant(context, 1);
    SizeExpr share = SizeExpr::constant(context, kThreads * kChunksPerThread);
    blocks = space.getChunks().ceilDiv(share).min(one * kMaxBlocks).max(one);
    for (const Store &store : program.getStores()) {
      bool full = (store.dims | program[store.node].dims) & program.reducedMask();
      (full ? fullStores : scalarStores).push_back(store);
    }
  }

  void emit() {
    unsigned values = Accumulators::countValues(program, program.numPhases());
    desc.workspaceBytes = one * (8 * values * (kMaxBlocks + 1));
    for (unsigned level = 0; level < program.numPhases(); ++level) {
      emitPartials(level);
      emitCombination(level);
    }
    if (!fullStores.empty()) {
      GpuFunction function(module, nextEntry(getSweepBlocks(space, kThreads), 0), program,
                           {kThreads, true});
      Frame top;
      supplyFinals(function, top, program.numPhases());
      emitStoreSweep(function, space, top, fullStores);
      function.finish();
    }
  }

private:
  std::string nextEntry(SizeExpr grid, uint32_t sharedBytes) {
    LaunchDesc launch;
    launch.entry = desc.name + "_" + std::to_string(desc.launches.size());
    launch.block[0] = kThreads;
    launch.grid[0] = grid;
    launch.grid[1] = launch.grid[2] = one;
    launch.sharedBytes = sharedBytes;
    desc.launches.push_back(launch);
    return launch.entry;
  }

  /// Byte offset of the partials of a value, and of its final one behind them.
  int64_t partialsAt(unsigned value) const { return 8 * int64_t(value) * (kMaxBlocks + 1); }

  void supplyFinals(GpuFunction &function, Frame &frame, unsigned levels) {
    for (unsigned level = 0; level < levels; ++level) {
      Accumulators sums(function, level);
      unsigned first = Accumulators::countValues(program, level);
      SmallVector<Value> finals;
      for (auto [i, type] : llvm::enumerate(sums.getTypes())) {
        Value offset = function.index(partialsAt(first + i) + 8 * kMaxBlocks);
        finals.push_back(function.loadWorkspace(offset, function.index(0), type));
      }
      if (!sums.isEmpty()) {
        sums.supply(frame, finals);
      }
    }
  }

  void writeFirst(GpuFunction &function, llvm::function_ref<void()> body) {
    Value first = arith::CmpIOp::create(function.getBuilder(), function.getLoc(),
                                        arith::CmpIPredicate::eq, function.threadId(),
                                        function.index(0));
    function.when(first, body);
  }

  void emitPartials(unsigned level) {
    uint32_t shared = Accumulators::getSharedBytes(program, kThreads, kThreads);
    GpuFunction function(module, nextEntry(blocks, shared), program, {kThreads, true});
    Frame top;
    supplyFinals(function, top, level);
    Value aligned = space.isAligned(function, true);
    Accumulators sums(function, level);
    auto sweep = [&](bool vectors) {
      function.setVectorAddresses(vectors ? &space.getVectorAddresses() : nullptr);
      Value first = function.add(function.mul(function.blockId(), function.index(kThreads)),
                                 function.threadId());
      Value step = function.mul(function.gridSize(), function.index(kThreads));
      auto totals = function.loop(first, function.size(space.getChunks()), step,
                                  sums.identity(space.getWidth()),
                                  [&](Value chunk, ValueRange carried) {
                                    Frame frame(&top);
                                    if (vectors) {
                                      space.bindChunk(function, frame, chunk);
                                    } else {
                                      space.bindMaskedChunk(function, frame, chunk);
                                    }
                                    return sums.accumulate(frame, carried);
                                  });
      function.setVectorAddresses(nullptr);
      return sums.foldLanes(totals);
    };
    SmallVector<Value> totals =
        aligned ? function.choose(aligned, sums.getTypes(), [&] { return sweep(true); },
                                  [&] { return sweep(false); })
                : sweep(true);
    totals = sums.foldThreads(totals, kThreads);
    unsigned firstValue = Accumulators::countValues(program, level);
    writeFirst(function, [&] {
      for (auto [i, value] : llvm::enumerate(totals)) {
        function.storeWorkspace(function.index(partialsAt(firstValue + i)), function.blockId(),
                                value);
      }
    });
    function.finish();
  }

  void emitCombination(unsigned level) {
    uint32_t shared = Accumulators::getSharedBytes(program, kThreads, kThreads);
    GpuFunction function(module, nextEntry(one, shared), program, {kThreads, true});
    Frame top;
    supplyFinals(function, top, level);
    Accumulators sums(function, level);
    unsigned firstValue = Accumulators::countValues(program, level);
    auto totals = function.loop(
        function.threadId(), function.size(blocks), function.index(kThreads), sums.identity(1),
        [&](Value block, ValueRange carried) {
          SmallVector<Value> partials;
          for (auto [i, type] : llvm::enumerate(sums.getTypes())) {
            partials.push_back(
                function.loadWorkspace(function.index(partialsAt(firstValue + i)), block, type));
          }
          return sums.combine(carried, partials);
        });
    totals = sums.foldThreads(totals, kThreads);
    sums.supply(top, totals);
    writeFirst(function, [&] {
      for (auto [i, value] : llvm::enumerate(totals)) {
        function.storeWorkspace(function.index(partialsAt(firstValue + i) + 8 * kMaxBlocks),
                                function.index(0), value);
      }
      Frame frame(&top);
      for (const Store &store : scalarStores) {
        if (level + 1 == program.numPhases()) {
          function.getEmitter().store(frame, store,
                                      function.getEmitter().value(frame, store.node));
        }
      }
    });
    function.finish();
  }

  gpu::GPUModuleOp module;
  const KernelProgram &program;
  KernelDesc &desc;
  const ChunkSpace &space;
  SizeExpr one, blocks;
  SmallVector<Store> fullStores, scalarStores;
};

} // namespace

void mlir::frit::emitGpuFullReduction(gpu::GPUModuleOp module, const KernelProgram &program,
                                      KernelDesc &desc) {
  unsigned lane = *program.getLaneDim();
  ChunkSpace space(program, 0, program.getRank(), lane, chooseWidth(program, lane));
  auto most = program.getFacts().upperBound(space.getChunks());
  if (program.numParallel() || (most && *most <= 16 * kThreads)) {
    return emitGpuRowReduction(module, program, desc);
  }
  FullKernel(module, program, desc, space).emit();
}
