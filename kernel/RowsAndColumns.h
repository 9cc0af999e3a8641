#pragma once

#include "llvm/ADT/StringRef.h"

/// Kernels with results of rows and of columns.
///
/// The gradient of a norm's input needs two sums along each row, the gradients of its weight and
/// bias need sums over all rows, and all of them read the same two tensors. A region has one domain
/// of parallel and reduced dims. A reduction over its parallel dims, whose result belongs to the
/// reduced ones, carries the attribute `frit.across`:
///
///  * `merge-columns` makes one such region of two where the target can reduce both ways in one
///    sweep, and adds the number of partial results of a column (`parts`) to its schedule;
///  * only views and elementwise operations on the reduced dims read what was reduced across.
namespace mlir::frit {

inline constexpr llvm::StringLiteral kAcrossAttr = "frit.across";
/// On a region between `choose-schedules` and `merge-columns`: its schedule was asked for and is
/// not the first of its list, so the region is not merged.
inline constexpr llvm::StringLiteral kAskedAttr = "frit.asked";

} // namespace mlir::frit
