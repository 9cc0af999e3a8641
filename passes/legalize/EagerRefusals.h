#pragma once

#include "ir/FritOps.h"

#include <optional>

/// Types that ATen's CPU kernels refuse. Eager raises an error for such a call where a rule would
/// compute a result, so the call is left to ATen.
namespace mlir::frit {

/// The dtype to which the operands of `op` promote, if ATen's CPU kernel of the operator refuses
/// it; else nullopt, also in graphs on other devices, whose kernels were not measured.
std::optional<DType> refusedDtype(AtenOp op);

} // namespace mlir::frit
