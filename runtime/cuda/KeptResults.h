// Results that lie in the memory of a CUDA graph and are not copied out of it: what a forward keeps
// for its backward, which autograd gives back to nobody else and lets go of when the backward has
// run. As long as somebody has one, no graph may be launched that would write over it: not the one
// it is of, and none whose memory was decided about before this was taken out of what the graphs of
// a stream share.

#pragma once

#include "runtime/cuda/ForkSafeLock.h"
#include "runtime/plan/Host.h"

#include <memory>
#include <vector>

namespace frit {

class KeptResults {
public:
  /// What stands in the way of a launch.
  enum class Conflict : uint8_t {
    None,
    /// Somebody has results of the graph itself.
    Own,
    /// Somebody has results of a graph that was captured later. One that is captured now has other
    /// memory.
    OfLater
  };

  /// The number of a graph that was captured just now, whose results `tensors` stay in its memory;
  /// others that it keeps begin at the addresses `places`, in parameters, whenever it is launched.
  uint64_t add(const void *graph, std::vector<std::shared_ptr<KeptTensor>> tensors,
               std::vector<const void *> places = {});
  /// `graph` is gone. Its results keep their memory until nobody has them.
  void leave(const void *graph);
  /// Before the launch of `graph`, whose number is `order`.
  Conflict conflict(const void *graph, uint64_t order);
  /// Whether a tensor that begins at an address lies in one of them, or is one of those in
  /// parameters.
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
