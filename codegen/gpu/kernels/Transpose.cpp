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
// Where whole vectors of 16 bytes run along both dims, all accesses of memory are such vectors, and
// a thread turns a square of elements in its registers, which is an instruction for two halves and
// none for floats. A tile is 16 x 16 squares. Half a warp accesses a run of 256 bytes on both
// sides, so a thread turns another square than it loads (or stores) along `across`: the vectors go
// through shared memory in between. Vector `a` of a row of squares `l` lies at `a ^ l` there, which
// spreads both directions over all banks. Other pointers are done in parts as above.
//
// Accesses whose place depends on data or bounds are made directly. Partial tiles are masked by
// element.
//
// Shared memory: 32 x 33 (64 x 66) elements, or 256 squares, for each staged tensor. Two barriers a
// tile.

#include "codegen/gpu/kernels/ChunkSpace.h"
#include "codegen/gpu/kernels/Schedules.h"
#include "kernel/StagedAccesses.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <memory>

using namespace mlir;
using namespace mlir::frit;

namespace {

constexpr uint32_t kThreads = kTileColumns * kTileRows;
static_assert(kThreads == kSquares * kSquares);

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
          neighbours > 2 ? emitSquares(top) : emitTile(top);
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

  using Square = SmallVector<Value>;

  /// Rows of a square as its columns.
  Square turn(ArrayRef<Value> rows) {
    Square columns;
    for (unsigned column = 0; column < width; ++column) {
      SmallVector<Value> elements;
      for (Value row : rows) {
        elements.push_back(vector::ExtractOp::create(builder, function.getLoc(), row, column));
      }
      columns.push_back(
          vector::FromElementsOp::create(builder, function.getLoc(), rows[0].getType(), elements));
    }
    return columns;
  }

  /// A square of the tile, by its number along each edge.
  struct Place {
    Value alongLane, alongAcross;
  };

  /// The first element of a square along a dim.
  Value startOf(unsigned dim, Place square) {
    Value number = dim == across ? square.alongAcross : square.alongLane;
    return function.add(dim == across ? acrossStart : laneStart,
                        function.mul(number, function.index(width)));
  }

  /// The condition that a square, which is whole or beyond the end, is inside; null: always.
  Value isInside(Place square) {
    Value inside;
    for (unsigned dim : {lane, across}) {
      SizeExpr size = program.getDomain()[dim];
      if (size.getContentDivisor() % tileOf(neighbours) != 0) {
        inside = function.both(inside, function.less(startOf(dim, square), function.size(size)));
      }
    }
    return inside;
  }

  /// The rows of a square, of neighbours along `dim`.
  std::vector<std::unique_ptr<Frame>> rowsOf(Frame &tile, unsigned dim, Place square) {
    std::vector<std::unique_ptr<Frame>> rows;
    unsigned other = dim == across ? lane : across;
    for (unsigned row = 0; row < width; ++row) {
      rows.push_back(std::make_unique<Frame>(&tile));
      rows.back()->bind(other, function.add(startOf(other, square), function.index(row)));
      rows.back()->bindLanes(dim, startOf(dim, square), width, Value());
      rows.back()->isAtMultiple = true;
    }
    return rows;
  }

  /// The place of a square's row of neighbours along `across`, in vectors. `swizzled`: of `square`.
  Value placeOf(Place square, Value swizzled, unsigned row) {
    Value number =
        function.add(function.mul(square.alongLane, function.index(width)), function.index(row));
    return function.add(function.mul(number, function.index(kSquares)), swizzled);
  }

  /// Does a tile by squares.
  void emitSquares(Frame &top) {
    Value beside = function.rem(function.threadId(), function.index(kSquares)),
          beyond = function.div(function.threadId(), function.index(kSquares));
    // The square that the thread turns, and the one that it accesses along `across`. The exclusive
    // or of their numbers is the same.
    Place own{beside, beyond}, other{beyond, beside};
    Value swizzled = arith::XOrIOp::create(builder, function.getLoc(), beside, beyond);
    Value isOwn = isInside(own), isOther = isInside(other);
    Frame tile(&top), turned(&top), stored(&top);
    auto rows = rowsOf(tile, lane, own);
    auto put = [&](uint32_t at, Place square, ArrayRef<Value> vectors) {
      for (auto [row, vector] : llvm::enumerate(vectors)) {
        function.storeShared(at, placeOf(square, swizzled, row), vector);
      }
    };
    auto take = [&](uint32_t at, Place square, Type element) {
      Square vectors;
      for (unsigned row = 0; row < width; ++row) {
        vectors.push_back(function.loadShared(at, placeOf(square, swizzled, row), element, width));
      }
      return vectors;
    };
    auto loadOwn = [&] {
      for (const auto &frame : rows) {
        for (auto [id, node] : llvm::enumerate(program.getNodes())) {
          if (node.kind == NodeKind::Load && node.operands.empty() && node.bounds.empty() &&
              !llvm::is_contained(staged.loads, id)) {
            emitter.lanes(*frame, id);
          }
        }
      }
    };
    // All operands of a thread are asked for before the first is used.
    function.when(isOther, [&] {
      auto lines = rowsOf(turned, across, other);
      SmallVector<Square> loaded;
      for (unsigned id : staged.loads) {
        loaded.emplace_back(
            llvm::map_range(lines, [&](const auto &frame) { return emitter.lanes(*frame, id); }));
      }
      if (!isOwn) {
        loadOwn();
      }
      uint32_t at = 0;
      for (auto [id, vectors] : llvm::zip_equal(staged.loads, loaded)) {
        put(at, other, vectors);
        at += StagedAccesses::bytesOf(program[id].type, neighbours);
      }
    });
    if (!staged.loads.empty()) {
      function.barrier();
    }
    uint32_t results = 0;
    function.when(isOwn, [&] {
      loadOwn();
      for (unsigned id : staged.loads) {
        Square columns = turn(take(results, own, program[id].type));
        for (auto [frame, column] : llvm::zip_equal(rows, columns)) {
          frame->values[id] = column;
        }
        results += StagedAccesses::bytesOf(program[id].type, neighbours);
      }
      SmallVector<Square> squares(staged.stores.size());
      for (const auto &frame : rows) {
        for (auto [number, store] : llvm::enumerate(program.getStores())) {
          Value value = emitter.lanes(*frame, store.node);
          auto found = llvm::find(staged.stores, number);
          if (found == staged.stores.end()) {
            emitter.store(*frame, store, value);
          } else {
            squares[found - staged.stores.begin()].push_back(value);
          }
        }
      }
      uint32_t at = results;
      for (const Square &square : squares) {
        put(at, own, turn(square));
        at += StagedAccesses::bytesOf(getElementTypeOrSelf(square[0].getType()), neighbours);
      }
    });
    if (staged.stores.empty()) {
      return;
    }
    function.barrier();
    function.when(isOther, [&] {
      auto lines = rowsOf(stored, across, other);
      for (unsigned number : staged.stores) {
        const Store &store = program.getStores()[number];
        Type element = program[store.node].type;
        for (auto [frame, vector] : llvm::zip_equal(lines, take(results, other, element))) {
          emitter.store(*frame, store, vector);
        }
        results += StagedAccesses::bytesOf(element, neighbours);
      }
    });
  }

  /// Does a tile of several neighbours as tiles of single elements, one after the other.
  void emitParts(Frame &top) {
    int64_t parts = tileOf(neighbours) / tileOf(1);
    Value zero = function.index(0), one = function.index(1), beside = function.index(parts),
          edge = function.index(tileOf(1));
    Value lanes = laneStart, rows = acrossStart;
    function.loop(zero, function.index(parts * parts), one, {}, [&](Value part, ValueRange) {
      laneStart = function.add(lanes, function.mul(function.rem(part, beside), edge));
      acrossStart = function.add(rows, function.mul(function.div(part, beside), edge));
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
  /// Elements that the kernel takes at once along a tile's edge.
  /// `width`: the same for the code being emitted, 1 in the parts of a split tile.
  unsigned neighbours, width = 1;
  Value x, y, laneStart, acrossStart;
};

} // namespace

/// Tiles for any pointers, which leave no vectors to make squares of: pairs of narrow elements.
static unsigned withoutSquares(const KernelProgram &program, unsigned lane, unsigned across) {
  StagedAccesses pairs(program, lane, across, 2);
  return pairs.narrowest <= 2 && pairs.bytes <= kMostTileBytes ? 2 : 1;
}

void mlir::frit::emitGpuKernel(gpu::GPUModuleOp module, const KernelProgram &program,
                               GpuTransposeAttr as, KernelDesc &desc, bool) {
  unsigned lane = as.getLane(), across = as.getAcross();
  auto neighbours = static_cast<unsigned>(as.getNeighbours());
  if (neighbours > 2 && program.getPointers() == PointerAlignment::Any) {
    neighbours = withoutSquares(program, lane, across);
  }
  StagedAccesses staged(program, lane, across, neighbours);
  // A thread of squares loads at least 64 bytes at once. Much arithmetic on them is ordered for
  // more registers than three blocks leave it, with little gain.
  uint32_t resident = neighbours > 2 ? 3 : 1;
  GpuFunction function(module, desc.name, program, {.threads = kThreads, .resident = resident});
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
