// Pointwise kernels with accesses that are contiguous along two different dims: a transpose, alone
// or with work around it, or a result written both ways. Whatever dim the lanes run along, a warp
// would read or write some tensor a line an element.
//
// A block of 32 x 8 threads takes a tile of 32 x 32 elements of the two dims. What is contiguous
// along the other dim than the lanes'
// (`across`) is read along it and goes through shared memory; results that are contiguous along it
// are computed where everything else is at hand, and go the same way back. Every access of global
// memory is a whole line a warp. Rows of a tile are 33 elements apart, so neither direction meets a
// bank twice, whatever the width of the element. Each thread has four elements: their loads are all
// asked for before the first is used.
//
// Of elements of two bytes or one, four are too little to keep memory busy. A thread then takes two
// neighbours at a time, along either dim, and a block a tile of 64 x 64 in eight steps, where
// sizes, strides and pointers are even; otherwise the same tile in four parts, the way above.
// Shared memory is still met an element at a time: its rows are an odd number of words apart at
// every second row.
//
// Accesses that data or bounds decide are made where they are needed. Partial tiles are masked
// element by element.
//
// Shared memory: 32 x 33 (64 x 66) elements for each tensor that is read or written across. Two
// barriers a tile.

#include "codegen/gpu/kernels/ChunkSpace.h"
#include "codegen/gpu/kernels/KernelShapes.h"
#include "codegen/gpu/kernels/Schedules.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::frit;

namespace {

constexpr uint32_t kThreads = 256, kColumns = 32, kRows = kThreads / kColumns;

/// A tile by the number of neighbours that a thread takes at a time.
constexpr uint32_t tileOf(unsigned width) { return kColumns * width; }
/// Elements from one row in shared memory to the next.
constexpr uint32_t pitchOf(unsigned width, unsigned bytes) {
  return tileOf(width) + (width > 1 && bytes == 1 ? 2 : 1);
}

/// Whether lanes along `across` are neighbours in memory and lanes along `lane` are apart.
bool runsAcross(const KernelProgram &program, SizeExpr address, unsigned lane, unsigned across) {
  auto along = program.getStride(address, lane), other = program.getStride(address, across);
  return other && other->isConstant(1) && along && !along->isConstant(0) && !along->isConstant(1);
}

/// What goes through shared memory: loads by node, results by their place among the stores.
struct Staged {
  SmallVector<unsigned> loads, stores;
  /// Of an element: the narrowest and the widest.
  unsigned narrowest = 8, widest = 1;
  uint32_t bytes = 0;

  Staged(const KernelProgram &program, unsigned lane, unsigned across, unsigned width) {
    auto add = [&](Type element) {
      narrowest = std::min(narrowest, getElementBytes(element));
      widest = std::max(widest, getElementBytes(element));
      bytes += bytesOf(element, width);
    };
    for (auto [id, node] : llvm::enumerate(program.getNodes())) {
      if (node.kind == NodeKind::Load && node.bounds.empty() && node.operands.empty() &&
          runsAcross(program, node.expr, lane, across)) {
        loads.push_back(id);
        add(node.type);
      }
    }
    for (auto [at, store] : llvm::enumerate(program.getStores())) {
      if (runsAcross(program, store.address, lane, across)) {
        stores.push_back(at);
        add(program[store.node].type);
      }
    }
  }
  static uint32_t bytesOf(Type element, unsigned width) {
    unsigned bytes = getElementBytes(element);
    return (tileOf(width) * pitchOf(width, bytes) * bytes + 15) / 16 * 16;
  }
};

/// Neighbours that a thread takes at a time. Even where all but the pointers is known, those are
/// tested.
unsigned neighboursOf(const KernelProgram &program, unsigned lane, unsigned across) {
  Staged staged(program, lane, across, 2);
  TileNumbers tile;
  tile.narrowest = staged.narrowest;
  tile.widest = staged.widest;
  tile.bytesOfPairs = staged.bytes;
  tile.lanes = program.getDomain()[lane].getConstant();
  tile.across = program.getDomain()[across].getConstant();
  tile.elements = program.getExtent(0, program.getRank()).getConstant();
  unsigned neighbours = chooseNeighbours(tile);
  auto widthAlong = [&](unsigned dim) {
    return ChunkSpace(program, 0, program.getRank(), dim, neighbours).getWidth();
  };
  return std::min(widthAlong(lane), widthAlong(across));
}

class TransposeKernel {
public:
  TransposeKernel(GpuFunction &function, const Staged &staged, unsigned lane, unsigned across,
                  unsigned neighbours)
      : function(function), program(function.getProgram()), emitter(function.getEmitter()),
        builder(function.getBuilder()), staged(staged), lane(lane), across(across),
        neighbours(neighbours) {}

  static SizeExpr tilesOf(const KernelProgram &program, unsigned dim, unsigned neighbours) {
    return program.getDomain()[dim].ceilDiv(
        SizeExpr::constant(program.getContext(), tileOf(neighbours)));
  }

  void emit() {
    x = function.rem(function.threadId(), function.index(kColumns));
    y = function.div(function.threadId(), function.index(kColumns));
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
  /// Where a block's tile begins along a dim; `tile` goes on with what is left of the block's
  /// number.
  Value takeTile(Value &tile, unsigned dim) {
    Value count = function.size(tilesOf(program, dim, neighbours)),
          rest = function.div(tile, count);
    Value own = function.sub(tile, function.mul(rest, count));
    tile = rest;
    return function.mul(own, function.index(tileOf(neighbours)));
  }

  /// A tile of pairs as tiles of single elements, one after the other.
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
      at += Staged::bytesOf(program[id].type, neighbours);
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
      at += Staged::bytesOf(program[store.node].type, neighbours);
    }
  }

  /// Runs `body(frame, row of the tile, whether it is inside)` for all steps of a thread,
  /// neighbouring threads along `dim`.
  void forOwn(Frame &tile, unsigned dim, llvm::function_ref<void(Frame &, Value, Value)> body) {
    bool isAcross = dim == across;
    unsigned other = isAcross ? lane : across;
    Value first = isAcross ? acrossStart : laneStart, second = isAcross ? laneStart : acrossStart;
    Value column = function.add(first, function.mul(x, function.index(width)));
    Value inside = function.less(column, function.size(program.getDomain()[dim]));
    for (unsigned step = 0; step < tileOf(width) / kRows; ++step) {
      Value row = function.add(y, function.index(step * kRows));
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

  /// Of one of the neighbours of this thread, as a column or a row.
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
          at += Staged::bytesOf(program[id].type, neighbours);
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
          at += Staged::bytesOf(element, neighbours);
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
  const Staged &staged;
  unsigned lane, across;
  /// Elements of a tile's edge are 32 times as many; `width`: those that are taken at a time in
  /// what is being emitted.
  unsigned neighbours, width = 1;
  Value x, y, laneStart, acrossStart;
};

} // namespace

std::optional<unsigned> mlir::frit::findTransposedDim(const KernelProgram &program) {
  std::optional<unsigned> lane = program.getLaneDim();
  if (!lane || !program.getReduces().empty() || program.getRank() < 2) {
    return std::nullopt;
  }
  auto isShort = [&](unsigned dim) {
    auto most = program.getFacts().upperBound(program.getDomain()[dim]);
    return most && *most < tileOf(1) / 2;
  };
  std::optional<unsigned> best;
  uint32_t most = 0;
  for (unsigned dim = 0; dim < program.getRank() && !isShort(*lane); ++dim) {
    if (dim == *lane || isShort(dim)) {
      continue;
    }
    Staged staged(program, *lane, dim, 1);
    if (staged.bytes > most && staged.bytes <= kMostTileBytes) {
      most = staged.bytes;
      best = dim;
    }
  }
  return best;
}

void mlir::frit::emitGpuTranspose(gpu::GPUModuleOp module, const KernelProgram &program,
                                  KernelDesc &desc, unsigned across) {
  unsigned lane = *program.getLaneDim();
  unsigned neighbours = neighboursOf(program, lane, across);
  Staged staged(program, lane, across, neighbours);
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
