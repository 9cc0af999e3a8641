#include "runtime/cuda/GraphCounts.h"

namespace frit {

/// The most reasons that are counted separately.
static constexpr size_t kMostReasons = 32;

GraphCounters GraphCounts::read() {
  ForkSafeGuard guard(lock);
  return counters;
}

void GraphCounts::addCapture(const std::string &whyExact) {
  ForkSafeGuard guard(lock);
  ++counters.captures;
  if (!whyExact.empty() && ++counters.exact[whyExact] == 1) {
    host.note("graph '" + graphName + "' has a CUDA graph for each of its sizes: " + whyExact);
  }
}

void GraphCounts::addNotCaptured(const std::string &why) {
  ForkSafeGuard guard(lock);
  if (!guard.held) {
    return;
  }
  auto known = counters.notCaptured.find(why);
  if (known == counters.notCaptured.end()) {
    if (counters.notCaptured.size() >= kMostReasons) {
      ++counters.notCaptured["other reasons"];
      return;
    }
    known = counters.notCaptured.emplace(why, 0).first;
    host.note("graph '" + graphName + "' is not captured in a CUDA graph: " + why);
  }
  ++known->second;
}

} // namespace frit
