#include "codegen/cpu/CpuSchedules.h"
#include "codegen/cpu/Loops.h"

using namespace mlir;
using namespace mlir::frit;

/// Stretches are long enough to hide a unit's start and a multiple of every lane
/// count and cache line.
static constexpr int64_t kStretch = 4096;

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
  auto write = [&](Frame &frame) {
    for (const Store &store : program.getStores()) {
      emitter.store(frame, store, emitter.value(frame, store.node));
    }
  };
  SizeExpr one = SizeExpr::constant(context, 1);
  auto lane = program.getLaneDim();
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
  for (unsigned dim = 0; dim < program.getRank(); ++dim) {
    if (dim != *lane) {
      outer.push_back(dim);
      rows = rows * program.getDomain()[dim];
    }
  }
  auto bound = program.getFacts().upperBound(length);
  SizeExpr stretches = bound && *bound <= kStretch
                           ? one
                           : length.ceilDiv(SizeExpr::constant(context, kStretch));
  Frame entry;
  emitter.hoist(entry, roots);
  forRange(f, f.getBegin(), f.getEnd(), 1, [&](Value unit) {
    Frame row(&entry);
    Value low = f.i64(0), high = f.size(length);
    if (!stretches.isConstant(1)) {
      Value piece = unit;
      if (!outer.empty()) {
        Value count = f.size(stretches);
        Value quotient = divide(f, unit, count);
        piece = sub(f, unit, mul(f, quotient, count));
        unit = quotient;
      }
      low = mul(f, piece, f.i64(kStretch));
      high = minimum(f, high, add(f, low, kStretch));
    }
    if (!outer.empty()) {
      emitter.bindLinear(row, unit, outer);
    }
    emitter.hoist(row, roots);
    sweepLanes(f, row, *lane, low, high, f.getShape().lanes(), 1,
               [&](MutableArrayRef<Frame> frames) {
                 for (Frame &frame : frames) {
                   write(frame);
                 }
               });
  });
  f.finish();
  int64_t elements = std::min(guessSize(program, length), kStretch);
  kernel.addLaunch(kernel.entryName(), rows * stretches, chooseGrain(program, elements));
}
