// Row reductions: the contiguous dim is reduced, and a group of T threads takes a row.
//
// T is a power of two: 8 to 32 for short rows (several rows a block, shuffles only), 64 to 512 for
// long ones. A thread takes every T-th chunk of the row. Each phase sweeps the row and
// accumulates all reductions of its level in vectors, then folds their lanes, then threads by
// shuffles and, across warps, by one exchange through shared memory. The last sweep writes the full
// results.
//
// A row of known length whose chunks fit (64 registers of loaded values; the width divides the row)
// is register-resident: it is read once and kept through all phases. The frame of each chunk
// outlives its phase, so a later phase finds the loads and everything computed from them instead of
// emitting them again. Longer rows are swept again by each phase, mostly from L2. If the length is
// not known and a row is read again, the kernel has both forms and selects one at run time: rows of
// a few chunks a thread are kept, longer ones swept. Kept rows of the length in the first call have
// a form of their own, in which only the last chunk of a thread may lie outside of the row. A row
// that is not a whole number of chunks is kept by single elements, neighbouring threads on
// neighbouring elements.
//
// Chunks beyond the end of a kept row, and rows beyond the last one, are clamped to a valid one:
// loads need no mask, and what was loaded twice is left out of accumulation and stores. (In place
// these loads are masked, because the owner of the data may be writing it.) Where the row is not
// kept, full results that depend on no reduction are written by the first sweep. Chunks of a swept
// row over several dims of unknown sizes carry their places (MixedRadixCounter.h). Where a row is a
// whole number of chunks and accesses cannot be vectors, the same chunks are read element by
// element, so the order of additions depends on sizes alone. Kept rows of unknown length use one
// code for both cases, with a run-time branch around loads and stores.
//
// Of short rows that are kept, a group may take several. It loads all of them before it uses the
// first, as one row is too little to have in flight.
//
// Rows too long for a block are kept by a cluster of 2, 4 or 8 blocks where the schedule says so
// (sm_90 and newer): chunks are distributed over all threads of the cluster, and the blocks'
// results are folded through their shared memory (Cluster.cpp). Clusters are only used for kept
// rows.
//
// Shared memory: 8 bytes x (warps + blocks of a cluster) x reductions.

#include "codegen/gpu/kernels/Accumulators.h"
#include "codegen/gpu/kernels/ChunkSpace.h"
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
  return program.getSweptLoads(reduced);
}

class RowKernel {
public:
  /// `elements`: the same dims as `space`, in chunks of one element.
  RowKernel(GpuFunction &function, const ChunkSpace &space, const ChunkSpace &elements,
            GpuRowsAttr as, bool isInPlace)
      : function(function), program(function.getProgram()), emitter(function.getEmitter()),
        space(space), elements(elements), loads(getKeptLoads(program)), as(as),
        isInPlace(isInPlace) {
    for (const Store &store : program.getStores()) {
      bool full = (store.dims | program[store.node].dims) & program.reducedMask();
      (full ? fullStores : rowStores).push_back(store);
      roots.push_back(store.node);
    }
    std::tie(earlyStores, lateStores) = splitByTime(program, fullStores, isInPlace);
  }

  void emit() {
    SizeExpr count = program.getExtent(0, program.numParallel());
    lane = function.rem(function.threadId(), function.index(as.getThreads()));
    Value first = function.blockId();
    if (as.getCluster() > 1) {
      Accumulators::beginExchanges(function);
      lane =
          function.add(lane, function.mul(function.clusterRank(), function.index(as.getThreads())));
      first = function.div(first, function.index(as.getCluster()));
    }
    int64_t groups = as.getBlock() / as.getThreads();
    if (groups * as.getRows() > 1) {
      Value inBlock = function.div(function.threadId(), function.index(as.getThreads()));
      first = function.add(function.mul(first, function.index(groups * as.getRows())), inBlock);
    }
    for (int64_t number = 0; number < as.getRows(); ++number) {
      Value at = number ? function.add(first, function.index(number * groups)) : first, active;
      if (groups * as.getRows() > 1) {
        Value all = function.size(count);
        active = function.less(at, all);
        at = function.minimum(at, function.sub(all, function.index(1)));
      }
      tops.emplace_back();
      if (program.numParallel()) {
        emitter.bindLinear(tops.back().frame, at, 0, program.numParallel());
      }
      tops.back().active = active;
    }
    bool isKnown = space.getChunks().getConstant().has_value();
    Value aligned = space.isAligned(function, true);
    if (!aligned && isKnown) {
      return sweepRows(space, space.getWidth() > 1 || as.getKept(), as.getKept());
    }
    if (isKnown || !as.getKept()) {
      return function.either(
          aligned, [&] { sweepRows(space, true, as.getKept()); },
          [&] { sweepRows(space, false, as.getKept()); });
    }
    // The order of additions must depend on sizes alone. It differs between sweeps by elements and
    // by chunks, but not between chunks that are loaded as vectors and those loaded as single
    // elements.
    auto sweepElements = [&] { sweepRows(space, false, 0); };
    auto chooseElements = [&] {
      if (!as.getKeptElements()) {
        return sweepElements();
      }
      Value isKeptSo =
          function.both(space.hasPartialChunk(function), isKept(elements, as.getKeptElements()));
      function.either(
          isKeptSo, [&] { sweepRows(elements, false, as.getKeptElements()); }, sweepElements);
    };
    auto sweepLong = [&] {
      function.either(aligned, [&] { sweepRows(space, true, 0); }, chooseElements);
    };
    Value isWhole = space.dividesEvenly() ? Value() : space.hasWholeChunks(function);
    Value isKeptSo = function.both(isWhole, isKept(space, as.getKept()));
    auto sweepKept = [&](Value areVectors) {
      auto sweepAny = [&] { sweepRows(space, true, as.getKept(), areVectors); };
      if (!as.getUsual()) {
        return sweepAny();
      }
      function.either(
          isUsual(), [&] { sweepRows(space, true, as.getUsual(), areVectors, as.getUsual() - 1); },
          sweepAny);
    };
    if (!as.getKeepsMisaligned()) {
      return function.either(
          function.both(isKeptSo, aligned), [&] { sweepKept(Value()); }, sweepLong);
    }
    function.either(isKeptSo, [&] { sweepKept(aligned); }, sweepLong);
  }

private:
  /// Whether a row of unknown length is not empty and fits into what its threads keep.
  Value isKept(const ChunkSpace &space, unsigned kept) {
    Value chunks = function.size(space.getChunks());
    int64_t most = kept * as.getThreads();
    auto bound = program.sharedBound(space.getChunks());
    Value fits =
        bound && *bound <= most ? Value() : function.less(chunks, function.index(most + 1));
    return function.both(function.less(function.index(0), chunks), fits);
  }

  /// Whether all threads have one chunk less than in rows of the usual length, and some have that
  /// one, too.
  Value isUsual() {
    Value chunks = function.size(space.getChunks());
    int64_t most = as.getUsual() * as.getThreads();
    return function.both(function.less(function.index(most - as.getThreads()), chunks),
                         function.less(chunks, function.index(most + 1)));
  }

  /// A row of this thread: its place, and whether there is such a row (null: always).
  struct Top {
    Frame frame;
    Value active;
  };
  /// The same, for one way through the kernel. `inside`: of each kept chunk, null: always.
  struct Row {
    explicit Row(Top &top) : frame(&top.frame), active(top.active) {}
    Frame frame;
    Value active;
    std::vector<std::unique_ptr<Frame>> chunks;
    SmallVector<Value> inside;
  };

  /// Emits all phases of this thread's rows. `vectors`: chunks are whole, and aligned where
  /// `areVectors` (null: always) holds. `kept`: chunks of `steps` that each thread keeps, of which
  /// `sure` lie inside of a row of unknown length.
  void sweepRows(const ChunkSpace &steps, bool vectors, unsigned kept, Value areVectors = Value(),
                 unsigned sure = 0) {
    function.setVectorAddresses(vectors ? &space.getVectorAddresses() : nullptr, areVectors);
    std::vector<std::unique_ptr<Row>> rows;
    for (Top &top : tops) {
      rows.push_back(std::make_unique<Row>(top));
      keepRow(*rows.back(), steps, kept, sure);
    }
    // All rows are loaded before the first is used.
    for (size_t number = 0; number < rows.size() && rows.size() > 1; ++number) {
      for (auto &chunk : rows[number]->chunks) {
        for (unsigned id : loads) {
          emitter.lanes(*chunk, id);
        }
      }
    }
    for (auto &row : rows) {
      reduceRow(*row, steps, vectors, kept);
    }
    for (auto &row : rows) {
      writeRow(*row, vectors);
    }
    function.setVectorAddresses(nullptr);
  }

  /// Binds the chunks of a row that a thread keeps.
  void keepRow(Row &row, const ChunkSpace &steps, unsigned kept, unsigned sure) {
    if (isInPlace) {
      row.frame.mask = row.active;
    }
    emitter.hoist(row.frame, program.getReducedNodes(0));
    int64_t threads = as.getThreads() * as.getCluster();
    auto known = steps.getChunks().getConstant();
    Value own;
    if (kept && !known) {
      // The number of this thread's chunks replaces a comparison of places for each chunk.
      Value beyond = function.add(function.size(steps.getChunks()), function.index(threads - 1));
      own = function.div(function.sub(beyond, lane), function.index(threads));
    }
    for (unsigned k = 0; k < kept; ++k) {
      row.chunks.push_back(std::make_unique<Frame>(&row.frame));
      Value chunk = function.add(lane, function.index(k * threads));
      row.inside.push_back(Value());
      Value &inside = row.inside.back();
      if (!known) {
        inside = k < sure ? Value() : function.less(function.index(k), own);
      } else if ((k + 1) * threads > *known) {
        Value count = function.size(steps.getChunks());
        inside = function.less(chunk, count);
        chunk = function.minimum(chunk, function.sub(count, function.index(1)));
      }
      steps.bindChunk(function, *row.chunks.back(), chunk);
      if (isInPlace) {
        row.chunks.back()->mask = function.both(row.active, inside);
      }
    }
    if (!known && !isInPlace) {
      loadClamped(steps, row.chunks, row.inside);
    }
  }

  void reduceRow(Row &row, const ChunkSpace &steps, bool vectors, unsigned kept) {
    bool isFirst = true;
    for (unsigned level = 0; level < program.numPhases(); ++level) {
      Accumulators sums(function, level);
      if (sums.isEmpty()) {
        continue;
      }
      SmallVector<Value> totals = sums.start(steps.getWidth(), /*isMasked=*/!kept && !vectors);
      if (kept) {
        SmallVector<Frame *> frames;
        llvm::transform(row.chunks, std::back_inserter(frames),
                        [](const auto &chunk) { return chunk.get(); });
        totals = sums.accumulate(frames, totals, row.inside);
      } else {
        totals = sweepChunks(row, vectors, totals, [&](Frame &frame, ValueRange carried) {
          auto next = sums.accumulate(frame, carried);
          if (level == 0 && !earlyStores.empty()) {
            function.when(row.active, [&] { emitter.computeThenStore(frame, earlyStores); });
          }
          return next;
        });
      }
      totals =
          sums.foldThreads(sums.foldLanes(sums.leave(totals, steps.getWidth())), as.getThreads());
      sums.supply(row.frame, sums.foldCluster(totals, isFirst));
      isFirst = false;
      emitter.hoist(row.frame,
                    level + 1 < program.numPhases() ? program.getReducedNodes(level + 1) : roots);
    }
  }

  void writeRow(Row &row, bool vectors) {
    // In place, the first thread of a row overwrites data that the others read, so it waits until
    // all of them have read what they need.
    if (isInPlace && !rowStores.empty()) {
      as.getCluster() > 1 ? function.clusterBarrier() : function.barrier();
    }
    emitRowStores(row);
    if (!row.chunks.empty()) {
      for (size_t k = 0; k < row.chunks.size() && !fullStores.empty(); ++k) {
        function.when(function.both(row.active, row.inside[k]), [&] {
          Frame frame(row.chunks[k].get());
          emitter.computeThenStore(frame, fullStores);
        });
      }
    } else if (!lateStores.empty()) {
      function.when(row.active, [&] {
        sweepChunks(row, vectors, {}, [&](Frame &frame, ValueRange) -> SmallVector<Value> {
          emitter.computeThenStore(frame, lateStores);
          return {};
        });
      });
    }
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
    Value chunk = function.add(lane, function.index(k * as.getThreads() * as.getCluster()));
    steps.bindChunk(function, place,
                    inside ? Value(arith::SelectOp::create(function.getBuilder(), function.getLoc(),
                                                           inside, chunk, other))
                           : chunk);
  }

  /// Sweeps this thread's chunks of a row.
  SmallVector<Value> sweepChunks(Row &row, bool vectors, ValueRange carried,
                                 llvm::function_ref<SmallVector<Value>(Frame &, ValueRange)> body) {
    MixedRadixCounter counter = space.countChunks(function);
    UnrolledSweep chunks{.extent = space.getChunks(),
                         .thread = lane,
                         .threads = as.getThreads(),
                         .counter = &counter};
    return emitUnrolledSweep(
        function, chunks, row.frame, {}, carried,
        [&](Frame &frame, Value chunk, ArrayRef<Value> place) {
          space.bindStep(function, frame, counter, chunk, place, !vectors);
          if (isInPlace) {
            frame.mask =
                emitter.conjunction(function.getLoc(), frame.mask, row.active, frame.lanes);
          }
        },
        [&](ArrayRef<Frame *> frames, ValueRange now) { return body(*frames.front(), now); });
  }

  /// Stores results without reduced dims; the first thread of the row writes them.
  void emitRowStores(Row &row) {
    if (rowStores.empty()) {
      return;
    }
    Value first = arith::CmpIOp::create(function.getBuilder(), function.getLoc(),
                                        arith::CmpIPredicate::eq, lane, function.index(0));
    function.when(function.both(first, row.active), [&] {
      Frame frame(&row.frame);
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
  GpuRowsAttr as;
  bool isInPlace;
  /// Full results (all of them; those that a sweep writes as it reads, if the row is not kept; the
  /// others), and results without reduced dims.
  SmallVector<Store> fullStores, earlyStores, lateStores, rowStores;
  SmallVector<unsigned> roots;
  Value lane;
  std::vector<Top> tops;
};

} // namespace

void mlir::frit::emitGpuKernel(gpu::GPUModuleOp module, const KernelProgram &program,
                               GpuRowsAttr as, KernelDesc &desc, bool isInPlace) {
  auto spaceOf = [&](unsigned width) {
    return ChunkSpace(program, program.numParallel(), program.getRank(), as.getLane(), width);
  };
  auto block = static_cast<uint32_t>(as.getBlock()),
       cluster = static_cast<uint32_t>(as.getCluster());
  ChunkSpace space = spaceOf(as.getWidth());
  GpuFunction function(
      module, desc.name, program,
      {.threads = block, .cluster = cluster, .resident = static_cast<uint32_t>(as.getResident())});
  RowKernel(function, space, spaceOf(1), as, isInPlace).emit();
  function.finish();

  SizeExpr one = SizeExpr::constant(program.getContext(), 1);
  LaunchDesc launch;
  launch.entry = desc.name;
  launch.block[0] = block;
  SizeExpr rows = program.getExtent(0, program.numParallel());
  launch.grid[0] =
      rows.ceilDiv(one * (as.getBlock() / as.getThreads() * as.getRows())) * as.getCluster();
  launch.cluster = cluster;
  launch.grid[1] = launch.grid[2] = one;
  launch.sharedBytes =
      Accumulators::getSharedBytes(program, block, static_cast<uint32_t>(as.getThreads()), cluster);
  desc.launches.push_back(launch);
}
