#include "runtime/plan/InputOverlap.h"

#include <algorithm>

namespace frit {

namespace {

/// Folds the bytes of a view modulo `period` into [first, first + length). False if they do not fit
/// into one period.
bool foldInto(const TensorView &view, uint64_t period, uint64_t &first, uint64_t &length) {
  uint64_t item = bytesOf(view.dtype);
  first = reinterpret_cast<uintptr_t>(view.data) % period;
  length = item;
  for (int64_t dim = 0; dim < view.rank; ++dim) {
    uint64_t stride = static_cast<uint64_t>(view.strides[dim]) * item;
    if (view.sizes[dim] > 1 && stride % period != 0) {
      length += static_cast<uint64_t>(view.sizes[dim] - 1) * stride;
    }
  }
  return length <= period;
}

/// Whether the views occupy disjoint parts of every period.
bool interleave(const TensorView &a, const TensorView &b, uint64_t period) {
  uint64_t firstA, lengthA, firstB, lengthB;
  if (!foldInto(a, period, firstA, lengthA) || !foldInto(b, period, firstB, lengthB)) {
    return false;
  }
  uint64_t fromAToB = (firstB + period - firstA) % period,
           fromBToA = (firstA + period - firstB) % period;
  return fromAToB >= lengthA && fromBToA >= lengthB;
}

} // namespace

ByteRange rangeOf(const TensorView &view) {
  uint64_t last = 0;
  for (int64_t dim = 0; dim < view.rank; ++dim) {
    if (view.sizes[dim] == 0) {
      return {};
    }
    last += static_cast<uint64_t>(view.sizes[dim] - 1) * static_cast<uint64_t>(view.strides[dim]);
  }
  auto begin = reinterpret_cast<uintptr_t>(view.data);
  return {begin, begin + (last + 1) * bytesOf(view.dtype)};
}

bool mayShareMemory(const TensorView &a, const TensorView &b) {
  ByteRange rangeA = rangeOf(a), rangeB = rangeOf(b);
  if (rangeA.begin >= rangeB.end || rangeB.begin >= rangeA.end) {
    return false;
  }
  for (const TensorView *view : {&a, &b}) {
    for (int64_t dim = 0; dim < view->rank; ++dim) {
      uint64_t period = static_cast<uint64_t>(view->strides[dim]) * bytesOf(view->dtype);
      if (view->sizes[dim] > 1 && period != 0 && interleave(a, b, period)) {
        return false;
      }
    }
  }
  return true;
}

bool overlapsItself(const TensorView &view) {
  bool repeats = false;
  for (int64_t dim = 0; dim < view.rank; ++dim) {
    if (view.sizes[dim] == 0) {
      return false;
    }
    repeats |= view.sizes[dim] > 1 && view.strides[dim] == 0;
  }
  return repeats;
}

} // namespace frit
