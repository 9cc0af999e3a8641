#pragma once

#include "passes/Passes.h"

#include "mlir/Pass/PassManager.h"

namespace mlir::frit::test {

/// Assigns each kernel of a module without graphs its GPU schedule.
inline LogicalResult scheduleGpuKernels(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addPass(createScheduleGpuKernelsPass());
  return passes.run(module);
}

} // namespace mlir::frit::test
