// Device memory of CUDA graphs. A captured kernel contains addresses, so the memory of a graph
// (copies of its arguments, temporaries, results) must not move. The graphs launched on one stream
// run one after the other, with arguments copied in before and results copied out after each. So
// they share one set of blocks, as large as the largest graph needs.

#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/cuda/KeptResults.h"

#include <map>
#include <vector>

namespace frit {

/// Functions that allocate and free blocks: torch's allocator under torch. `take` returns null if
/// there is no memory left.
struct BlockSource {
  void *(*take)(uint64_t bytes);
  void (*give)(void *memory);
};

/// The blocks of one stream of one context. Lives as long as a graph on it.
struct GraphLane {
  struct Block {
    char *memory;
    uint64_t bytes;
    bool used = false;
  };
  ~GraphLane();
  uint64_t heldBytes() const;

  BlockSource source = {};
  std::shared_ptr<Driver> driver;
  /// Held while a graph is captured on the lane, or launched with its copies, so that graphs do not
  /// interleave.
  ForkSafeLock lock;
  std::vector<Block> blocks;
  /// The stream for captures, because the default stream cannot be captured.
  DriverStream captureStream = nullptr;
  /// The state shared by graphs with operators of torch; made with the first of them.
  std::shared_ptr<void> operators;
  /// The results that are not copied out of that memory.
  KeptResults kept;
};

class GraphPool {
public:
  explicit GraphPool(BlockSource source) : source(source) {}
  /// The lane of a stream, made if there is none; null in a process that was forked while another
  /// thread held the lock.
  std::shared_ptr<GraphLane> lane(DriverContext context, DriverStream stream,
                                  const std::shared_ptr<Driver> &driver);
  /// The lane of a stream if there is one, else null.
  std::shared_ptr<GraphLane> known(DriverContext context, DriverStream stream);

private:
  BlockSource source;
  ForkSafeLock lock;
  std::map<std::pair<DriverContext, DriverStream>, std::weak_ptr<GraphLane>> lanes;
};

/// Assigns memory of a lane to one graph: records the assignment in the first walk of the plan and
/// repeats it in the second, which is captured and must not allocate.
class GraphMemory {
public:
  explicit GraphMemory(GraphLane &lane);
  /// Null if there is no memory, or if the second walk requests other sizes than the first.
  void *take(uint64_t bytes);
  /// Makes a block available to later takes of this walk.
  void give(void *memory);
  /// Begins the second walk.
  void rewind();

private:
  GraphLane &lane;
  std::vector<std::pair<uint64_t, char *>> decisions;
  size_t next = 0;
  bool isDecided = false;
};

} // namespace frit
