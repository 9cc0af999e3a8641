// Row reductions: the contiguous dim is reduced, and a group of T threads takes a row.
//
// T is a power of two: 8 to 32 for short rows (several rows a block, shuffles only), 64 to 512 for
// long ones, or the schedule's `lanes`; for rows of unknown length it follows the length that the
// schedule expects. A thread takes every T-th chunk of the row. Each phase sweeps the row and
// accumulates all reductions of its level in vectors, then folds their lanes, then threads by
// shuffles and, across warps, by one exchange through shared memory. The last sweep writes the full
// results.
//
// A row of known length whose chunks fit (64 registers of loaded values; the width divides the row)
// is register-resident: it is read once and kept through all phases. The frame of each chunk
// outlives its phase, so a later phase finds the loads and everything computed from them instead of
// emitting them again. Longer rows are swept again by each phase, mostly from L2. If the length is
// not known and a row is read again, the kernel has both forms and selects one at run time: rows of
// a few chunks a thread are kept, longer ones swept. A row that is not a whole number of chunks is
// kept by single elements, neighbouring threads on neighbouring elements.
//
// Chunks beyond the end of a kept row, and rows beyond the last one, are clamped to a valid one:
// loads need no mask, and what was loaded twice is left out of accumulation and stores. (In place
// these loads are masked, because the owner of the data may be writing it.) Where the row is not
// kept, full results that depend on no reduction are written by the first sweep. Chunks of a swept
// row over several dims of unknown sizes carry their places (Odometer.h). Where a row is a whole
// number of chunks and accesses cannot be vectors, the same chunks are read element by element, so
// the order of additions depends on sizes alone. Kept rows of unknown length use one code for both
// cases, with a run-time branch around loads and stores.
//
// Rows too long for a block are kept by a cluster of 2, 4 or 8 blocks where the schedule says so
// (sm_90 and newer): chunks are distributed over all threads of the cluster, and the blocks'
// results are folded through their shared memory (Cluster.cpp). Clusters are only used for kept
// rows.
//
// Shared memory: 8 bytes x (warps + blocks of a cluster) x reductions.

#include "codegen/gpu/kernels/Accumulators.h"
#include "codegen/gpu/kernels/ChunkSpace.h"
#include "codegen/gpu/kernels/KernelShapes.h"
#include "codegen/gpu/kernels/Schedules.h"
#include "codegen/gpu/kernels/UnrolledSweep.h"

using namespace mlir;
using namespace mlir::frit;

std::pair<SmallVector<Store>, SmallVector<Store>>
mlir::frit::splitByTime(const KernelProgram &program, ArrayRef<Store> stores, bool isInPlace) {
  auto isEarly = [&](const Store &store) { return program.getPhase(store.node) == 0; };
  bool isReadAgain = program.numPhases() > 1 || !llvm::all_of(stores, isEarly);
  std::pair<SmallVector<Store>, SmallVector<Store>> parts;
  for (const Store &store : stores) {
    (isEarly(store) && !(isInPlace && isReadAgain) ? parts.first : parts.second).push_back(store);
  }
  return parts;
}

bool mlir::frit::isReadAgain(const KernelProgram &program) {
  return program.numPhases() > 1 || llvm::any_of(program.getStores(), [&](const Store &store) {
           return ((store.dims | program[store.node].dims) & program.reducedMask()) &&
                  program[store.node].level > 0;
         });
}

namespace {

/// Single elements that a thread loads at once to assemble vectors from.
constexpr size_t kElementsAtOnce = 32;

/// The loads of reduced operands. Operands of the last sweep alone (a weight, a bias) are not kept
/// through the phases.
SmallVector<unsigned> getKeptLoads(const KernelProgram &program) {
  SmallVector<unsigned> reduced;
  for (unsigned id : program.getReduces()) {
    reduced.push_back(program[id].operands[0]);
  }
  return getSweptLoads(program, reduced);
}

/// The most values of an element of a kept row that stay live from one phase to a later one.
unsigned countWaiting(const KernelProgram &program) {
  unsigned phases = program.numPhases();
  SmallVector<unsigned> computed(program.getNodes().size(), phases + 1),
      used(program.getNodes().size(), 0);
  for (unsigned phase = 0; phase <= phases; ++phase) {
    SmallVector<unsigned> roots =
        phase < phases ? program.getReducedNodes(phase) : SmallVector<unsigned>();
    for (const Store &store : program.getStores()) {
      if (phase == phases && program[store.node].kind != NodeKind::Reduce) {
        roots.push_back(store.node);
      }
    }
    for (unsigned id : program.reach(roots)) {
      if (computed[id] > phases) {
        computed[id] = phase;
        for (unsigned operand : program[id].operands) {
          used[operand] = phase;
        }
      }
    }
    for (unsigned root : roots) {
      used[root] = phase;
    }
  }
  unsigned most = 0;
  for (unsigned phase = 1; phase <= phases; ++phase) {
    unsigned waiting = 0;
    for (auto [id, node] : llvm::enumerate(program.getNodes())) {
      bool isValue = llvm::is_contained(
          {NodeKind::Load, NodeKind::Apply, NodeKind::Select, NodeKind::Random}, node.kind);
      waiting += isValue && (node.dims & program.reducedMask()) && computed[id] < phase &&
                 used[id] >= phase;
    }
    most = std::max(most, waiting);
  }
  return most;
}

RowShape chooseShape(const KernelProgram &program, const ChunkSpace &space) {
  KernelOp kernel = program.getKernel();
  RowNumbers row;
  row.chunks = space.getChunks().getConstant();
  row.mostChunks = row.chunks ? std::nullopt : program.sharedBound(space.getChunks());
  row.rows = program.getExtent(0, program.numParallel()).getConstant();
  row.hasWholeChunks = space.dividesEvenly();
  row.isReadAgain = isReadAgain(program);
  row.width = space.getWidth();
  SmallVector<unsigned> loads = getKeptLoads(program);
  row.loads = loads.size();
  row.values = countWaiting(program);
  row.isWide =
      llvm::any_of(loads, [&](unsigned id) { return getElementBytes(program[id].type) > 4; });
  row.lanes = getScheduled(kernel, "lanes", 0);
  row.threads = getScheduled(kernel, "threads", row.threads);
  row.vector = getScheduled(kernel, "vector", space.getWidth());
  row.cluster = getScheduled(kernel, "cluster", 1);
  return shapeRows(row);
}

class RowKernel {
public:
  /// `elements`: the same dims as `space`, in chunks of one element.
  RowKernel(GpuFunction &function, const ChunkSpace &space, const ChunkSpace &elements,
            RowShape shape, bool isInPlace)
      : function(function), program(function.getProgram()), emitter(function.getEmitter()),
        space(space), elements(elements), loads(getKeptLoads(program)), shape(shape),
        isInPlace(isInPlace) {
    for (const Store &store : program.getStores()) {
      bool full = (store.dims | program[store.node].dims) & program.reducedMask();
      (full ? fullStores : rowStores).push_back(store);
      roots.push_back(store.node);
    }
    std::tie(earlyStores, lateStores) = splitByTime(program, fullStores, isInPlace);
  }

  void emit() {
    SizeExpr rows = program.getExtent(0, program.numParallel());
    lane = function.rem(function.threadId(), function.index(shape.threads));
    Value row = function.blockId();
    if (shape.cluster > 1) {
      lane =
          function.add(lane, function.mul(function.clusterRank(), function.index(shape.threads)));
      row = function.div(row, function.index(shape.cluster));
    }
    if (shape.block != shape.threads) {
      Value inBlock = function.div(function.threadId(), function.index(shape.threads));
      row = function.add(function.mul(row, function.index(shape.block / shape.threads)), inBlock);
      Value count = function.size(rows);
      active = function.less(row, count);
      row = function.minimum(row, function.sub(count, function.index(1)));
    }
    Frame top;
    if (program.numParallel()) {
      emitter.bindLinear(top, row, 0, program.numParallel());
    }
    bool isKnown = space.getChunks().getConstant().has_value();
    Value aligned = space.isAligned(function, true);
    if (!aligned && isKnown) {
      return sweepRow(top, space, space.getWidth() > 1 || shape.kept, shape.kept);
    }
    if (isKnown || !shape.kept) {
      return function.either(
          aligned, [&] { sweepRow(top, space, true, shape.kept); },
          [&] { sweepRow(top, space, false, shape.kept); });
    }
    // The order of additions must depend on sizes alone. It differs between sweeps by elements and
    // by chunks, but not between chunks that are loaded as vectors and those loaded as single
    // elements.
    auto sweepElements = [&] { sweepRow(top, space, false, 0); };
    auto chooseElements = [&] {
      if (!shape.keptElements) {
        return sweepElements();
      }
      Value isKeptSo =
          function.both(space.hasPartialChunk(function), isKept(elements, shape.keptElements));
      function.either(
          isKeptSo, [&] { sweepRow(top, elements, false, shape.keptElements); }, sweepElements);
    };
    auto sweepLong = [&] {
      function.either(aligned, [&] { sweepRow(top, space, true, 0); }, chooseElements);
    };
    Value isWhole = space.dividesEvenly() ? Value() : space.hasWholeChunks(function);
    Value isKeptSo = function.both(isWhole, isKept(space, shape.kept));
    // With several results, a vector and a scalar form of each store would take registers that a
    // second block of 512 threads needs (64 become 67 for add + RMS norm on sm_100), so misaligned
    // rows are swept.
    if (KernelOp kernel = program.getKernel(); kernel.getResultTypes().size() > 1) {
      return function.either(
          function.both(isKeptSo, aligned), [&] { sweepRow(top, space, true, shape.kept); },
          sweepLong);
    }
    function.either(isKeptSo, [&] { sweepRow(top, space, true, shape.kept, aligned); }, sweepLong);
  }

private:
  /// Whether a row of unknown length is not empty and fits into what its threads keep.
  Value isKept(const ChunkSpace &space, unsigned kept) {
    Value chunks = function.size(space.getChunks());
    int64_t most = int64_t(kept) * shape.threads;
    auto bound = program.sharedBound(space.getChunks());
    Value fits =
        bound && *bound <= most ? Value() : function.less(chunks, function.index(most + 1));
    return function.both(function.less(function.index(0), chunks), fits);
  }

  /// Emits all phases of one row. `vectors`: chunks are whole, and aligned where `areVectors`
  /// (null: always) holds. `kept`: chunks of `steps` that each thread keeps.
  void sweepRow(Frame &top, const ChunkSpace &steps, bool vectors, unsigned kept,
                Value areVectors = Value()) {
    function.setVectorAddresses(vectors ? &space.getVectorAddresses() : nullptr, areVectors);
    Frame row(&top);
    if (isInPlace) {
      row.mask = active;
    }
    emitter.hoist(row, program.getReducedNodes(0));
    std::vector<std::unique_ptr<Frame>> chunks;
    SmallVector<Value> inside;
    int64_t threads = int64_t(shape.threads) * shape.cluster;
    auto known = steps.getChunks().getConstant();
    Value own;
    if (kept && !known) {
      // The number of this thread's chunks replaces a comparison of places for each chunk.
      Value beyond = function.add(function.size(steps.getChunks()), function.index(threads - 1));
      own = function.div(function.sub(beyond, lane), function.index(threads));
    }
    for (unsigned k = 0; k < kept; ++k) {
      chunks.push_back(std::make_unique<Frame>(&row));
      Value chunk = function.add(lane, function.index(k * threads));
      inside.push_back(Value());
      if (!known) {
        inside.back() = function.less(function.index(k), own);
      } else if ((k + 1) * threads > *known) {
        Value count = function.size(steps.getChunks());
        inside.back() = function.less(chunk, count);
        chunk = function.minimum(chunk, function.sub(count, function.index(1)));
      }
      steps.bindChunk(function, *chunks.back(), chunk);
      if (isInPlace) {
        chunks.back()->mask = function.both(active, inside.back());
      }
    }
    if (!known && !isInPlace) {
      loadClamped(steps, chunks, inside);
    }
    bool isFirst = true;
    for (unsigned level = 0; level < program.numPhases(); ++level) {
      Accumulators sums(function, level);
      if (sums.isEmpty()) {
        continue;
      }
      SmallVector<Value> totals = sums.start(steps.getWidth(), /*isMasked=*/!kept && !vectors);
      if (kept) {
        SmallVector<Frame *> frames;
        llvm::transform(chunks, std::back_inserter(frames),
                        [](const auto &chunk) { return chunk.get(); });
        totals = sums.accumulate(frames, totals, inside);
      } else {
        totals = sweepChunks(row, vectors, totals, [&](Frame &frame, ValueRange carried) {
          auto next = sums.accumulate(frame, carried);
          if (level == 0 && !earlyStores.empty()) {
            function.when(active, [&] { writeChunk(frame, earlyStores); });
          }
          return next;
        });
      }
      totals =
          sums.foldThreads(sums.foldLanes(sums.leave(totals, steps.getWidth())), shape.threads);
      sums.supply(row, sums.foldCluster(totals, isFirst));
      isFirst = false;
      emitter.hoist(row,
                    level + 1 < program.numPhases() ? program.getReducedNodes(level + 1) : roots);
    }
    // In place, the first thread of a row overwrites data that the others read, so it waits until
    // all of them have read what they need.
    if (isInPlace && !rowStores.empty()) {
      shape.cluster > 1 ? function.clusterBarrier() : function.barrier();
    }
    emitRowStores(row);
    if (kept) {
      for (unsigned k = 0; k < kept && !fullStores.empty(); ++k) {
        function.when(function.both(active, inside[k]), [&] {
          Frame frame(chunks[k].get());
          writeChunk(frame, fullStores);
        });
      }
    } else if (!lateStores.empty()) {
      function.when(active, [&] {
        sweepChunks(row, vectors, {}, [&](Frame &frame, ValueRange) -> SmallVector<Value> {
          writeChunk(frame, lateStores);
          return {};
        });
      });
    }
    function.setVectorAddresses(nullptr);
  }

  /// Loads the reductions' operands of chunks that may lie outside of the row; for those, of
  /// another chunk inside of it. The clamped places are used for these loads only, so they are not
  /// kept in registers afterwards.
  void loadClamped(const ChunkSpace &steps, ArrayRef<std::unique_ptr<Frame>> chunks,
                   ArrayRef<Value> inside) {
    bool haveTwoForms = function.hasVectorCondition();
    auto isEither = [&](unsigned id) {
      return haveTwoForms && space.getVectorAddresses().contains(program[id].expr.getAttr());
    };
    std::vector<std::unique_ptr<Frame>> places;
    for (auto [k, frame] : llvm::enumerate(chunks)) {
      places.push_back(std::make_unique<Frame>(frame->outer));
      bindClamped(steps, k, inside[k], *places.back());
      for (unsigned id : loads) {
        if (!isEither(id)) {
          frame->values[id] = emitter.value(*places.back(), id);
        }
      }
    }
    SmallVector<unsigned> either = llvm::filter_to_vector(loads, isEither);
    if (either.empty()) {
      return;
    }
    // A single element takes a whole register until it is packed into a vector.
    size_t most = std::max<size_t>(kElementsAtOnce / (either.size() * steps.getWidth()), 1);
    for (size_t first = 0; first < chunks.size(); first += most) {
      size_t end = std::min(first + most, chunks.size());
      SmallVector<Type> types;
      for (size_t k = first; k < end; ++k) {
        for (unsigned id : either) {
          types.push_back(program[id].type);
          emitter.firstLane(*places[k], program[id].expr);
        }
      }
      SmallVector<Value> values = function.loadEither(types, steps.getWidth(), [&] {
        SmallVector<Value> loaded;
        for (size_t k = first; k < end; ++k) {
          Frame way(places[k].get());
          llvm::append_range(
              loaded, llvm::map_range(either, [&](unsigned id) { return emitter.value(way, id); }));
        }
        return loaded;
      });
      for (auto [i, value] : llvm::enumerate(values)) {
        chunks[first + i / either.size()]->values[either[i % either.size()]] = value;
      }
    }
  }

  void bindClamped(const ChunkSpace &steps, unsigned k, Value inside, Frame &place) {
    // Many chunks of a short row may lie outside. Each is replaced by another chunk, so that a
    // warp's loads of them are broadcasts from different cache lines.
    Value last = function.sub(function.size(steps.getChunks()), function.index(1));
    Value other = function.sub(last, function.minimum(function.index(k), last));
    Value chunk = function.add(lane, function.index(int64_t(k) * shape.threads * shape.cluster));
    steps.bindChunk(
        function, place,
        arith::SelectOp::create(function.getBuilder(), function.getLoc(), inside, chunk, other));
  }

  /// Sweeps this thread's chunks of a row.
  SmallVector<Value> sweepChunks(Frame &row, bool vectors, ValueRange carried,
                                 llvm::function_ref<SmallVector<Value>(Frame &, ValueRange)> body) {
    Odometer odometer = space.countChunks(function);
    UnrolledSweep chunks{.extent = space.getChunks(),
                         .thread = lane,
                         .threads = shape.threads,
                         .odometer = &odometer};
    return emitUnrolledSweep(
        function, chunks, row, {}, carried,
        [&](Frame &frame, Value chunk, ArrayRef<Value> place) {
          space.bindStep(function, frame, odometer, chunk, place, !vectors);
          if (isInPlace) {
            frame.mask = emitter.conjunction(function.getLoc(), frame.mask, active, frame.lanes);
          }
        },
        [&](ArrayRef<Frame *> frames, ValueRange now) { return body(*frames.front(), now); });
  }

  void writeChunk(Frame &frame, ArrayRef<Store> stores) {
    SmallVector<Value> values;
    for (const Store &store : stores) {
      values.push_back(emitter.value(frame, store.node));
    }
    for (auto [store, value] : llvm::zip(stores, values)) {
      emitter.store(frame, store, value);
    }
  }

  /// Stores results without reduced dims; the first thread of the row writes them.
  void emitRowStores(Frame &row) {
    if (rowStores.empty()) {
      return;
    }
    Value first = arith::CmpIOp::create(function.getBuilder(), function.getLoc(),
                                        arith::CmpIPredicate::eq, lane, function.index(0));
    function.when(function.both(first, active), [&] {
      Frame frame(&row);
      for (const Store &store : rowStores) {
        emitter.store(frame, store, emitter.value(frame, store.node));
      }
    });
  }

  GpuFunction &function;
  const KernelProgram &program;
  Emitter &emitter;
  const ChunkSpace &space, &elements;
  SmallVector<unsigned> loads;
  RowShape shape;
  bool isInPlace;
  /// Full results (all of them; those that a sweep writes as it reads, if the row is not kept; the
  /// others), and results without reduced dims.
  SmallVector<Store> fullStores, earlyStores, lateStores, rowStores;
  SmallVector<unsigned> roots;
  Value lane, active;
};

} // namespace

void mlir::frit::emitGpuRowReduction(gpu::GPUModuleOp module, const KernelProgram &program,
                                     KernelDesc &desc, bool isInPlace) {
  std::optional<unsigned> lane = program.getLaneDim();
  if (!lane || *lane < program.numParallel()) {
    lane = program.getRank() - 1;
  }
  unsigned width = chooseWidth(program, *lane);
  auto spaceOf = [&](unsigned lanes) {
    return ChunkSpace(program, program.numParallel(), program.getRank(), *lane, lanes);
  };
  // The chunks of a row of known length must be whole to be kept, with a smaller width if need be.
  unsigned whole = width;
  while (whole > 1 && program.getDomain()[*lane].getContentDivisor() % whole != 0) {
    whole /= 2;
  }
  bool isNarrower =
      whole != width && program.getExtent(program.numParallel(), program.getRank()).getConstant();
  ChunkSpace space =
      spaceOf(isNarrower && chooseShape(program, spaceOf(whole)).kept ? whole : width);
  RowShape shape = chooseShape(program, space);
  GpuFunction function(module, desc.name, program, {shape.block, false, shape.cluster});
  RowKernel(function, space, spaceOf(1), shape, isInPlace).emit();
  function.finish();

  SizeExpr one = SizeExpr::constant(program.getContext(), 1);
  LaunchDesc launch;
  launch.entry = desc.name;
  launch.block[0] = shape.block;
  SizeExpr rows = program.getExtent(0, program.numParallel());
  launch.grid[0] = rows.ceilDiv(one * (shape.block / shape.threads)) * shape.cluster;
  launch.cluster = shape.cluster;
  launch.grid[1] = launch.grid[2] = one;
  launch.sharedBytes =
      Accumulators::getSharedBytes(program, shape.block, shape.threads, shape.cluster);
  desc.launches.push_back(launch);
}
