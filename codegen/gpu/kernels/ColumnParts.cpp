#include "codegen/gpu/kernels/ColumnParts.h"

#include "codegen/gpu/kernels/Schedules.h"

using namespace mlir;
using namespace mlir::frit;

static constexpr uint32_t kPartThreads = 256, kLanes = 16, kRows = kPartThreads / kLanes,
                          kUnroll = 4;

static void emitBody(GpuFunction &function, const ColumnParts &workspace, ArrayRef<unsigned> nodes,
                     uint32_t foldedDims) {
  const ChunkSpace &columns = workspace.columns;
  Accumulators sums(function, nodes);
  Value x = function.rem(function.threadId(), function.index(kLanes)),
        y = function.div(function.threadId(), function.index(kLanes));
  Value element = function.add(function.mul(function.blockId(), function.index(kLanes)), x);
  Value count = function.size(columns.getElements()), active = function.less(element, count);
  element = function.minimum(element, function.sub(count, function.index(1)));
  Value most = function.size(workspace.parts), last = function.sub(most, function.index(1));
  auto totals = function.loop(
      y, most, function.index(kRows * kUnroll), sums.identity(1),
      [&](Value part, ValueRange carried) {
        SmallVector<SmallVector<Value>> taken;
        SmallVector<Value> neutral = sums.identity(1);
        for (unsigned k = 0; k < kUnroll; ++k) {
          Value own = function.add(part, function.index(k * kRows)),
                isThere = function.less(own, most);
          Value from = function.minimum(own, last);
          taken.emplace_back();
          for (auto [i, type] : llvm::enumerate(sums.getTypes())) {
            Value value = workspace.load(i, from, element, type);
            taken.back().push_back(arith::SelectOp::create(function.getBuilder(), function.getLoc(),
                                                           isThere, value, neutral[i]));
          }
        }
        SmallVector<Value> next(carried);
        for (ArrayRef<Value> values : taken) {
          next = sums.combine(next, values);
        }
        return next;
      });
  auto slotOf = [&](Value row) {
    return function.add(function.mul(row, function.index(kLanes)), x);
  };
  for (auto [i, value] : llvm::enumerate(totals)) {
    function.storeShared(8 * kPartThreads * i, slotOf(y), value);
  }
  function.barrier();
  Value isFirst = arith::CmpIOp::create(function.getBuilder(), function.getLoc(),
                                        arith::CmpIPredicate::eq, y, function.index(0));
  function.when(function.both(isFirst, active), [&] {
    for (unsigned row = 1; row < kRows; ++row) {
      SmallVector<Value> theirs;
      for (auto [i, type] : llvm::enumerate(sums.getTypes())) {
        theirs.push_back(
            function.loadShared(8 * kPartThreads * i, slotOf(function.index(row)), type));
      }
      totals = sums.combine(totals, theirs);
    }
    Frame column;
    columns.bindElement(function, column, element);
    sums.supply(column, totals);
    const KernelProgram &program = function.getProgram();
    for (const Store &store : program.getStores()) {
      if (!((store.dims | program[store.node].dims) & foldedDims)) {
        function.getEmitter().store(column, store, function.getEmitter().value(column, store.node));
      }
    }
  });
}

void mlir::frit::emitColumnFold(gpu::GPUModuleOp module, const KernelProgram &program,
                                KernelDesc &desc, const ChunkSpace &columns, SizeExpr parts,
                                ArrayRef<unsigned> nodes, uint32_t foldedDims) {
  uint32_t values = Accumulators::countValuesOf(program, nodes);
  SizeExpr grid = columns.getElements().ceilDiv(SizeExpr::constant(program.getContext(), kLanes));
  GpuFunction function(
      module,
      addLaunch(desc, getNumberedEntry(desc), grid, kPartThreads, 8 * kPartThreads * values),
      program, {kPartThreads, true});
  emitBody(function, {function, columns, parts}, nodes, foldedDims);
  function.finish();
}
