// Refuses schedules that do not fit their kernel, so that generators can follow any other.
#include "codegen/cpu/CpuSchedules.h"
#include "kernel/KernelCosts.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::frit;

namespace {
class Check {
public:
  Check(const KernelProgram &program, const CpuTarget &cpu)
      : kernel(program.getKernel()), program(program),
        masksNarrow(cpu.level == CpuLevel::X86_64_V4) {}

  LogicalResult pointwise(CpuPointwiseAttr schedule) {
    if (program.numReduced()) {
      return refuse("is pointwise, and the kernel reduces");
    }
    if (schedule.getLane().has_value() != (program.getRank() > 0)) {
      return refuse("names a lane dim exactly where the kernel has dims");
    }
    std::optional<unsigned> lane = schedule.getLane(), tile = schedule.getTileDim();
    if ((lane && *lane >= program.getRank()) || (tile && *tile >= program.getRank())) {
      return refuse("names a dim that the kernel does not have");
    }
    return lane ? masks(schedule.getOnce(), *lane, program.getStoredNodes()) : success();
  }

  LogicalResult rows(CpuRowsAttr schedule) {
    unsigned lane = schedule.getLane();
    if (!program.numReduced() || lane < program.numParallel() || lane >= program.getRank()) {
      return refuse("reduces along a dim that is not reduced");
    }
    if (schedule.getUnroll().size() != program.numPhases()) {
      return refuse("has " + Twine(schedule.getUnroll().size()) +
                    " rounds of reductions, and the kernel " + Twine(program.numPhases()));
    }
    if (schedule.getSplitElements() > 0 &&
        (program.numParallel() != 0 || program.numReduced() != 1 ||
         !getFullRoots(program).empty())) {
      return refuse("shares out a row, and the kernel has several or writes one");
    }
    for (unsigned phase = 0; phase < program.numPhases(); ++phase) {
      if (failed(masks(schedule.getOnce()[phase], lane, program.getReducedNodes(phase)))) {
        return failure();
      }
    }
    SmallVector<unsigned> written = getFullRoots(program), known;
    if (schedule.getWriteOnce() && !masksNarrow) {
      known = getKeptForLast(program, findKeptValues(program, lane, schedule.getKeep()));
    }
    return success(succeeded(masks(schedule.getWriteOnce(), lane, written, known)) &&
                   succeeded(masks(schedule.getRecomputeOnce(), lane, written)));
  }

  LogicalResult columns(CpuColumnsAttr schedule) {
    unsigned lane = schedule.getLane();
    std::optional<unsigned> row = schedule.getRowDim();
    if (!program.numReduced() || lane >= program.numParallel() ||
        (row && *row >= program.numParallel())) {
      return refuse("has its lanes or rows along a dim that is not parallel");
    }
    if (row && program.numPhases() != 1) {
      return refuse("has tiles of rows, and the kernel several rounds of reductions");
    }
    auto bound = program.getFacts().upperBound(program.getDomain().back());
    bool isOneStretch = bound && *bound <= kPackedSteps;
    if (schedule.getPacks() &&
        (program.numReduced() != 1 || (!isOneStretch && !getFullRoots(program).empty()))) {
      return refuse("packs operands of several dims, or of a result that is written in stretches");
    }
    bool isInBlocks = schedule.getTiles() > 1 || schedule.getPartSteps() > 0;
    if (isInBlocks && !canSumInBlocks(program)) {
      return refuse(
          "walks several tiles together, and the kernel has more than sums along one dim");
    }
    if (schedule.getPartSteps() > 0 && program.numParallel() != 1) {
      return refuse("shares out the reduced dim, and the kernel has several parallel dims");
    }
    return masks(schedule.getOnce(), lane, program.getRoots(), {}, program.reducedMask());
  }

  LogicalResult refuse(const Twine &why) {
    return kernel.emitError("kernel '") << kernel.getSymName() << "': its cpu_schedule " << why;
  }

private:
  LogicalResult masks(bool once, unsigned lane, ArrayRef<unsigned> roots,
                      ArrayRef<unsigned> known = {}, uint32_t along = ~0u) {
    return once && !masksNarrow && hasNarrowAccesses(program, roots, lane, known, along)
               ? refuse("masks elements below 32 bits, which this CPU cannot")
               : success();
  }

  KernelOp kernel;
  const KernelProgram &program;
  bool masksNarrow;
};
} // namespace

LogicalResult mlir::frit::checkSchedule(const KernelProgram &program, const CpuTarget &cpu,
                                        Attribute schedule) {
  Check check(program, cpu);
  if (!schedule) {
    return check.refuse("is missing; --frit-schedule-cpu-kernels chooses one");
  }
  return llvm::TypeSwitch<Attribute, LogicalResult>(schedule)
      .Case([&](CpuPointwiseAttr one) { return check.pointwise(one); })
      .Case([&](CpuRowsAttr one) { return check.rows(one); })
      .Case([&](CpuColumnsAttr one) { return check.columns(one); });
}
