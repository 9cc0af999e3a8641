// Which arguments share memory. A graph is traced with arguments that lie apart, and torch uses it
// again for others that do not, f(a, a[1:]) after f(x, y): a kernel that writes one argument in
// place would then read through another what it has just written. Only views of one storage meet,
// and most of those are disjoint pieces (the columns of a cache), so the test is exact for pieces
// that interleave at one stride and errs on the side of meeting for the rest.

#pragma once

#include "runtime/plan/Host.h"

#include <cstdint>

namespace frit {

/// The addresses from the first element of a view to the end of its last; both zero when it has
/// none.
struct ByteRange {
  uintptr_t begin = 0, end = 0;
};
ByteRange rangeOf(const TensorView &view);

/// False only when no byte belongs to both.
bool mayShareMemory(const TensorView &a, const TensorView &b);

/// Whether several elements are one in memory, as in an expanded tensor: what eager refuses to
/// write to.
bool overlapsItself(const TensorView &view);

} // namespace frit
