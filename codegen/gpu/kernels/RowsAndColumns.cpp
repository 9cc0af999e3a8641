// Row reductions whose kernel also reduces over the rows: the gradients of a norm (a row result for
// its input, column results for weight and bias) in one pass over the tensors that both read.
//
// A group of T threads takes a row, and the groups of a block take neighbouring rows. The blocks
// loop over the rows with a stride of the whole grid, so a thread has the same columns in every
// row. For the whole loop it keeps in registers the values that all rows share (a weight) and, for
// each of its columns, the running result of every reduction over rows. A row is read once: its
// chunks stay in registers through all phases as in RowReduction.cpp, then they are added to the
// columns, then the row's own results are written. Where registers allow for it (`loadsAhead`), the
// group's next two rows are being loaded meanwhile, so memory is busy while threads wait for each
// other. At the end the groups of a block fold their columns through shared memory, in order, and
// the block writes one partial result per column to the workspace. A second launch folds those of
// all blocks, in order, and writes the column results.
//
// The schedule fixes the number of blocks for a device; there are fewer if there are fewer rows,
// but at least one, which leaves the identity if there are no rows. The order of additions does not
// depend on timing, so results are deterministic.
//
// Registers of a thread: its share of a row for every swept operand, for every reduction over rows
// and for every operand that all rows share. passes/schedule/Schedule.cpp keeps them within its
// budget and chooses the threads and blocks; `resident` sets the limit for ptxas, which would
// otherwise use a few registers more and leave room for one block only. Rows have known length and
// whole chunks. Shared memory: the exchanges of a row, followed by block x width x bytes of all
// reductions over rows if a block has several groups. Workspace: 8 bytes per reduction over rows,
// column and block.

#include "codegen/gpu/kernels/Accumulators.h"
#include "codegen/gpu/kernels/ChunkSpace.h"
#include "codegen/gpu/kernels/ColumnParts.h"
#include "codegen/gpu/kernels/Schedules.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::frit;

namespace {

struct Shape {
  /// Threads of a row, and threads of a block.
  uint32_t threads, block;
  /// Chunks of a row that each thread has.
  unsigned chunks;
  /// Partial results of each column: the blocks of the grid.
  SizeExpr parts;
  /// The next two rows are loaded while one is computed.
  bool loadsAhead;

  uint32_t groups() const { return block / threads; }
};

class SweepKernel {
public:
  SweepKernel(GpuFunction &function, const ChunkSpace &space, const Shape &shape, bool isInPlace)
      : function(function), program(function.getProgram()), emitter(function.getEmitter()),
        space(space), shape(shape), isInPlace(isInPlace), across(function, program.getAcross()) {
    for (unsigned id : program.getReduces()) {
      roots.push_back(program[id].operands[0]);
    }
    for (unsigned id : program.getAcross()) {
      roots.push_back(program[id].operands[0]);
    }
    for (const Store &store : program.getStores()) {
      uint32_t dims = store.dims | program[store.node].dims;
      if (dims & program.parallelMask()) {
        (dims & program.reducedMask() ? fullStores : rowStores).push_back(store);
        roots.push_back(store.node);
      }
    }
  }

  /// What differs from row to row and is loaded, at addresses that are not loaded themselves. In
  /// place, a row that another block has overwritten must not be loaded.
  void findLoadsAhead() {
    auto isRead = [](SizeSymbolAttr symbol) { return symbol.isValue(); };
    for (unsigned id : program.reach(roots)) {
      const Node &node = program[id];
      if (shape.loadsAhead && !isInPlace && node.kind == NodeKind::Load &&
          (node.dims & program.parallelMask()) && !node.expr.anySymbol(isRead)) {
        bool isOfRow = !(node.dims & program.reducedMask());
        for (unsigned k = 0; k < (isOfRow ? 1 : shape.chunks); ++k) {
          ahead.push_back({id, isOfRow ? std::nullopt : std::optional(k)});
          aheadTypes.push_back(node.type);
          aheadLanes.push_back(isOfRow ? 1 : space.getWidth());
        }
      }
    }
  }

  void emit() {
    findLoadsAhead();
    lane = function.rem(function.threadId(), function.index(shape.threads));
    group = function.div(function.threadId(), function.index(shape.threads));
    int64_t count = *space.getChunks().getConstant();
    for (unsigned k = 0; k < shape.chunks; ++k) {
      Value chunk = function.add(lane, function.index(int64_t(k) * shape.threads));
      inside.push_back(Value());
      if ((k + 1) * int64_t(shape.threads) > count) {
        inside.back() = function.less(chunk, function.index(count));
        chunk = function.minimum(chunk, function.index(count - 1));
      }
      places.push_back(chunk);
    }
    Value aligned = space.isAligned(function, true);
    if (!aligned) {
      return sweep(space.getWidth() > 1);
    }
    function.choose(
        aligned, {},
        [&]() -> SmallVector<Value> {
          sweep(true);
          return {};
        },
        [&]() -> SmallVector<Value> {
          sweep(false);
          return {};
        });
  }

  static uint32_t getRowBytes(const KernelProgram &program, const Shape &shape) {
    return Accumulators::getSharedBytes(program, shape.block, shape.threads);
  }
  static uint32_t getSharedBytes(const KernelProgram &program, const Shape &shape, unsigned width) {
    uint32_t bytes = getRowBytes(program, shape);
    for (unsigned id : program.getAcross()) {
      bytes += shape.groups() > 1 ? shape.block * width * slotBytes(program[id].type) : 0;
    }
    return bytes;
  }

private:
  static uint32_t slotBytes(Type type) { return type.getIntOrFloatBitWidth() > 32 ? 8 : 4; }

  void sweep(bool vectors) {
    function.setVectorAddresses(vectors ? &space.getVectorAddresses() : nullptr);
    // Values that all rows share are computed once.
    Frame top;
    emitter.hoist(top, roots);
    std::vector<std::unique_ptr<Frame>> common;
    SmallVector<Value> start;
    for (Value place : places) {
      common.push_back(std::make_unique<Frame>(&top));
      space.bindChunk(function, *common.back(), place);
      emitter.hoist(*common.back(), roots);
      llvm::append_range(start, across.identity(space.getWidth()));
    }
    Value groups = function.index(shape.groups()), first = function.mul(function.blockId(), groups);
    Value step = function.mul(function.size(shape.parts), groups);
    SizeExpr rows = program.getExtent(0, program.numParallel());
    auto sweepOne = [&](Value row, ValueRange carried, ValueRange loaded) {
      Value active;
      if (shape.groups() > 1) {
        row = function.add(row, group);
        active = function.less(row, function.size(rows));
        row = function.minimum(row, function.sub(function.size(rows), function.index(1)));
      }
      return sweepRow(top, common, row, active, carried, loaded);
    };
    // Single elements are packed as they come, so they are not ahead.
    if (ahead.empty() || !vectors) {
      leavePartials(
          function.loop(first, function.size(rows), step, start,
                        [&](Value row, ValueRange carried) { return sweepOne(row, carried, {}); }));
      return function.setVectorAddresses(nullptr);
    }
    // A step takes two rows, and loads those of the next step into their registers when they have
    // been used. Registers of their own would be copied at the end, which waits for the loads.
    size_t numColumns = start.size(), numAhead = ahead.size();
    llvm::append_range(start, loadAhead(top, first, {}));
    llvm::append_range(start, loadAhead(top, function.add(first, step), {}));
    Value twoSteps = function.add(step, step);
    auto body = [&](Value row, ValueRange carried) {
      ValueRange own = carried.slice(numColumns, numAhead), others = carried.take_back(numAhead);
      Value other = function.add(row, step);
      SmallVector<Value> sums = sweepOne(row, carried.take_front(numColumns), own);
      SmallVector<Value> next = loadAhead(top, function.add(row, twoSteps), own);
      sums = function.choose(
          function.less(other, function.size(rows)), ValueRange(sums).getTypes(),
          [&] { return sweepOne(other, sums, others); }, [&] { return sums; });
      llvm::append_range(sums, next);
      llvm::append_range(sums, loadAhead(top, function.add(other, twoSteps), others));
      return sums;
    };
    SmallVector<Value> columns = function.loop(first, function.size(rows), twoSteps, start, body);
    leavePartials(ValueRange(columns).take_front(numColumns));
    function.setVectorAddresses(nullptr);
  }

  /// Loads this group's row of the rows from `first`, if there is one; the bits of `ahead`.
  /// `otherwise`: no constants in a loop, or LLVM would unpack the bits in the branch, which waits
  /// for them.
  SmallVector<Value> loadAhead(Frame &top, Value first, ValueRange otherwise) {
    Value number = shape.groups() > 1 ? function.add(first, group) : first;
    Frame row(&top);
    emitter.bindLinear(row, number, 0, program.numParallel());
    SmallVector<std::unique_ptr<Frame>> frames;
    for (unsigned k = 0; k < shape.chunks; ++k) {
      frames.push_back(std::make_unique<Frame>(&row));
      space.bindChunk(function, *frames.back(), places[k]);
    }
    auto frameOf = [&](std::optional<unsigned> chunk) {
      return chunk ? frames[*chunk].get() : &row;
    };
    // Frames outside of the branch below get their values here.
    for (const Ahead &one : ahead) {
      emitter.firstLane(*frameOf(one.chunk), program[one.node].expr);
    }
    Value rows = function.size(program.getExtent(0, program.numParallel()));
    return function.loadBits(function.less(number, rows), aheadTypes, aheadLanes, otherwise, [&] {
      SmallVector<Value> values;
      for (const Ahead &one : ahead) {
        Frame inside(frameOf(one.chunk));
        values.push_back(emitter.value(inside, one.node));
      }
      return values;
    });
  }

  /// Emits all phases of one row; returns the updated running values of the columns.
  SmallVector<Value> sweepRow(Frame &top, ArrayRef<std::unique_ptr<Frame>> common, Value number,
                              Value active, ValueRange carried, ValueRange loaded) {
    Frame row(&top);
    emitter.bindLinear(row, number, 0, program.numParallel());
    if (isInPlace) {
      row.mask = active;
    }
    auto supply = [&](Frame &frame, std::optional<unsigned> chunk) {
      for (auto [one, bits, type, lanes] : llvm::zip(ahead, loaded, aheadTypes, aheadLanes)) {
        if (one.chunk == chunk) {
          frame.values[one.node] = function.fromBits(bits, type, lanes);
        }
      }
    };
    supply(row, std::nullopt);
    emitter.hoist(row, program.getReducedNodes(0));
    std::vector<std::unique_ptr<Frame>> chunks;
    for (unsigned k = 0; k < shape.chunks; ++k) {
      chunks.push_back(std::make_unique<Frame>(&row));
      space.bindChunk(function, *chunks.back(), places[k]);
      chunks.back()->values.insert(common[k]->values.begin(), common[k]->values.end());
      supply(*chunks.back(), k);
      if (isInPlace) {
        chunks.back()->mask = function.both(active, inside[k]);
      }
    }
    unsigned exchanges = 0;
    for (unsigned level = 0; level < program.numPhases(); ++level) {
      Accumulators sums(function, level);
      if (sums.isEmpty()) {
        continue;
      }
      SmallVector<Value> totals = sums.start(space.getWidth());
      for (unsigned k = 0; k < shape.chunks; ++k) {
        totals = sums.accumulate(*chunks[k], totals, inside[k]);
      }
      sums.supply(row, sums.foldThreads(sums.foldLanes(sums.leave(totals, space.getWidth())),
                                        shape.threads));
      ++exchanges;
      emitter.hoist(row, level + 1 < program.numPhases()
                             ? ArrayRef<unsigned>(program.getReducedNodes(level + 1))
                             : roots);
    }
    SmallVector<Value> next;
    unsigned each = across.numValues();
    for (unsigned k = 0; k < shape.chunks; ++k) {
      // Chunks beyond the end of a row are added to columns that are never written.
      llvm::append_range(next,
                         across.accumulate(*chunks[k], carried.slice(k * each, each), active));
    }
    // In place, the first thread of a row overwrites data that the others read, so it waits until
    // all of them have read what they need.
    if (isInPlace && !rowStores.empty()) {
      function.barrier();
    }
    Value isFirst = equals(lane, 0);
    writeWhere(rowStores.empty() ? Value() : function.both(isFirst, active), row, rowStores);
    for (unsigned k = 0; k < shape.chunks; ++k) {
      writeWhere(function.both(active, inside[k]), *chunks[k], fullStores);
    }
    // Two exchanges per row separate each other by their barriers. With a single one, a fast warp
    // could write the slot for the next row while others still read it.
    if (exchanges == 1 && shape.threads > 32) {
      function.barrier();
    }
    return next;
  }

  void writeWhere(Value condition, Frame &outer, ArrayRef<Store> stores) {
    if (stores.empty()) {
      return;
    }
    function.when(condition, [&] {
      Frame frame(&outer);
      emitter.computeThenStore(frame, stores);
    });
  }

  /// Writes the block's result for each column; the first group folds those of the other groups.
  void leavePartials(ValueRange columns) {
    unsigned width = space.getWidth(), each = across.numValues();
    ColumnParts workspace{function, space, shape.parts};
    Value part = function.blockId();
    SmallVector<int64_t> slots;
    int64_t offset = getRowBytes(program, shape);
    for (Type type : across.getTypes()) {
      slots.push_back(offset);
      offset += int64_t(shape.block) * width * slotBytes(type);
    }
    // Lanes are stored a block apart, so neighbouring threads use neighbouring banks.
    auto slotOf = [&](Value owner, Value thread, unsigned lane) {
      Value at = function.add(function.mul(owner, function.index(shape.threads)), thread);
      return function.add(at, function.index(int64_t(lane) * shape.block));
    };
    Value isFirst = shape.groups() > 1 ? equals(group, 0) : Value();
    for (unsigned k = 0; k < shape.chunks; ++k) {
      SmallVector<SmallVector<Value>> lanes(width);
      for (unsigned n = 0; n < width; ++n) {
        for (Value value : columns.slice(k * each, each)) {
          lanes[n].push_back(laneOf(value, n));
        }
      }
      if (shape.groups() > 1) {
        // Waits for the reads of the previous contents of this shared memory.
        function.barrier();
        for (unsigned n = 0; n < width; ++n) {
          for (auto [i, value] : llvm::enumerate(lanes[n])) {
            function.storeShared(slots[i], slotOf(group, lane, n), value);
          }
        }
        function.barrier();
      }
      function.when(function.both(isFirst, inside[k]), [&] {
        Value column = function.mul(places[k], function.index(width));
        for (unsigned n = 0; n < width; ++n) {
          SmallVector<Value> total = lanes[n];
          if (shape.groups() > 1) {
            total = function.loop(
                function.index(1), function.index(shape.groups()), function.index(1), total,
                [&](Value other, ValueRange carried) {
                  SmallVector<Value> theirs;
                  for (auto [i, type] : llvm::enumerate(across.getTypes())) {
                    theirs.push_back(function.loadShared(slots[i], slotOf(other, lane, n), type));
                  }
                  return across.combine(carried, theirs);
                });
          }
          for (auto [i, value] : llvm::enumerate(total)) {
            workspace.store(i, part, function.add(column, function.index(n)), value);
          }
        }
      });
    }
  }

  Value laneOf(Value value, unsigned lane) {
    return space.getWidth() == 1
               ? value
               : Value(vector::ExtractOp::create(function.getBuilder(), function.getLoc(), value,
                                                 static_cast<int64_t>(lane)));
  }

  Value equals(Value a, int64_t b) {
    return arith::CmpIOp::create(function.getBuilder(), function.getLoc(), arith::CmpIPredicate::eq,
                                 a, function.index(b));
  }

  GpuFunction &function;
  const KernelProgram &program;
  Emitter &emitter;
  const ChunkSpace &space;
  const Shape &shape;
  bool isInPlace;
  Accumulators across;
  SmallVector<Store> fullStores, rowStores;
  SmallVector<unsigned> roots;
  /// What is loaded ahead: a node, of one of the thread's chunks or of the row.
  struct Ahead {
    unsigned node;
    std::optional<unsigned> chunk;
  };
  SmallVector<Ahead> ahead;
  SmallVector<Type> aheadTypes;
  SmallVector<unsigned> aheadLanes;
  Value lane, group;
  /// A thread's chunks, and whether each lies inside of the row (null: always).
  SmallVector<Value> places, inside;
};

} // namespace

void mlir::frit::emitGpuKernel(gpu::GPUModuleOp module, const KernelProgram &program,
                               GpuRowsAndColumnsAttr as, KernelDesc &desc, bool isInPlace) {
  ChunkSpace space(program, program.numParallel(), program.getRank(), as.getLane(), as.getWidth());
  SizeExpr one = SizeExpr::constant(program.getContext(), 1),
           rows = program.getExtent(0, program.numParallel());
  Shape shape;
  shape.threads = static_cast<uint32_t>(as.getThreads());
  shape.block = static_cast<uint32_t>(as.getBlock());
  shape.chunks = llvm::divideCeil(*space.getChunks().getConstant(), shape.threads);
  shape.parts = rows.ceilDiv(one * shape.groups()).min(one * as.getParts()).max(one);
  shape.loadsAhead = as.getLoadsAhead();
  desc.workspaceBytes = ColumnParts::bytes(space, shape.parts, program.getAcross().size());

  std::string entry = addLaunch(desc, getNumberedEntry(desc), shape.parts, shape.block,
                                SweepKernel::getSharedBytes(program, shape, space.getWidth()));
  GpuFunction sweep(module, entry, program,
                    {.threads = shape.block,
                     .hasWorkspace = true,
                     .resident = static_cast<uint32_t>(as.getResident())});
  SweepKernel(sweep, space, shape, isInPlace).emit();
  sweep.finish();
  emitColumnFold(module, program, desc, space, shape.parts, program.getAcross(),
                 program.parallelMask());
}
