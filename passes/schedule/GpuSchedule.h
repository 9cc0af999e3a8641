#pragma once

#include "kernel/KernelProgram.h"

namespace mlir::frit {

/// The schedule of a kernel on GPUs from compute capability `arch` on (90: 9.0): one of the
/// attributes #frit.gpu_*. `program` is that of `buildGpuProgram`; the kernel's `schedule` has the
/// numbers of its region. Emits an error at the kernel if it reduces over rows whose length is
/// unknown or 0.
FailureOr<Attribute> chooseGpuSchedule(const KernelProgram &program, unsigned arch);

} // namespace mlir::frit
