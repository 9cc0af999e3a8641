// Kernels get their GPU schedules after buffers are planned: a schedule depends on addresses, which
// the flat program of a kernel contains, and on which pointers share storage.
#include "kernel/GpuProgram.h"
#include "passes/Passes.h"
#include "passes/schedule/GpuSchedule.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "frit-schedule-gpu-kernels"

namespace mlir::frit {
#define GEN_PASS_DEF_SCHEDULEGPUKERNELSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
struct ScheduleGpuKernelsPass : frit::impl::ScheduleGpuKernelsPassBase<ScheduleGpuKernelsPass> {
  using frit::impl::ScheduleGpuKernelsPassBase<ScheduleGpuKernelsPass>::ScheduleGpuKernelsPassBase;

  void runOnOperation() override {
    auto shared = findSharedPointers(getOperation());
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      if (!kernel.getGpuScheduleAttr() &&
          failed(choose(kernel, !shared.lookup(kernel.getName()).empty()))) {
        return signalPassFailure();
      }
    }
  }

private:
  LogicalResult choose(KernelOp kernel, bool isInPlace) {
    auto program = buildGpuProgram(kernel, isInPlace);
    if (failed(program)) {
      return failure();
    }
    FailureOr<Attribute> schedule = chooseGpuSchedule(*program, arch);
    if (failed(schedule)) {
      return failure();
    }
    LDBG() << kernel.getSymName() << ": " << *schedule;
    kernel.setGpuScheduleAttr(*schedule);
    ++scheduled;
    return success();
  }
};
} // namespace
