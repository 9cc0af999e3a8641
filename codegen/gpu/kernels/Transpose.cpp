// Pointwise kernels with accesses that are contiguous along two different dims: a transpose, alone
// or fused, or a result written in both orders. Whichever dim the lanes run along, the accesses of
// a warp to some tensor would touch a cache line per element.
//
// A block of 32 x 8 threads takes a tile of 32 x 32 elements of the two dims. Operands that are
// contiguous along the dim across the lanes (`across`) are read along it and go through shared
// memory. Results that are contiguous along it are computed with the others and go through shared
// memory back. A warp accesses whole lines of global memory only. Rows of a tile are 33 elements
// apart, which avoids bank conflicts in both directions for any element width. Each thread has four
// elements and issues their loads before it uses the first.
//
// For elements of one or two bytes, four per thread do not keep memory busy. If sizes, strides and
// pointers are even, a thread takes pairs of neighbours along either dim, and a block a tile of 64
// x 64 in eight steps; otherwise the same tile is done in four parts as above. Shared memory is
// still accessed by single elements: its pitch is an odd number of words for every two rows.
//
// Accesses whose place depends on data or bounds are made directly. Partial tiles are masked by
// element.
//
// Shared memory: 32 x 33 (64 x 66) elements for each staged tensor. Two barriers a tile.

#include "codegen/gpu/kernels/ChunkSpace.h"
#include "codegen/gpu/kernels/Schedules.h"
#include "kernel/StagedAccesses.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::frit;

namespace {

constexpr uint32_t kThreads = kTileColumns * kTileRows;

class TransposeKernel {
public:
  TransposeKernel(GpuFunction &function, const StagedAccesses &staged, unsigned lane,
                  unsigned across, unsigned neighbours)
      : function(function), program(function.getProgram()), emitter(function.getEmitter()),
        builder(function.getBuilder()), staged(staged), lane(lane), across(across),
        neighbours(neighbours) {}

  static SizeExpr tilesOf(const KernelProgram &program, unsigned dim, unsigned neighbours) {
    return program.getDomain()[dim].ceilDiv(
        SizeExpr::constant(program.getContext(), tileOf(neighbours)));
  }

  void emit() {
    x = function.rem(function.threadId(), function.index(kTileColumns));
    y = function.div(function.threadId(), function.index(kTileColumns));
    Value tile = function.blockId();
    laneStart = takeTile(tile, lane);
    acrossStart = takeTile(tile, across);
    Frame top;
    SmallVector<unsigned> others;
    for (unsigned dim = 0; dim < program.getRank(); ++dim) {
      if (dim != lane && dim != across) {
        others.push_back(dim);
      }
    }
    if (!others.empty()) {
      emitter.bindLinear(top, tile, others);
    }
    if (neighbours == 1) {
      return emitTile(top);
    }
    ChunkSpace alongLane(program, 0, program.getRank(), lane, neighbours),
        alongAcross(program, 0, program.getRank(), across, neighbours);
    Value even = function.both(alongLane.isAligned(function, /*wholeChunks=*/true),
                               alongAcross.isAligned(function, /*wholeChunks=*/true));
    function.choose(
        even, {},
        [&] {
          llvm::DenseSet<Attribute> addresses = alongLane.getVectorAddresses();
          addresses.insert_range(alongAcross.getVectorAddresses());
          function.setVectorAddresses(&addresses);
          width = neighbours;
          emitTile(top);
          width = 1;
          function.setVectorAddresses(nullptr);
          return SmallVector<Value>();
        },
        [&] {
          emitParts(top);
          return SmallVector<Value>();
        });
  }

private:
  /// The start of the block's tile along a dim. Divides `tile`, the number of the tile, by the
  /// number of tiles along the dim.
  Value takeTile(Value &tile, unsigned dim) {
    Value count = function.size(tilesOf(program, dim, neighbours)),
          rest = function.div(tile, count);
    Value own = function.sub(tile, function.mul(rest, count));
    tile = rest;
    return function.mul(own, function.index(tileOf(neighbours)));
  }

  /// Does a tile of pairs as several tiles of single elements, one after the other.
  void emitParts(Frame &top) {
    Value zero = function.index(0), one = function.index(1), both = function.index(neighbours),
          edge = function.index(tileOf(1));
    Value lanes = laneStart, rows = acrossStart;
    function.loop(zero, function.index(neighbours * neighbours), one, {},
                  [&](Value part, ValueRange) {
                    laneStart = function.add(lanes, function.mul(function.rem(part, both), edge));
                    acrossStart = function.add(rows, function.mul(function.div(part, both), edge));
                    emitTile(top);
                    function.barrier();
                    return SmallVector<Value>();
                  });
  }

  void emitTile(Frame &top) {
    Frame tile(&top);
    uint32_t at = 0;
    for (unsigned id : staged.loads) {
      readAcross(tile, id, at);
      at += StagedAccesses::bytesOf(program[id].type, neighbours);
    }
    if (!staged.loads.empty()) {
      function.barrier();
    }
    compute(tile, at);
    if (!staged.stores.empty()) {
      function.barrier();
    }
    for (unsigned number : staged.stores) {
      const Store &store = program.getStores()[number];
      writeAcross(tile, store, at);
      at += StagedAccesses::bytesOf(program[store.node].type, neighbours);
    }
  }

  /// Runs `body(frame, row of the tile, whether it is inside)` for all steps of a thread, with
  /// neighbouring threads along `dim`.
  void forOwn(Frame &tile, unsigned dim, llvm::function_ref<void(Frame &, Value, Value)> body) {
    bool isAcross = dim == across;
    unsigned other = isAcross ? lane : across;
    Value first = isAcross ? acrossStart : laneStart, second = isAcross ? laneStart : acrossStart;
    Value column = function.add(first, function.mul(x, function.index(width)));
    Value inside = function.less(column, function.size(program.getDomain()[dim]));
    for (unsigned step = 0; step < tileOf(width) / kTileRows; ++step) {
      Value row = function.add(y, function.index(step * kTileRows));
      Value position = function.add(second, row);
      Value both =
          function.both(inside, function.less(position, function.size(program.getDomain()[other])));
      Frame frame(&tile);
      frame.bind(other, position);
      frame.bindLanes(dim, column, width, emitter.splat(function.getLoc(), both, width));
      frame.isAtMultiple = true;
      body(frame, row, both);
    }
  }

  /// The column (or row) in the tile of one of this thread's neighbours.
  Value own(unsigned neighbour) {
    return function.add(function.mul(x, function.index(width)), function.index(neighbour));
  }

  Value place(Value row, Value column, Type element) {
    return function.add(function.mul(row, function.index(pitchOf(width, getElementBytes(element)))),
                        column);
  }

  void put(uint32_t at, Value value, llvm::function_ref<Value(unsigned)> where) {
    for (unsigned neighbour = 0; neighbour < width; ++neighbour) {
      Value element = width == 1
                          ? value
                          : vector::ExtractOp::create(builder, function.getLoc(), value, neighbour);
      function.storeShared(at, where(neighbour), element);
    }
  }

  Value take(uint32_t at, Type element, llvm::function_ref<Value(unsigned)> where) {
    SmallVector<Value> elements;
    for (unsigned neighbour = 0; neighbour < width; ++neighbour) {
      elements.push_back(function.loadShared(at, where(neighbour), element));
    }
    return width == 1 ? elements.front()
                      : vector::FromElementsOp::create(builder, function.getLoc(),
                                                       getLanesType(element, width), elements);
  }

  void readAcross(Frame &tile, unsigned id, uint32_t at) {
    SmallVector<std::tuple<Value, Value, Value>> read;
    forOwn(tile, across, [&](Frame &frame, Value row, Value inside) {
      read.emplace_back(inside, row, emitter.lanes(frame, id));
    });
    for (auto [inside, row, value] : read) {
      function.when(inside, [&, row = row, value = value] {
        put(at, value,
            [&](unsigned neighbour) { return place(row, own(neighbour), program[id].type); });
      });
    }
  }

  void compute(Frame &tile, uint32_t results) {
    forOwn(tile, lane, [&](Frame &frame, Value row, Value inside) {
      function.when(inside, [&] {
        Frame inner(&frame);
        inner.mask = Value();
        auto turned = [&](Type element) {
          return [this, row, element](unsigned neighbour) {
            return place(own(neighbour), row, element);
          };
        };
        uint32_t at = 0;
        for (unsigned id : staged.loads) {
          inner.values[id] = take(at, program[id].type, turned(program[id].type));
          at += StagedAccesses::bytesOf(program[id].type, neighbours);
        }
        SmallVector<Value> values;
        for (const Store &store : program.getStores()) {
          values.push_back(emitter.lanes(inner, store.node));
        }
        at = results;
        for (auto [number, value] : llvm::enumerate(values)) {
          const Store &store = program.getStores()[number];
          if (!llvm::is_contained(staged.stores, number)) {
            emitter.store(inner, store, value);
            continue;
          }
          Type element = program[store.node].type;
          put(at, value, turned(element));
          at += StagedAccesses::bytesOf(element, neighbours);
        }
      });
    });
  }

  void writeAcross(Frame &tile, const Store &store, uint32_t at) {
    Type element = program[store.node].type;
    forOwn(tile, across, [&](Frame &frame, Value row, Value inside) {
      function.when(inside, [&] {
        Frame inner(&frame);
        inner.mask = Value();
        emitter.store(inner, store, take(at, element, [&](unsigned neighbour) {
                        return place(row, own(neighbour), element);
                      }));
      });
    });
  }

  GpuFunction &function;
  const KernelProgram &program;
  Emitter &emitter;
  OpBuilder &builder;
  const StagedAccesses &staged;
  unsigned lane, across;
  /// Elements that the kernel takes at once along a tile's edge (the edge is 32 times as long).
  /// `width`: the same for the code being emitted, 1 in the parts of a split tile.
  unsigned neighbours, width = 1;
  Value x, y, laneStart, acrossStart;
};

} // namespace

void mlir::frit::emitGpuKernel(gpu::GPUModuleOp module, const KernelProgram &program,
                               GpuTransposeAttr as, KernelDesc &desc, bool) {
  unsigned lane = as.getLane(), across = as.getAcross();
  auto neighbours = static_cast<unsigned>(as.getNeighbours());
  StagedAccesses staged(program, lane, across, neighbours);
  GpuFunction function(module, desc.name, program, {kThreads, false});
  TransposeKernel(function, staged, lane, across, neighbours).emit();
  function.finish();

  SizeExpr one = SizeExpr::constant(program.getContext(), 1);
  LaunchDesc launch;
  launch.entry = desc.name;
  launch.block[0] = kThreads;
  SizeExpr tiles = TransposeKernel::tilesOf(program, lane, neighbours) *
                   TransposeKernel::tilesOf(program, across, neighbours);
  for (unsigned dim = 0; dim < program.getRank(); ++dim) {
    if (dim != lane && dim != across) {
      tiles = tiles * program.getDomain()[dim];
    }
  }
  launch.grid[0] = tiles;
  launch.grid[1] = launch.grid[2] = one;
  launch.sharedBytes = staged.bytes;
  desc.launches.push_back(launch);
}
