// Scans: running sums and products along the reduced dim.
//
// Along the lanes, a group of T threads (8 to 512) takes a row, tile by tile, and carries the value
// of all earlier tiles in a register. A warp takes `unroll` times 32 neighbouring chunks of a tile:
// a thread loads its chunks at once, combines the elements of each in order, and warps combine
// chunks by butterfly shuffles, of which a thread takes only what lies before it. Warps leave one
// value each in shared memory; after one barrier every thread combines those before it, in order.
// Two buffers alternate, so a tile needs no second barrier.
//
// Across the lanes, a thread takes a column and combines its rows in order, loading `unroll` of
// them before it uses the first.
//
// Every value is ((earlier tiles, earlier warps), earlier chunks of the warp, elements of the
// chunk), an order that depends on sizes alone: chunks that cannot be vectors are the same chunks,
// read element by element. Chunks beyond the end are clamped to the last one, and count as the
// identity; where an operand is written in place, their loads are masked.
//
// Registers: unroll x width values and as many of each other operand. Shared memory: 16 bytes x
// warps, where more than one warp shares a row.

#include "codegen/gpu/kernels/ChunkSpace.h"
#include "codegen/gpu/kernels/Schedules.h"
#include "codegen/gpu/kernels/UnrolledSweep.h"
#include "kernel/ReductionAlgebra.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::frit;

namespace {

constexpr int64_t kScanWarp = 32;

class ScanKernel {
public:
  ScanKernel(GpuFunction &function, const ChunkSpace &space, GpuScanAttr as, bool isInPlace)
      : function(function), program(function.getProgram()), emitter(function.getEmitter()),
        builder(function.getBuilder()), loc(function.getLoc()), space(space), as(as),
        isInPlace(isInPlace), scan(*program.getScan()), operand(program[scan].operands[0]),
        type(program[scan].type),
        algebra(cast<ScanOp>(program[scan].op).getKind(), type, /*isUnsigned=*/false),
        roots(program.getRoots()), loads(program.getSweptLoads(roots)) {}

  static int64_t countWarps(GpuScanAttr as) {
    return std::max<int64_t>(as.getThreads() / kScanWarp, 1);
  }

  void emitColumns() {
    Value column = function.add(function.mul(function.blockId(), function.index(as.getBlock())),
                                function.threadId());
    function.when(function.less(column, function.size(space.getElements())), [&] {
      Frame top;
      space.bindElement(function, top, column);
      unsigned begin = program.numParallel(), end = program.getRank();
      SmallVector<MixedRadixCounter::Digit> digits;
      for (unsigned dim = begin; dim < end; ++dim) {
        digits.push_back({dim, program.getDomain()[dim]});
      }
      MixedRadixCounter counter(function, digits);
      UnrolledSweep rows{.extent = program.getExtent(begin, end),
                         .thread = function.index(0),
                         .unroll = static_cast<unsigned>(as.getUnroll()),
                         .counter = &counter};
      emitUnrolledSweep(
          function, rows, top, loads, identity(),
          [&](Frame &frame, Value row, ArrayRef<Value> place) {
            if (place.empty()) {
              return emitter.bindLinear(frame, row, begin, end);
            }
            counter.bind(frame, place);
            frame.bind(end - 1, place[digits.size() - 1]);
          },
          [&](ArrayRef<Frame *> frames, ValueRange carried) -> SmallVector<Value> {
            Value total = carried[0];
            for (Frame *frame : frames) {
              total = combine(total, emitter.value(*frame, operand));
              frame->values[scan] = total;
            }
            for (Frame *frame : frames) {
              emitter.computeThenStore(*frame, program.getStores());
            }
            return {total};
          });
    });
  }

  void emitRows() {
    Value thread = function.threadId(), row = function.blockId();
    group = std::min(as.getThreads(), kScanWarp);
    lane = function.rem(thread, function.index(group));
    warp = countWarps(as) > 1 ? function.div(thread, function.index(kScanWarp)) : function.index(0);
    if (as.getBlock() != as.getThreads()) {
      Value count = function.size(program.getExtent(0, program.numParallel()));
      row = function.add(function.mul(row, function.index(as.getBlock() / as.getThreads())),
                         function.div(thread, function.index(as.getThreads())));
      active = function.less(row, count);
      row = function.minimum(row, function.sub(count, function.index(1)));
    }
    Frame top;
    if (program.numParallel()) {
      emitter.bindLinear(top, row, 0, program.numParallel());
    }
    function.either(
        space.isAligned(function, /*wholeChunks=*/true), [&] { sweep(top, true); },
        [&] { sweep(top, false); });
  }

private:
  void sweep(Frame &top, bool vectors) {
    function.setVectorAddresses(vectors ? &space.getVectorAddresses() : nullptr);
    Frame row(&top);
    emitter.hoist(row, roots);
    int64_t share = group * as.getUnroll(), run = share * countWarps(as);
    SizeExpr tiles = space.getChunks().ceilDiv(SizeExpr::constant(program.getContext(), run));
    MixedRadixCounter counter = space.countChunks(function);
    function.loop(function.index(0), function.size(tiles), function.index(1), identity(),
                  [&](Value tile, ValueRange carried) -> SmallVector<Value> {
                    Value first = function.add(function.mul(warp, function.index(share)), lane);
                    first = function.add(function.mul(tile, function.index(run)), first);
                    return {emitTile(row, counter, tile, first, carried[0], vectors)};
                  });
    function.setVectorAddresses(nullptr);
  }

  /// Scans a tile; returns what all tiles so far combine to.
  Value emitTile(Frame &row, const MixedRadixCounter &counter, Value tile, Value first,
                 Value carried, bool vectors) {
    SizeExpr chunks = space.getChunks();
    int64_t share = group * as.getUnroll();
    bool areWhole = chunks.getContentDivisor() % (share * countWarps(as)) == 0;
    std::vector<std::unique_ptr<Frame>> frames;
    SmallVector<Value> inside;
    for (int64_t k = 0; k < as.getUnroll(); ++k) {
      frames.push_back(std::make_unique<Frame>(&row));
      Value chunk = function.add(first, function.index(k * group)), last;
      inside.push_back(Value());
      if (!areWhole) {
        inside.back() = function.less(chunk, function.size(chunks));
        last = function.sub(function.size(chunks), function.index(1));
        chunk = function.minimum(chunk, last);
      }
      Frame &frame = *frames.back();
      space.bindStep(function, frame, counter, chunk, {}, !vectors);
      if (isInPlace) {
        frame.mask =
            emitter.conjunction(loc, frame.mask, function.both(inside.back(), active), frame.lanes);
      }
      for (unsigned id : loads) {
        emitter.value(frame, id);
      }
    }
    // What the elements of each chunk combine to, up to each of them.
    SmallVector<SmallVector<Value>> elements;
    for (auto [frame, isInside] : llvm::zip(frames, inside)) {
      elements.push_back(scanLanes(*frame, isInside));
    }
    // What the chunks of the warp before each combine to; null for nothing.
    SmallVector<Value> before;
    Value total;
    for (ArrayRef<Value> chunk : elements) {
      auto [earlier, all] = scanWarp(chunk.back());
      before.push_back(total ? combine(total, earlier) : earlier);
      total = total ? combine(total, all) : all;
    }
    auto [start, next] = scanWarps(tile, total, carried);
    for (auto [k, frame] : llvm::enumerate(frames)) {
      Value offset = combine(start, before[k]);
      for (Value &element : elements[k]) {
        element = combine(offset, element);
      }
      frame->values[scan] =
          elements[k].size() == 1
              ? elements[k][0]
              : vector::FromElementsOp::create(builder, loc, getLanesType(type, elements[k].size()),
                                               elements[k]);
      function.when(function.both(inside[k], active), [&, &frame = frame] {
        Frame results(frame.get());
        emitter.computeThenStore(results, program.getStores());
      });
    }
    return next;
  }

  SmallVector<Value> scanLanes(Frame &frame, Value isInside) {
    Value values = emitter.lanes(frame, operand);
    if (Value mask = emitter.conjunction(loc, frame.mask, isInside, frame.lanes)) {
      Value neutral = emitter.splat(loc, identity()[0], frame.lanes);
      values = arith::SelectOp::create(builder, loc, mask, values, neutral);
    }
    if (frame.lanes == 1) {
      return {values};
    }
    SmallVector<Value> scanned;
    for (int64_t i = 0; i < frame.lanes; ++i) {
      Value element = vector::ExtractOp::create(builder, loc, values, i);
      scanned.push_back(i ? combine(scanned.back(), element) : element);
    }
    return scanned;
  }

  /// What the threads of the warp before this one, and all of them, combine to.
  std::pair<Value, Value> scanWarp(Value total) {
    Value before = identity()[0];
    for (int64_t distance = 1; distance < group; distance *= 2) {
      Value other = function.shuffle(total, distance);
      Value bit = arith::AndIOp::create(builder, loc, lane, function.index(distance));
      Value isUpper =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, bit, function.index(0));
      before = arith::SelectOp::create(builder, loc, isUpper,
                                       distance == 1 ? other : combine(other, before), before);
      total = combine(total, other);
    }
    return {before, total};
  }

  /// What comes before this warp of the tile, and what comes before the next tile.
  std::pair<Value, Value> scanWarps(Value tile, Value total, Value carried) {
    int64_t warps = countWarps(as);
    if (warps == 1) {
      return {carried, combine(carried, total)};
    }
    Value buffer = function.mul(function.rem(tile, function.index(2)), function.index(warps));
    Value isFirst =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, function.index(0));
    function.when(isFirst, [&] { function.storeShared(0, function.add(buffer, warp), total); });
    function.barrier();
    Value start = carried, next = carried;
    for (int64_t k = 0; k < warps; ++k) {
      Value one = function.loadShared(0, function.add(buffer, function.index(k)), type);
      next = combine(next, one);
      start = arith::SelectOp::create(builder, loc, function.less(function.index(k), warp), next,
                                      start);
    }
    return {start, next};
  }

  SmallVector<Value> identity() {
    return {arith::ConstantOp::create(builder, loc, algebra.identity(0))};
  }
  Value combine(Value x, Value y) {
    return algebra.combine(builder, loc, x, y, [](Value, Value, bool) -> Value {
      llvm_unreachable("scans are sums and products");
    })[0];
  }

  GpuFunction &function;
  const KernelProgram &program;
  Emitter &emitter;
  OpBuilder &builder;
  Location loc;
  const ChunkSpace &space;
  GpuScanAttr as;
  bool isInPlace;
  unsigned scan, operand;
  Type type;
  ReductionAlgebra algebra;
  SmallVector<unsigned> roots, loads;
  int64_t group = 1;
  Value lane, warp, active;
};

} // namespace

LogicalResult mlir::frit::checkFits(const KernelProgram &program, GpuScanAttr as) {
  if (!program.getScan()) {
    return refuseGpuSchedule(program, "is of a scan, and the kernel has none");
  }
  if (as.getThreads() == 1) {
    return checkVectors(program, as.getLane(), as.getWidth(), 0, program.numParallel());
  }
  if (as.getLane() + 1 != program.getRank()) {
    return refuseGpuSchedule(program, "shares rows along d" + Twine(as.getLane()) +
                                          ", the innermost dim of the scan is d" +
                                          Twine(program.getRank() - 1));
  }
  return checkVectors(program, as.getLane(), as.getWidth(), program.numParallel(),
                      program.getRank());
}

void mlir::frit::emitGpuKernel(gpu::GPUModuleOp module, const KernelProgram &program,
                               GpuScanAttr as, KernelDesc &desc, bool isInPlace) {
  bool isColumn = as.getThreads() == 1;
  unsigned parallel = program.numParallel();
  ChunkSpace space(program, isColumn ? 0 : parallel, isColumn ? parallel : program.getRank(),
                   as.getLane(), as.getWidth());
  auto block = static_cast<uint32_t>(as.getBlock());
  GpuFunction function(module, desc.name, program, {.threads = block});
  ScanKernel kernel(function, space, as, isInPlace);
  isColumn ? kernel.emitColumns() : kernel.emitRows();
  function.finish();
  int64_t warps = ScanKernel::countWarps(as);
  addLaunch(desc, desc.name,
            program.getExtent(0, parallel)
                .ceilDiv(SizeExpr::constant(program.getContext(), as.getBlock() / as.getThreads())),
            block, warps > 1 ? static_cast<uint32_t>(2 * 8 * warps) : 0);
}
