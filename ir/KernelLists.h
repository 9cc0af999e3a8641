#pragma once

#include "ir/FritOps.h"

/// Kernels over lists: one launch for several uses of a kernel.
///
/// Where regions of one formula need nothing of each other (an optimizer's step, for every
/// parameter the same) they share a launch. Attributes carry this from pass to pass:
///
///   * `frit.group` on regions: equal numbers stand side by side and become one launch;
///   * `frit.list` on a kernel: how many items a launch may have at most, and `frit.sweeps`: how
///   often a block of a GPU comes back
///     before the next takes over;
///   * `frit.items` on a launch: how many it has. Sizes, operands and results are those of the
///   first item, then those of the second ...
///
/// On a GPU the items are the one parameter of the entry, a table by value of 8-byte words: for
/// each item the number of its first block, the addresses of its operands and results, its
/// parameters and integers, its floats.
namespace mlir::frit {

inline constexpr llvm::StringLiteral kGroupAttr = "frit.group", kListAttr = "frit.list",
                                     kSweepsAttr = "frit.sweeps", kItemsAttr = "frit.items";
/// On a GPU entry: the bytes of its table, the first argument, which is a pointer until the last
/// lowering.
inline constexpr llvm::StringLiteral kTableAttr = "frit.table";

/// What a kernel takes by value on sm_70 and later, with drivers of CUDA 12.1 and later.
inline constexpr size_t kMostListBytes = 32760;
/// What every driver takes.
inline constexpr size_t kClassicListBytes = 4096;

inline std::optional<int64_t> getListAttr(Operation *op, llvm::StringRef name) {
  auto attr = op->getAttrOfType<IntegerAttr>(name);
  return attr ? std::optional<int64_t>(attr.getInt()) : std::nullopt;
}

/// Bytes of an item with so many operands, results and parameters.
inline size_t getListItemBytes(size_t values) { return 8 * (1 + values); }

} // namespace mlir::frit
