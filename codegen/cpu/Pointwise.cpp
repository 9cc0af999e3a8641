#include "codegen/cpu/CpuSchedules.h"
#include "codegen/cpu/Loops.h"

#include <numeric>

using namespace mlir;
using namespace mlir::frit;

/// Stretches are long enough to hide a unit's start and a multiple of every lane
/// count and cache line.
static constexpr int64_t kStretch = 4096;

/// Rows of a tile that transposes: with 16 of them every line that a gather touches
/// is used whole before it leaves the cache.
static constexpr int64_t kTileRows = 16;

/// A dim along which an operand is contiguous that is not contiguous along the lanes.
static std::optional<unsigned> chooseTileDim(const KernelProgram &program, unsigned lane) {
  for (const Node &node : program.getNodes()) {
    auto along = node.kind == NodeKind::Load ? program.getStride(node.expr, lane) : std::nullopt;
    if (!along || along->isConstant(0) || along->isConstant(1)) {
      continue;
    }
    for (unsigned dim = 0; dim < program.getRank(); ++dim) {
      auto stride = program.getStride(node.expr, dim);
      if (dim != lane && stride && stride->isConstant(1)) {
        return dim;
      }
    }
  }
  return std::nullopt;
}

void CpuKernel::addLaunch(StringRef entry, SizeExpr units, int64_t grain) const {
  LaunchDesc launch;
  launch.entry = entry.str();
  launch.units = units;
  launch.grain = grain;
  desc.launches.push_back(std::move(launch));
}

void mlir::frit::emitPointwise(const CpuKernel &kernel) {
  const KernelProgram &program = kernel.program;
  MLIRContext *context = program.getContext();
  CpuFunction f(kernel.module, kernel.entryName(), program, kernel.cpu);
  Emitter emitter(program, f, f.getBuilder());
  SmallVector<unsigned> roots =
      llvm::map_to_vector(program.getStores(), [](const Store &store) { return store.node; });
  auto write = [&](Frame &frame) { emitter.storeAll(frame, program.getStores()); };
  SizeExpr one = SizeExpr::constant(context, 1);
  // Nothing is written, and what would be read ahead of a loop is not there.
  if (llvm::any_of(program.getDomain(), [](SizeExpr size) { return size.isConstant(0); })) {
    f.finish();
    kernel.addLaunch(kernel.entryName(), SizeExpr::constant(context, 0), 1);
    return;
  }
  auto lane = chooseLaneDim(program);
  if (!lane) {
    Frame frame;
    write(frame);
    f.finish();
    kernel.addLaunch(kernel.entryName(), one, 1);
    return;
  }
  f.allowStreaming(true);
  SizeExpr length = program.getDomain()[*lane];
  SmallVector<unsigned> outer;
  SizeExpr rows = one;
  auto tileDim = chooseTileDim(program, *lane);
  SizeExpr tileSize = tileDim ? program.getDomain()[*tileDim] : one;
  SizeExpr tiles = tileSize.ceilDiv(SizeExpr::constant(context, kTileRows));
  for (unsigned dim = 0; dim < program.getRank(); ++dim) {
    if (dim != *lane && tileDim != dim) {
      outer.push_back(dim);
      rows = rows * program.getDomain()[dim];
    }
  }
  auto bound = program.getFacts().upperBound(length);
  SizeExpr stretches =
      bound && *bound <= kStretch ? one : length.ceilDiv(SizeExpr::constant(context, kStretch));
  Frame entry;
  emitter.hoist(entry, roots);
  auto places = llvm::map_to_vector(outer, [&](unsigned dim) { return program.getDomain()[dim]; });
  if (tileDim) {
    places.push_back(tiles);
  }
  places.push_back(stretches);
  forUnits(f, places, [&](ValueRange place) {
    Frame row(&entry);
    for (auto [dim, at] : llvm::zip(outer, place)) {
      row.bind(dim, at);
    }
    Value low = f.i64(0), high = f.size(length);
    if (!stretches.isConstant(1)) {
      low = mul(f, place.back(), f.i64(kStretch));
      high = minimum(f, high, add(f, low, kStretch));
    }
    Value firstRow, lastRow;
    if (tileDim) {
      firstRow = mul(f, place[outer.size()], f.i64(kTileRows));
      lastRow = minimum(f, add(f, firstRow, kTileRows), f.size(tileSize));
    }
    emitter.hoist(row, roots);
    // Stretches are whole vectors: only the last may have a rest.
    Sweep sweep{*lane,
                low,
                high,
                f.getShape().lanes(),
                std::gcd(length.getContentDivisor(), kStretch),
                isLongBody(f, program, roots, *lane)};
    sweepLanes(f, row, sweep, 1, [&](MutableArrayRef<Frame> frames) {
      for (Frame &frame : frames) {
        if (!tileDim) {
          write(frame);
          continue;
        }
        emitter.hoist(frame, roots);
        forRange(f, firstRow, lastRow, 1, [&](Value i) {
          Frame point(&frame);
          point.bind(*tileDim, i);
          write(point);
        });
      }
    });
  });
  f.finish();
  int64_t elements = std::min(program.guess(length), kStretch) * (tileDim ? kTileRows : 1);
  kernel.addLaunch(kernel.entryName(), rows * tiles * stretches, chooseGrain(program, elements));
}
