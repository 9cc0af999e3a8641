// The extent of a tensor's elements in its storage. A plan's sizes, strides and offsets come from a
// file, so they are checked against the available memory before any access.

#pragma once

#include "runtime/plan/Host.h"

#include <algorithm>
#include <optional>

namespace frit {

/// Elements from the first to the end of the last, 0 for an empty tensor; nullopt if a size or
/// stride is negative or the sum overflows.
inline std::optional<uint64_t> spanOf(std::span<const int64_t> sizes,
                                      std::span<const int64_t> strides) {
  uint64_t last = 0;
  bool empty = false;
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    uint64_t reach;
    if (sizes[dim] < 0 || strides[dim] < 0 ||
        __builtin_mul_overflow(static_cast<uint64_t>(sizes[dim] == 0 ? 0 : sizes[dim] - 1),
                               static_cast<uint64_t>(strides[dim]), &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return std::nullopt;
    }
    empty |= sizes[dim] == 0;
  }
  return empty ? 0 : last == UINT64_MAX ? std::optional<uint64_t>() : last + 1;
}

/// Whether a view that begins at element `start` lies inside of its storage. An empty view always
/// does.
inline bool liesInside(const TensorShape &shape, int64_t start, uint64_t storageBytes,
                       uint64_t itemBytes) {
  std::optional<uint64_t> span = spanOf(shape.sizes, shape.strides);
  uint64_t end;
  return span &&
         (*span == 0 ||
          (start >= 0 && !__builtin_add_overflow(*span, static_cast<uint64_t>(start), &end) &&
           !__builtin_mul_overflow(end, itemBytes, &end) && end <= storageBytes));
}

/// The strides of a contiguous tensor, as torch counts them: a size of 0 like one of 1.
inline std::vector<int64_t> contiguousStrides(std::span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t count = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    strides[dim] = count;
    count *= std::max<int64_t>(sizes[dim], 1);
  }
  return strides;
}

} // namespace frit
