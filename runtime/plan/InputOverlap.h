// Detects arguments that share memory. A graph is traced with disjoint arguments, but torch reuses
// it for others, f(a, a[1:]) after f(x, y): a kernel that writes one argument in place could then
// read its own writes through another argument. Only views of one storage can overlap, and most of
// those are disjoint pieces (the columns of a cache). So the test is exact for pieces that
// interleave at one stride, and conservative otherwise.

#pragma once

#include "runtime/plan/Host.h"

#include <cstdint>

namespace frit {

/// The addresses from the first element of a view to the end of its last; both zero if it is empty.
struct ByteRange {
  uintptr_t begin = 0, end = 0;
};
ByteRange rangeOf(const TensorView &view);

/// Conservative: false only if no byte belongs to both.
bool mayShareMemory(const TensorView &a, const TensorView &b);

/// Whether several elements share memory, as in an expanded tensor, which eager refuses to write
/// to.
bool overlapsItself(const TensorView &view);

} // namespace frit
