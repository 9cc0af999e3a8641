#include "runtime/torch/ParallelFor.h"

#include <ATen/Parallel.h>

#include <algorithm>

extern "C" {
__attribute__((weak)) void GOMP_parallel(void (*function)(void *), void *data, unsigned threads,
                                         unsigned flags);
__attribute__((weak)) int omp_get_thread_num();
__attribute__((weak)) int omp_get_num_threads();
__attribute__((weak)) void omp_set_num_threads(int threads);
}

namespace frit {

namespace {

struct Team {
  int64_t units, pieces;
  RangeBody body;
  void *argument;
};

void work(void *data) {
  auto &team = *static_cast<Team *>(data);
  // The team may have fewer threads than pieces were requested; each thread then takes more.
  int64_t threads = omp_get_num_threads();
  int64_t pieces = std::min(team.pieces, threads);
  int64_t piece = omp_get_thread_num();
  if (piece >= pieces) {
    return;
  }
  int64_t begin = team.units / pieces * piece + std::min(piece, team.units % pieces);
  int64_t count = team.units / pieces + (piece < team.units % pieces ? 1 : 0);
  if (count > 0) {
    team.body(team.argument, begin, begin + count);
  }
}

} // namespace

void parallelForOnTorchThreads(int64_t units, int64_t grain, RangeBody body, void *argument) {
  int64_t pieces = (units + grain - 1) / grain;
  if (pieces <= 1 || !GOMP_parallel || at::get_num_threads() == 1 || at::in_parallel_region()) {
    body(argument, 0, units);
    return;
  }
  Team team = {units, pieces, body, argument};
  // The number of threads is not passed: libgomp rebuilds its pool when the number changes between
  // regions.
  GOMP_parallel(work, &team, 0, 0);
}

ThreadLimit::ThreadLimit(int most) {
  // The first question for the number sets it, so it comes before.
  if (most > 0 && omp_set_num_threads && at::get_num_threads() > most) {
    before = at::get_num_threads();
    omp_set_num_threads(most);
  }
}

ThreadLimit::~ThreadLimit() {
  if (before) {
    omp_set_num_threads(before);
  }
}

} // namespace frit
