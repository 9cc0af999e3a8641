#include "codegen/cpu/CpuSchedules.h"
#include "codegen/cpu/Loops.h"

#include <numeric>

using namespace mlir;
using namespace mlir::frit;

void CpuKernel::addLaunch(StringRef entry, SizeExpr units, int64_t grain) const {
  LaunchDesc launch;
  launch.entry = entry.str();
  launch.units = units;
  launch.grain = grain;
  desc.launches.push_back(std::move(launch));
}

SizeExpr mlir::frit::countParts(SizeExpr length, int64_t least, int64_t most) {
  auto constant = [&](int64_t value) { return SizeExpr::constant(length.getContext(), value); };
  return length.ceilDiv(constant(least)).min(constant(most)).max(constant(1));
}

void mlir::frit::emitPointwise(const CpuKernel &kernel, CpuPointwiseAttr schedule) {
  const KernelProgram &program = kernel.program;
  MLIRContext *context = program.getContext();
  CpuFunction f(kernel.module, kernel.entryName(), program, kernel.cpu);
  Emitter emitter(program, f, f.getBuilder());
  SmallVector<unsigned> roots = program.getStoredNodes();
  auto write = [&](Frame &frame) { emitter.storeAll(frame, program.getStores()); };
  SizeExpr one = SizeExpr::constant(context, 1);
  // Nothing is written, and loads that would be hoisted out of a loop would be out of bounds.
  if (llvm::any_of(program.getDomain(), [](SizeExpr size) { return size.isConstant(0); })) {
    f.finish();
    kernel.addLaunch(kernel.entryName(), SizeExpr::constant(context, 0), 1);
    return;
  }
  std::optional<unsigned> lane = schedule.getLane(), tileDim = schedule.getTileDim();
  if (!lane) {
    Frame frame;
    write(frame);
    f.finish();
    kernel.addLaunch(kernel.entryName(), one, 1);
    return;
  }
  if (schedule.getStreams()) {
    f.allowStreaming(*lane);
  }
  int64_t stretch = schedule.getStretch(), tileRows = schedule.getTileRows();
  SizeExpr length = program.getDomain()[*lane];
  SmallVector<unsigned> outer;
  SizeExpr rows = one;
  SizeExpr tileSize = tileDim ? program.getDomain()[*tileDim] : one;
  SizeExpr tiles = tileSize.ceilDiv(SizeExpr::constant(context, tileRows));
  for (unsigned dim = 0; dim < program.getRank(); ++dim) {
    if (dim != *lane && tileDim != dim) {
      outer.push_back(dim);
      rows = rows * program.getDomain()[dim];
    }
  }
  auto bound = program.getFacts().upperBound(length);
  SizeExpr stretches =
      bound && *bound <= stretch ? one : length.ceilDiv(SizeExpr::constant(context, stretch));
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
      low = mul(f, place.back(), f.i64(stretch));
      high = minimum(f, high, add(f, low, stretch));
    }
    Value firstRow, lastRow;
    if (tileDim) {
      firstRow = mul(f, place[outer.size()], f.i64(tileRows));
      lastRow = minimum(f, add(f, firstRow, tileRows), f.size(tileSize));
    }
    emitter.hoist(row, roots);
    // Stretches are whole vectors: only the last may have a rest.
    Sweep sweep{*lane,
                low,
                high,
                f.getShape().lanes(),
                std::gcd(length.getContentDivisor(), stretch),
                schedule.getOnce()};
    sweepLanes(f, row, sweep, schedule.getUnroll(), [&](MutableArrayRef<Frame> frames) {
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
  kernel.addLaunch(kernel.entryName(), rows * tiles * stretches, schedule.getGrain());
}
