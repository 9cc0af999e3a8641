#pragma once

#include "ir/FritOps.h"

/// Schedules as reports show them, in words.
namespace mlir::frit {

/// #frit.cpu_pointwise, #frit.cpu_rows or #frit.cpu_columns.
std::string describeCpuSchedule(Attribute schedule);

/// The CPU schedule of a kernel if it has one, else its #frit.schedule; empty where it has neither.
std::string describeSchedule(KernelOp kernel);

} // namespace mlir::frit
