// Runs on torch's own OpenMP threads, so that kernels and ATen calls share one pool.
// at::parallel_for is inline code that needs the compiler's OpenMP, and clang's would bring a
// second pool into the process. So this calls the entry points of the libgomp that torch has
// loaded.

#pragma once

#include "runtime/plan/Host.h"

namespace frit {

void parallelForOnTorchThreads(int64_t units, int64_t grain, RangeBody body, void *argument);

/// Parallel regions that this thread begins have at most `most` threads while this object lives,
/// those of ATen's operators too; 0 limits nothing.
class ThreadLimit {
public:
  explicit ThreadLimit(int most);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit &) = delete;
  ThreadLimit &operator=(const ThreadLimit &) = delete;

private:
  /// The number before; 0 if it is unchanged.
  int before = 0;
};

} // namespace frit
