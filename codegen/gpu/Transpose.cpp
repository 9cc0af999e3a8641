// Pointwise kernels with accesses that are contiguous along two different dims: a transpose, alone or with work around it, or a result
// written both ways. Whatever dim the lanes run along, a warp would read or write some tensor a line an element.
//
// A block of 32 x 8 threads takes a tile of 32 x 32 elements of the two dims. What is contiguous along the other dim than the lanes'
// (`across`) is read along it and goes through shared memory; results that are contiguous along it are computed where everything
// else is at hand, and go the same way back. Every access of global memory is a whole line a warp. Rows of a tile are 33 elements
// apart, so neither direction meets a bank twice, whatever the width of the element. Each thread has four elements: their loads are
// all asked for before the first is used.
//
// Accesses that data or bounds decide are made where they are needed. Partial tiles are masked element by element.
//
// Shared memory: 32 x 33 elements for each tensor that is read or written across. Two barriers at most.

#include "codegen/gpu/Schedules.h"

using namespace mlir;
using namespace mlir::frit;

namespace {

constexpr uint32_t kThreads = 256, kTile = 32, kRows = kThreads / kTile, kPitch = kTile + 1;
constexpr uint32_t kMaxSharedBytes = 48 << 10;

/// Whether lanes along `across` are neighbours in memory and lanes along `lane` are apart.
bool runsAcross(const KernelProgram &program, SizeExpr address, unsigned lane, unsigned across) {
  auto along = program.getStride(address, lane), other = program.getStride(address, across);
  return other && other->isConstant(1) && along && !along->isConstant(0) && !along->isConstant(1);
}

/// What goes through shared memory: loads by node, results by their place among the stores.
struct Staged {
  SmallVector<unsigned> loads, stores;
  uint32_t bytes = 0;

  Staged(const KernelProgram &program, unsigned lane, unsigned across) {
    for (auto [id, node] : llvm::enumerate(program.getNodes())) {
      if (node.kind == NodeKind::Load && node.bounds.empty() && node.operands.empty() &&
          runsAcross(program, node.expr, lane, across)) {
        loads.push_back(id);
        bytes += bytesOf(node.type);
      }
    }
    for (auto [at, store] : llvm::enumerate(program.getStores())) {
      if (runsAcross(program, store.address, lane, across)) {
        stores.push_back(at);
        bytes += bytesOf(program[store.node].type);
      }
    }
  }
  static uint32_t bytesOf(Type element) {
    return (kTile * kPitch * getElementBytes(element) + 15) / 16 * 16;
  }
};

class TransposeKernel {
public:
  TransposeKernel(GpuFunction &function, const Staged &staged, unsigned lane, unsigned across)
      : function(function), program(function.getProgram()), emitter(function.getEmitter()),
        staged(staged), lane(lane), across(across) {}

  static SizeExpr tilesOf(const KernelProgram &program, unsigned dim) {
    return program.getDomain()[dim].ceilDiv(SizeExpr::constant(program.getContext(), kTile));
  }

  void emit() {
    x = function.rem(function.threadId(), function.index(kTile));
    y = function.div(function.threadId(), function.index(kTile));
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
    uint32_t at = 0;
    for (unsigned id : staged.loads) {
      readAcross(top, id, at);
      at += Staged::bytesOf(program[id].type);
    }
    if (!staged.loads.empty()) {
      function.barrier();
    }
    compute(top, at);
    if (!staged.stores.empty()) {
      function.barrier();
    }
    for (unsigned number : staged.stores) {
      const Store &store = program.getStores()[number];
      writeAcross(top, store, at);
      at += Staged::bytesOf(program[store.node].type);
    }
  }

private:
  /// Where a block's tile begins along a dim; `tile` goes on with what is left of the block's number.
  Value takeTile(Value &tile, unsigned dim) {
    Value count = function.size(tilesOf(program, dim)), rest = function.div(tile, count);
    Value own = function.sub(tile, function.mul(rest, count));
    tile = rest;
    return function.mul(own, function.index(kTile));
  }

  /// Runs `body(frame, row of the tile)` for the four elements of a thread that exist, neighbouring threads along `dim`.
  void forOwn(Frame &top, unsigned dim, llvm::function_ref<void(Frame &, Value)> body) {
    bool isAcross = dim == across;
    unsigned other = isAcross ? lane : across;
    Value first = isAcross ? acrossStart : laneStart, second = isAcross ? laneStart : acrossStart;
    Value column = function.add(first, x);
    Value inside = function.less(column, function.size(program.getDomain()[dim]));
    for (unsigned step = 0; step < kTile / kRows; ++step) {
      Value row = function.add(y, function.index(step * kRows));
      Value position = function.add(second, row);
      Value both = function.both(inside, function.less(position, function.size(program.getDomain()[other])));
      Frame frame(&top);
      frame.bind(other, position);
      frame.bindLanes(dim, column, 1, both);
      body(frame, row);
    }
  }

  Value place(Value row, Value column) {
    return function.add(function.mul(row, function.index(kPitch)), column);
  }

  void readAcross(Frame &top, unsigned id, uint32_t at) {
    SmallVector<std::tuple<Value, Value, Value>> read;
    forOwn(top, across, [&](Frame &frame, Value row) {
      read.emplace_back(frame.mask, place(row, x), emitter.value(frame, id));
    });
    for (auto [inside, where, value] : read) {
      function.when(inside, [&, where = where, value = value] { function.storeShared(at, where, value); });
    }
  }

  void compute(Frame &top, uint32_t results) {
    forOwn(top, lane, [&](Frame &frame, Value row) {
      function.when(frame.mask, [&] {
        Frame inner(&frame);
        inner.mask = Value();
        uint32_t at = 0;
        for (unsigned id : staged.loads) {
          inner.values[id] = function.loadShared(at, place(x, row), program[id].type);
          at += Staged::bytesOf(program[id].type);
        }
        SmallVector<Value> values;
        for (const Store &store : program.getStores()) {
          values.push_back(emitter.value(inner, store.node));
        }
        at = results;
        for (auto [number, value] : llvm::enumerate(values)) {
          const Store &store = program.getStores()[number];
          if (!llvm::is_contained(staged.stores, number)) {
            emitter.store(inner, store, value);
            continue;
          }
          function.storeShared(at, place(x, row), value);
          at += Staged::bytesOf(program[store.node].type);
        }
      });
    });
  }

  void writeAcross(Frame &top, const Store &store, uint32_t at) {
    forOwn(top, across, [&](Frame &frame, Value row) {
      function.when(frame.mask, [&] {
        Frame inner(&frame);
        inner.mask = Value();
        emitter.store(inner, store, function.loadShared(at, place(row, x), program[store.node].type));
      });
    });
  }

  GpuFunction &function;
  const KernelProgram &program;
  Emitter &emitter;
  const Staged &staged;
  unsigned lane, across;
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
    return most && *most < kTile / 2;
  };
  std::optional<unsigned> best;
  uint32_t most = 0;
  for (unsigned dim = 0; dim < program.getRank() && !isShort(*lane); ++dim) {
    if (dim == *lane || isShort(dim)) {
      continue;
    }
    Staged staged(program, *lane, dim);
    if (staged.bytes > most && staged.bytes <= kMaxSharedBytes) {
      most = staged.bytes;
      best = dim;
    }
  }
  return best;
}

void mlir::frit::emitGpuTranspose(gpu::GPUModuleOp module, const KernelProgram &program,
                                  KernelDesc &desc, unsigned across) {
  unsigned lane = *program.getLaneDim();
  Staged staged(program, lane, across);
  GpuFunction function(module, desc.name, program, {kThreads, false});
  TransposeKernel(function, staged, lane, across).emit();
  function.finish();

  SizeExpr one = SizeExpr::constant(program.getContext(), 1);
  LaunchDesc launch;
  launch.entry = desc.name;
  launch.block[0] = kThreads;
  SizeExpr tiles = TransposeKernel::tilesOf(program, lane) * TransposeKernel::tilesOf(program, across);
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
