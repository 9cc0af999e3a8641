#pragma once

#include "ir/FritOps.h"

#include <optional>

/// Types that ATen's CPU kernels refuse. A rule would compute what the program is not given in
/// eager, which raises: such a call stays one.
namespace mlir::frit {

/// The dtype that the operands of `op` promote to, if ATen's CPU kernel of the operator refuses it.
/// Graphs of other devices have other kernels, and nothing is known of them.
std::optional<DType> refusedDtype(AtenOp op);

} // namespace mlir::frit
