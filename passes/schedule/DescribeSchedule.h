#pragma once

#include "ir/FritOps.h"

/// Schedules as text, for reports.
namespace mlir::frit {

/// #frit.cpu_pointwise, #frit.cpu_rows or #frit.cpu_columns. Those of GPUs describe themselves
/// (GpuScheduleInterface).
std::string describeCpuSchedule(Attribute schedule);

/// The schedule of a kernel; empty where it has none.
std::string describeSchedule(KernelOp kernel);

} // namespace mlir::frit
