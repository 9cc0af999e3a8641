#include "runtime/cuda/GraphPool.h"

#include <algorithm>
#include <bit>

namespace frit {

GraphLane::~GraphLane() {
  // The memory of a lost device is lost with it.
  if (driver && driver->usable().isOk()) {
    for (const Block &block : blocks) {
      source.give(block.memory);
    }
    if (captureStream) {
      driver->call().cuStreamDestroy(captureStream);
    }
  }
}

uint64_t GraphLane::heldBytes() const {
  uint64_t sum = 0;
  for (const Block &block : blocks) {
    sum += block.bytes;
  }
  return sum;
}

std::shared_ptr<GraphLane> GraphPool::lane(DriverContext context, DriverStream stream,
                                           const std::shared_ptr<Driver> &driver) {
  ForkSafeGuard guard(lock);
  if (!guard.held) {
    return nullptr;
  }
  std::weak_ptr<GraphLane> &known = lanes[{context, stream}];
  std::shared_ptr<GraphLane> lane = known.lock();
  if (!lane) {
    lane = std::make_shared<GraphLane>();
    lane->source = source;
    lane->driver = driver;
    known = lane;
  }
  return lane;
}

std::shared_ptr<GraphLane> GraphPool::known(DriverContext context, DriverStream stream) {
  ForkSafeGuard guard(lock);
  auto found = guard.held ? lanes.find({context, stream}) : lanes.end();
  return found == lanes.end() ? nullptr : found->second.lock();
}

GraphMemory::GraphMemory(GraphLane &lane) : lane(lane) {
  for (GraphLane::Block &block : lane.blocks) {
    block.used = false;
  }
}

void *GraphMemory::take(uint64_t bytes) {
  bytes = std::max<uint64_t>(bytes, 1);
  if (isDecided) {
    bool same = next < decisions.size() && decisions[next].first == bytes;
    return same ? decisions[next++].second : nullptr;
  }
  // Takes the smallest block that fits, unless it is so large that others need it more.
  constexpr uint64_t kGranule = 512, kSmall = 1 << 20, kSteps = 8;
  GraphLane::Block *best = nullptr;
  for (GraphLane::Block &block : lane.blocks) {
    if (!block.used && block.bytes >= bytes && block.bytes <= std::max(4 * bytes, kSmall) &&
        (!best || block.bytes < best->bytes)) {
      best = &block;
    }
  }
  if (!best) {
    // Sizes are rounded up a little, so that slowly growing sizes need few blocks.
    uint64_t step = std::max(kGranule, std::bit_floor(bytes) / kSteps),
             rounded = (bytes + step - 1) / step * step;
    void *memory = lane.source.take(rounded);
    if (!memory) {
      return nullptr;
    }
    best = &lane.blocks.emplace_back(GraphLane::Block{static_cast<char *>(memory), rounded});
  }
  best->used = true;
  decisions.emplace_back(bytes, best->memory);
  return best->memory;
}

void GraphMemory::give(void *memory) {
  for (GraphLane::Block &block : lane.blocks) {
    if (block.memory == memory) {
      block.used = false;
    }
  }
}

void GraphMemory::rewind() {
  isDecided = true;
  next = 0;
}

} // namespace frit
