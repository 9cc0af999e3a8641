#pragma once

#include "runtime/cpu/Product.h"

#include <algorithm>

namespace frit {

/// Runs a body of units [begin, end) in pieces of at least `grain` units, and at least one.
template <typename Body>
void inPieces(ParallelFor parallelFor, int64_t units, int64_t grain, const Body &body) {
  parallelFor(
      units, std::max<int64_t>(grain, 1),
      [](void *argument, int64_t begin, int64_t end) {
        (*static_cast<const Body *>(argument))(begin, end);
      },
      const_cast<Body *>(&body));
}

} // namespace frit
