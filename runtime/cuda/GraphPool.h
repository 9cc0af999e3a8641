// Device memory of CUDA graphs. A captured kernel keeps its addresses, so what a graph works on
// must stay: private copies of its arguments, temporaries, results. All graphs that are launched on
// one stream run one after the other, arguments are copied in in front of each and results out
// behind it; so they share one set of blocks, which is as large as the largest of them needs, and
// not their sum.

#pragma once

#include "runtime/cuda/Driver.h"
#include "runtime/cuda/KeptResults.h"

#include <map>
#include <vector>

namespace frit {

/// Where blocks come from and go to: torch's allocator in torch. `take` gives null where there is
/// no memory left.
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
  /// Held while a graph is captured on the lane or launched with its copies: two graphs never mix.
  ForkSafeLock lock;
  std::vector<Block> blocks;
  /// What is captured is launched here in the meantime: the default stream cannot be captured.
  DriverStream captureStream = nullptr;
  /// What graphs with operators of torch share; made with the first of them.
  std::shared_ptr<void> operators;
  /// What of that memory results lie in.
  KeptResults kept;
};

class GraphPool {
public:
  explicit GraphPool(BlockSource source) : source(source) {}
  /// The lane of a stream, made if there is none; null in a process forked while another thread
  /// asked.
  std::shared_ptr<GraphLane> lane(DriverContext context, DriverStream stream,
                                  const std::shared_ptr<Driver> &driver);
  /// The same if there is one.
  std::shared_ptr<GraphLane> known(DriverContext context, DriverStream stream);

private:
  BlockSource source;
  ForkSafeLock lock;
  std::map<std::pair<DriverContext, DriverStream>, std::weak_ptr<GraphLane>> lanes;
};

/// Hands out memory of a lane for one graph: decides while the plan is walked for the first time,
/// and gives the same when it is walked again to be captured, where nothing may be allocated any
/// more.
class GraphMemory {
public:
  explicit GraphMemory(GraphLane &lane);
  /// Null where there is no memory, or where the second walk asks for something else than the
  /// first.
  void *take(uint64_t bytes);
  void give(void *memory);
  /// From here on the same again.
  void rewind();

private:
  GraphLane &lane;
  std::vector<std::pair<uint64_t, char *>> decisions;
  size_t next = 0;
  bool isDecided = false;
};

} // namespace frit
