// Counts of what happened to calls that may run as CUDA graphs. Several threads call.

#pragma once

#include "runtime/cuda/ForkSafeLock.h"
#include "runtime/plan/Host.h"

#include <map>
#include <string>

namespace frit {

struct GraphCounters {
  uint64_t captures = 0, replays = 0, evictions = 0;
  /// Bytes of saved results that are currently in the memory of graphs.
  uint64_t keptBytes = 0;
  /// Replays before which a graph was updated to other sizes.
  uint64_t updates = 0;
  /// Graphs for only one size although sizes are dynamic, by the reason.
  std::map<std::string, uint64_t> exact;
  /// Calls that ran without a graph, by the reason. The first call with a key does not count.
  std::map<std::string, uint64_t> notCaptured;
};

class GraphCounts {
public:
  /// Each new reason is also a note of `host`.
  GraphCounts(std::string graphName, TensorHost &host)
      : graphName(std::move(graphName)), host(host) {}

  GraphCounters read();
  /// Calls `change` with the counters.
  template <typename F> void update(F change) {
    ForkSafeGuard guard(lock);
    change(counters);
  }
  /// Counts a capture; `whyExact` is the reason why its graph is for one size only, or empty.
  void addCapture(const std::string &whyExact);
  /// Counts a call that ran without a graph.
  void addNotCaptured(const std::string &why);

private:
  std::string graphName;
  TensorHost &host;
  ForkSafeLock lock;
  GraphCounters counters;
};

} // namespace frit
