// Results that stay in the memory of a CUDA graph and are not copied out: those that a forward
// saves for its backward. Autograd passes them only to the backward and releases them after it.
// While one is in use, no graph may be launched that would overwrite it: neither the graph that
// made it, nor one whose memory was assigned before this result was removed from the memory that
// the graphs of a stream share.

#pragma once

#include "runtime/cuda/ForkSafeLock.h"
#include "runtime/plan/Host.h"

#include <memory>
#include <vector>

namespace frit {

class KeptResults {
public:
  /// Why a launch is not possible now.
  enum class Conflict : uint8_t {
    None,
    /// Results of the graph itself are in use.
    Own,
    /// Results of a graph that was captured later are in use. If this graph is captured again it
    /// gets other memory.
    OfLater
  };

  /// Registers a graph that was just captured, and returns its number. `tensors` are results that
  /// stay in its memory; `places` are the addresses of other saved results, which are in
  /// parameters.
  uint64_t add(const void *graph, std::vector<std::shared_ptr<KeptTensor>> tensors,
               const std::vector<const void *> &places = {});
  /// Removes a graph. Its results keep their memory until they are no longer in use.
  void leave(const void *graph);
  /// Checked before the launch of `graph`, whose number is `order`.
  Conflict conflict(const void *graph, uint64_t order);
  /// Whether an address is inside of a saved result, or is one of those in parameters.
  bool hold(const void *memory);

private:
  struct One {
    const void *graph;
    uint64_t order;
    std::shared_ptr<KeptTensor> tensor;
  };

  ForkSafeLock lock;
  std::vector<One> kept;
  std::vector<std::pair<const void *, const void *>> steady;
  uint64_t captured = 0;
};

} // namespace frit
