// The interface to capture calls with operators of torch as CUDA graphs. Such operators take
// memory, streams and random numbers from torch, so torch captures them with its CUDAGraph and its
// memory pools (python/frit/modes/cuda_capture.py). Tests implement this interface too.

#pragma once

#include "runtime/cuda/Driver.h"

#include <functional>

namespace frit {

class OperatorCapture {
public:
  struct Graph {
    /// Owns the graph and its memory.
    std::shared_ptr<void> object;
    /// What the driver launches; null if only `replay` can launch it.
    DriverGraphExec exec = nullptr;
  };

  virtual ~OperatorCapture() = default;
  /// Makes the state that all graphs launched on one stream of the current device share: memory,
  /// and the stream for captures.
  virtual Result<std::shared_ptr<void>> open() = 0;
  /// Captures what `body` launches on its current stream. Memory that `body` allocates comes from
  /// the shared pool and may be freed: graphs that share memory run one after the other. Fails if
  /// `body` does, with its error, but never with kind Pending.
  virtual Result<Graph> capture(const std::shared_ptr<void> &shared,
                                const std::function<Status()> &body) = 0;
  /// Launches the graph on the current stream, with new random numbers.
  virtual Status replay(const Graph &graph) = 0;
};

} // namespace frit
