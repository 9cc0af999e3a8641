#pragma once

#include "ir/FritOps.h"

/// Kernels over lists: one launch for several uses of a kernel.
///
/// Regions of one formula that do not depend on each other (an optimizer's step, the same for every
/// parameter) share a launch. Attributes carry this from pass to pass:
///
///  * `frit.group` on regions: neighbours with equal numbers become one launch;
///  * `frit.list` on a kernel: the most items of a launch, and `frit.sweeps`: how often a GPU block
///    repeats its sweep before the next block takes over;
///  * `frit.items` on a launch: how many items it has. Sizes, operands and results are those of the
///    first item, then those of the second ...
///
/// On a GPU the only parameter of the entry is a table of the items, passed by value in 8-byte
/// words: for each item the number of its first block, the addresses of its operands and results,
/// its parameters and integers, its floats.
namespace mlir::frit {

inline constexpr llvm::StringLiteral kGroupAttr = "frit.group", kListAttr = "frit.list",
                                     kSweepsAttr = "frit.sweeps", kItemsAttr = "frit.items";
/// On a GPU entry: the size of its table in bytes. The table is the first argument, and a pointer
/// until the last lowering.
inline constexpr llvm::StringLiteral kTableAttr = "frit.table";

/// The most bytes that a kernel takes by value on sm_70 and later, with drivers of CUDA 12.1 and
/// later.
inline constexpr size_t kMostListBytes = 32760;
/// The most bytes with any driver.
inline constexpr size_t kClassicListBytes = 4096;

inline std::optional<int64_t> getListAttr(Operation *op, llvm::StringRef name) {
  auto attr = op->getAttrOfType<IntegerAttr>(name);
  return attr ? std::optional<int64_t>(attr.getInt()) : std::nullopt;
}

/// Bytes of an item with so many operands, results and parameters.
inline size_t getListItemBytes(size_t values) { return 8 * (1 + values); }

} // namespace mlir::frit
