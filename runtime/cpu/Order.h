// The greatest elements of rows, and sorted rows, of f32 on the CPU, with the bits of ATen. Keys of
// 32 bits order as the numbers do (a NaN is the greatest, zeros of both signs are equal), and are
// sorted by radix together with their places, so equal numbers stay in their order.
//
// The order in which ATen's topk, and its sort unless it is stable, return equal numbers is that of
// its algorithm. So rows in which any of those that they would return are equal are left to it.

#pragma once

#include "runtime/cpu/Product.h"

#include <cstdint>
#include <vector>

namespace frit {

/// Rows of contiguous elements.
struct OrderedRows {
  int64_t rows = 0, length = 0;
  /// How many elements of each row are wanted, at most `length`.
  int64_t count = 0;
  /// The greatest ones first, else the least ones.
  bool descending = true;
  /// Equal elements are in the order in which they lie in the row; else there may be none.
  bool isStable = false;
  const float *input = nullptr;
  int64_t rowStride = 0;
  /// rows * count numbers, and their places in the row.
  float *values = nullptr;
  int64_t *places = nullptr;
};

/// Whether the kernel is faster than ATen's, which finds few elements of long rows with a heap.
bool isOrderFaster(int64_t length, int64_t count);

/// Finds the first `count` elements of each sorted row. Returns the rows that it leaves out, in
/// order: if equal elements need not be in order, those with some among the first `count + 1`.
std::vector<int64_t> orderRows(const OrderedRows &rows, ParallelFor parallelFor);

} // namespace frit
