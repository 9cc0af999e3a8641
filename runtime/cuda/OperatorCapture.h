// How calls that operators of torch take part in become CUDA graphs. Such operators take memory,
// streams and random numbers from torch, so torch captures them: its CUDAGraph
// (python/frit/modes/cuda_capture.py), with its pools of memory. This is all the runtime knows of
// it, and all that tests have to play.

#pragma once

#include "runtime/cuda/Driver.h"

#include <functional>

namespace frit {

class OperatorCapture {
public:
  struct Graph {
    /// Keeps the graph and its memory.
    std::shared_ptr<void> object;
    /// What the driver launches; null where only `replay` can.
    DriverGraphExec exec = nullptr;
  };

  virtual ~OperatorCapture() = default;
  /// What all graphs share that are launched on one stream of the current device: memory, and the
  /// stream they are captured on.
  virtual Result<std::shared_ptr<void>> open() = 0;
  /// A graph of what `body` launches on the stream that is current in it. What `body` allocates
  /// lies in the shared memory, and may be given back: graphs that share memory run one after the
  /// other. Fails if `body` does, with its error; never with one of kind Pending.
  virtual Result<Graph> capture(const std::shared_ptr<void> &shared,
                                const std::function<Status()> &body) = 0;
  /// Launches on the current stream, with new random numbers.
  virtual Status replay(const Graph &graph) = 0;
};

} // namespace frit
