#include "codegen/gpu/kernels/Accumulators.h"

#include "ir/Planted.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::frit;

static bool isDeviations(ReduceOp op) { return op.getKind() == ReduceKind::Deviations; }

static SmallVector<unsigned> reducesOf(const KernelProgram &program, unsigned level) {
  SmallVector<unsigned> nodes;
  llvm::copy_if(program.getReduces(), std::back_inserter(nodes),
                [&](unsigned id) { return program[id].level == level; });
  return nodes;
}

bool Accumulators::takesTiles(const KernelProgram &program) {
  return llvm::any_of(program.getReduces(),
                      [&](unsigned id) { return isDeviations(cast<ReduceOp>(program[id].op)); });
}

unsigned Accumulators::countValues(const KernelProgram &program, unsigned levels) {
  unsigned count = 0;
  for (unsigned level = 0; level < levels; ++level) {
    count += countValuesOf(program, reducesOf(program, level));
  }
  return count;
}

unsigned Accumulators::countValuesOf(const KernelProgram &program, ArrayRef<unsigned> nodes) {
  unsigned count = 0;
  for (unsigned id : nodes) {
    count += countCarried(cast<ReduceOp>(program[id].op).getKind());
  }
  return count;
}

uint32_t Accumulators::getSharedBytes(const KernelProgram &program, uint32_t blockThreads,
                                      uint32_t groupThreads, uint32_t clusterBlocks) {
  uint32_t slots = groupThreads <= 32 ? 0 : blockThreads / 32;
  uint32_t exchanges = clusterBlocks > 1 ? program.numPhases() : 0;
  slots += clusterBlocks > 1 ? clusterBlocks : 0;
  return 8 * (slots * countValues(program, program.numPhases()) + exchanges);
}

Accumulators::Accumulators(GpuFunction &function, unsigned level)
    : function(function), builder(function.getBuilder()), loc(function.getLoc()), level(level),
      slot(countValues(function.getProgram(), level)) {
  add(reducesOf(function.getProgram(), level));
}

Accumulators::Accumulators(GpuFunction &function, ArrayRef<unsigned> nodes)
    : function(function), builder(function.getBuilder()), loc(function.getLoc()) {
  add(nodes);
}

void Accumulators::add(ArrayRef<unsigned> nodes) {
  const KernelProgram &program = function.getProgram();
  for (unsigned id : nodes) {
    auto op = cast<ReduceOp>(program[id].op);
    Reduce reduce{id, static_cast<unsigned>(types.size()), countCarried(op.getKind()), op,
                  isArgReduction(op.getKind())};
    for (unsigned which = 0; which < reduce.count; ++which) {
      types.push_back(reduce.isArg && which == 1 ? builder.getI64Type()
                                                 : program[program[id].operands[0]].type);
    }
    reduces.push_back(reduce);
  }
}

static ReductionAlgebra getAlgebra(ReduceOp op, Type element) {
  return {op.getKind(), element, op.getIsUnsigned()};
}

/// The neutral scalar of value `which` of a reduction.
Value Accumulators::startOf(const Reduce &reduce, unsigned which) {
  // All values of a deviation start at zero.
  unsigned part = reduce.isArg ? which : 0;
  return arith::ConstantOp::create(builder, loc,
                                   getAlgebra(reduce.op, types[reduce.first]).identity(part));
}

SmallVector<Value> Accumulators::identity(unsigned lanes) {
  SmallVector<Value> values;
  for (const Reduce &reduce : reduces) {
    for (unsigned which = 0; which < reduce.count; ++which) {
      values.push_back(function.getEmitter().splat(loc, startOf(reduce, which), lanes));
    }
  }
  return values;
}

SmallVector<Value> Accumulators::start(unsigned lanes, bool isMasked) {
  SmallVector<Value> values = identity(lanes);
  for (const Reduce &reduce : reduces) {
    if (isDeviations(reduce.op) && !isMasked) {
      unsigned count = reduce.first + Welford::Count;
      values[count] = startOf(reduce, Welford::Count);
    }
  }
  return values;
}

SmallVector<Value> Accumulators::leave(ValueRange carried, unsigned lanes) {
  SmallVector<Value> values(carried);
  for (const Reduce &reduce : reduces) {
    if (isDeviations(reduce.op)) {
      for (auto [i, value] :
           llvm::enumerate(deviationsOf(reduce).leave(carried.slice(reduce.first, reduce.count)))) {
        values[reduce.first + i] = function.getEmitter().splat(loc, value, lanes);
      }
    }
  }
  return values;
}

Welford Accumulators::deviationsOf(const Reduce &reduce) {
  return {function.getEmitter(), loc, types[reduce.first]};
}

SmallVector<Value> Accumulators::accumulate(Frame &frame, ValueRange carried, Value active) {
  return accumulate(&frame, carried, active, {});
}

SmallVector<Value> Accumulators::accumulate(ArrayRef<Frame *> frames, ValueRange carried,
                                            ArrayRef<Value> active,
                                            llvm::function_ref<void(Frame &)> then) {
  Emitter &emitter = function.getEmitter();
  bool takesTiles =
      llvm::any_of(reduces, [](const Reduce &reduce) { return isDeviations(reduce.op); });
  SmallVector<Value> next(carried), masks;
  std::vector<SmallVector<Value>> tiles(reduces.size());
  for (auto [i, frame] : llvm::enumerate(frames)) {
    Value own = active.empty() ? Value() : active[i];
    next = accumulateOne(*frame, next, own);
    // The mask is emitted before `then`, which may emit values inside a branch.
    masks.push_back(takesTiles ? emitter.conjunction(loc, frame->mask, own, frame->lanes)
                               : Value());
    for (auto [reduce, rows] : llvm::zip_equal(reduces, tiles)) {
      if (isDeviations(reduce.op)) {
        rows.push_back(emitter.lanes(*frame, function.getProgram()[reduce.node].operands[0]));
      }
    }
    if (then) {
      then(*frame);
    }
  }
  for (auto [reduce, rows] : llvm::zip_equal(reduces, tiles)) {
    if (isDeviations(reduce.op)) {
      llvm::copy(deviationsOf(reduce).addTile(ValueRange(next).slice(reduce.first, reduce.count),
                                              rows, masks),
                 next.begin() + reduce.first);
    }
  }
  return next;
}

/// Accumulates one frame for all reductions but those that take whole tiles.
SmallVector<Value> Accumulators::accumulateOne(Frame &frame, ValueRange carried, Value active) {
  const KernelProgram &program = function.getProgram();
  Emitter &emitter = function.getEmitter();
  Value mask = emitter.conjunction(loc, frame.mask, active, frame.lanes);
  SmallVector<Value> next;
  for (const Reduce &reduce : reduces) {
    ValueRange own = carried.slice(reduce.first, reduce.count);
    if (isDeviations(reduce.op)) {
      llvm::append_range(next, own);
      continue;
    }
    SmallVector<Value> taken{emitter.lanes(frame, program[reduce.node].operands[0])};
    if (reduce.isArg) {
      SizeExpr position = SizeExpr::constant(program.getContext(), 0);
      for (unsigned dim = program.numParallel(); dim < program.getRank(); ++dim) {
        position = position * program.getDomain()[dim] + SizeExpr::dim(program.getContext(), dim);
      }
      Value at = emitter.splat(loc, emitter.index(frame, position), frame.lanes);
      Type wide = getLanesType(builder.getI64Type(), frame.lanes);
      taken.push_back(at.getType() == wide ? at : arith::ExtSIOp::create(builder, loc, wide, at));
    }
    for (unsigned which = 0; mask && which < taken.size(); ++which) {
      Value start = emitter.splat(loc, startOf(reduce, which), frame.lanes);
      taken[which] = arith::SelectOp::create(builder, loc, mask, taken[which], start);
    }
    llvm::append_range(next, combineOne(reduce, own, taken));
  }
  return next;
}

SmallVector<Value> Accumulators::combineOne(const Reduce &reduce, ValueRange a, ValueRange b) {
  if (isDeviations(reduce.op)) {
    return deviationsOf(reduce).combine(a, b);
  }
  return getAlgebra(reduce.op, types[reduce.first])
      .combine(builder, loc, a, b, [&](Value x, Value y, bool isMinimum) -> Value {
        return isMinimum ? Value(arith::MinimumFOp::create(builder, loc, x, y))
                         : Value(arith::MaximumFOp::create(builder, loc, x, y));
      });
}

SmallVector<Value> Accumulators::combine(ValueRange a, ValueRange b) {
  SmallVector<Value> next;
  for (const Reduce &reduce : reduces) {
    llvm::append_range(next, combineOne(reduce, a.slice(reduce.first, reduce.count),
                                        b.slice(reduce.first, reduce.count)));
  }
  return next;
}

SmallVector<Value> Accumulators::foldLanes(ValueRange values) {
  auto vector = values.empty() ? VectorType() : dyn_cast<VectorType>(values[0].getType());
  if (!vector) {
    return SmallVector<Value>(values);
  }
  SmallVector<SmallVector<Value>> lanes;
  for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
    SmallVector<Value> scalars;
    for (Value value : values) {
      scalars.push_back(vector::ExtractOp::create(builder, loc, value, lane));
    }
    lanes.push_back(scalars);
  }
  for (size_t half = lanes.size() / 2; half; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) {
      lanes[lane] = combine(lanes[lane], lanes[lane + half]);
    }
  }
  return lanes[0];
}

SmallVector<Value> Accumulators::foldThreads(ValueRange values, uint32_t threads) {
  SmallVector<Value> current(values);
  auto butterfly = [&](uint32_t width) {
    for (uint32_t distance = width / 2; distance; distance /= 2) {
      SmallVector<Value> others;
      for (Value value : current) {
        others.push_back(function.shuffle(value, distance));
      }
      current = combine(current, others);
    }
  };
  butterfly(std::min(threads, 32u));
  if (threads <= 32) {
    return current;
  }
  // One value per warp goes through shared memory; then each warp folds the values of its group.
  uint32_t warps = threads / 32;
  int64_t stride = 8 * (function.getBlockThreads() / 32);
  Value lane = function.rem(function.threadId(), function.index(32));
  Value warp = function.div(function.threadId(), function.index(32));
  Value first =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, function.index(0));
  function.when(first, [&] {
    for (auto [i, value] : llvm::enumerate(current)) {
      function.storeShared((slot + i) * stride, warp, value);
    }
  });
  if (!isPlanted(Mistake::Barrier)) {
    function.barrier();
  }
  Value group = function.mul(function.div(function.threadId(), function.index(threads)),
                             function.index(warps));
  Value at = function.add(group, function.rem(lane, function.index(warps)));
  for (auto [i, value] : llvm::enumerate(current)) {
    value = function.loadShared((slot + i) * stride, at, value.getType());
  }
  butterfly(warps);
  return current;
}

int64_t Accumulators::getClusterSlots(const GpuFunction &function) {
  uint32_t threads = function.getBlockThreads();
  return getSharedBytes(function.getProgram(), threads, threads);
}

int64_t Accumulators::getExchanges(const GpuFunction &function) {
  const KernelProgram &program = function.getProgram();
  return getClusterSlots(function) +
         int64_t(8) * function.getClusterBlocks() * countValues(program, program.numPhases());
}

void Accumulators::beginExchanges(GpuFunction &function) {
  SmallVector<int64_t> bytes;
  for (unsigned level = 0; level < function.getProgram().numPhases(); ++level) {
    int64_t each = 0;
    Accumulators accumulators(function, level);
    for (Type type : accumulators.getTypes()) {
      each += type.getIntOrFloatBitWidth() > 32 ? 8 : 4;
    }
    bytes.push_back(each * function.getClusterBlocks());
  }
  function.beginExchanges(getExchanges(function), bytes);
}

SmallVector<Value> Accumulators::foldCluster(ValueRange values, bool isFirst) {
  uint32_t blocks = function.getClusterBlocks();
  if (blocks == 1) {
    return SmallVector<Value>(values);
  }
  int64_t start = getClusterSlots(function), stride = 8 * blocks,
          exchanges = getExchanges(function);
  if (isFirst) {
    function.awaitPartners();
  }
  // Thread k writes this block's value into block k.
  Value target = function.threadId(), rank = function.clusterRank();
  function.when(function.less(target, function.index(blocks)), [&] {
    for (auto [i, value] : llvm::enumerate(values)) {
      function.send(start + (slot + i) * stride, rank, value, target, exchanges, level);
    }
  });
  function.awaitExchange(exchanges, level);
  SmallVector<Value> current;
  for (uint32_t block = 0; block < blocks; ++block) {
    SmallVector<Value> one;
    for (auto [i, value] : llvm::enumerate(values)) {
      one.push_back(
          function.loadShared(start + (slot + i) * stride, function.index(block), value.getType()));
    }
    current = block == 0 ? one : combine(current, one);
  }
  return current;
}

void Accumulators::supply(Frame &frame, ValueRange values) {
  for (const Reduce &reduce : reduces) {
    ValueRange own = values.slice(reduce.first, reduce.count);
    frame.values[reduce.node] =
        isDeviations(reduce.op) ? deviationsOf(reduce).squares(own) : own[reduce.isArg ? 1 : 0];
  }
}
