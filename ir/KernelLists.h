#pragma once

#include <cstddef>
#include <cstdint>

/// Kernels over lists: one launch for several uses of a kernel.
///
/// Regions of one formula that do not depend on each other (an optimizer's step, the same for every
/// parameter) share a launch. Attributes of ir/FritOps.td carry this from pass to pass: `group` of
/// regions, `list` and `sweeps` of kernels, `items` of launches.
///
/// On a GPU the only parameter of the entry is a table of the items, passed by value in 8-byte
/// words: for each item the number of its first block, the addresses of its operands and results,
/// its parameters and integers, its floats.
namespace mlir::frit {

/// The most bytes that a kernel takes by value on sm_70 and later, with drivers of CUDA 12.1 and
/// later.
inline constexpr size_t kMostListBytes = 32760;
/// The most bytes with any driver.
inline constexpr size_t kClassicListBytes = 4096;

/// A kernel with more than one sweep has launches of at least so many elements for each of them.
inline constexpr int64_t kElementsOfSweep = 1 << 20;

/// Bytes of an item with so many operands, results and parameters.
inline size_t getListItemBytes(size_t values) { return 8 * (1 + values); }

} // namespace mlir::frit
