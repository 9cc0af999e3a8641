// Kernels get their CPU schedules after outlining: a schedule depends on addresses, which the flat
// program of a kernel contains, and equal regions are one kernel by then.
#include "passes/Passes.h"
#include "passes/schedule/CpuSchedule.h"
#include "passes/schedule/ScheduleChoices.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "frit-schedule-cpu-kernels"

namespace mlir::frit {
#define GEN_PASS_DEF_SCHEDULECPUKERNELSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::frit

using namespace mlir;
using namespace mlir::frit;

namespace {
struct ScheduleCpuKernelsPass : frit::impl::ScheduleCpuKernelsPassBase<ScheduleCpuKernelsPass> {
  using frit::impl::ScheduleCpuKernelsPassBase<ScheduleCpuKernelsPass>::ScheduleCpuKernelsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (level != "x86-64-v3" && level != "x86-64-v4") {
      module.emitError() << "level '" << level << "' is neither x86-64-v3 nor x86-64-v4";
      return signalPassFailure();
    }
    CpuVectors vectors;
    vectors.masksNarrow = level == "x86-64-v4";
    vectors.lanes = vectors.masksNarrow ? 16 : 8;
    auto asked = ScheduleChoices::parse(module, choices);
    if (failed(asked)) {
      return signalPassFailure();
    }
    SmallVector<int64_t> candidates;
    for (auto kernel : module.getOps<KernelOp>()) {
      unsigned number = candidates.size();
      if (failed(choose(kernel, vectors, asked->of(number), candidates.emplace_back(1)))) {
        return signalPassFailure();
      }
    }
    if (failed(asked->finish(module, "kernel", candidates))) {
      return signalPassFailure();
    }
  }

private:
  LogicalResult choose(KernelOp kernel, CpuVectors vectors, unsigned number, int64_t &count) {
    if (!kernel.getCpuScheduleAttr()) {
      auto program = KernelProgram::build(kernel);
      if (failed(program)) {
        return failure();
      }
      if (program->getScan()) {
        return kernel.emitError("kernel '")
               << kernel.getSymName() << "' has a scan, for which there is no CPU code";
      }
      CpuKernelSummary summary = summarizeCpuKernel(*program, vectors);
      SmallVector<Attribute> list = listCpuSchedules(&getContext(), summary, vectors);
      count = list.size();
      if (number >= list.size()) {
        return kernel.emitError("schedule ") << number << " was chosen for kernel '"
                                             << kernel.getSymName() << "', which has " << count;
      }
      LDBG() << kernel.getSymName() << ": " << list[number] << ", one of " << count;
      kernel.setCpuScheduleAttr(list[number]);
    }
    llvm::TypeSwitch<Attribute>(kernel.getCpuScheduleAttr())
        .Case([&](CpuPointwiseAttr) { ++pointwise; })
        .Case([&](CpuRowsAttr) { ++rows; })
        .Case([&](CpuColumnsAttr) { ++columns; });
    return success();
  }
};
} // namespace
