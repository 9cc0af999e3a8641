#include "runtime/cuda/GraphCache.h"

#include <algorithm>

namespace frit {

GraphCache::~GraphCache() {
  bool isUsable = driver->usable().isOk();
  for (auto &[key, entry] : entries) {
    if (isUsable) {
      destroy(entry);
    } else if (entry.ofOperators.object) {
      // Leaked, because destroying it would call a lost driver, or another process's.
      new OperatorCapture::Graph(std::move(entry.ofOperators));
    }
  }
}

std::pair<GraphEntry &, bool> GraphCache::use(const GraphKey &key) {
  auto [found, isNew] = entries.try_emplace(key);
  found->second.lastUse = ++clock;
  if (isNew) {
    makeRoom();
  }
  return {found->second, isNew};
}

GraphEntry *GraphCache::find(const GraphKey &key) {
  auto found = entries.find(key);
  return found == entries.end() ? nullptr : &found->second;
}

void GraphCache::makeRoom() {
  evictOldest(kMostKeys, [](const GraphEntry &entry) { return !entry.isCaptured(); });
  evictOldest(mostGraphs, [](const GraphEntry &entry) { return entry.isCaptured(); });
  evictOldest(kMostKeeping, [](const GraphEntry &entry) { return entry.keeps(); });
}

/// `isOne` says which entries count. The entry in use is never the oldest.
void GraphCache::evictOldest(size_t most, bool (*isOne)(const GraphEntry &)) {
  auto isEvictable = [&](const auto &one) { return isOne(one.second); };
  for (auto there = static_cast<size_t>(std::count_if(entries.begin(), entries.end(), isEvictable));
       there > most; --there) {
    auto oldest = std::find_if(entries.begin(), entries.end(), isEvictable);
    for (auto at = oldest; at != entries.end(); ++at) {
      oldest = isEvictable(*at) && at->second.lastUse < oldest->second.lastUse ? at : oldest;
    }
    drop(oldest->second);
    entries.erase(oldest);
  }
}

void GraphCache::drop(GraphEntry &entry) {
  counts.update([&](GraphCounters &counters) {
    counters.evictions += entry.isCaptured();
    counters.keptBytes -= entry.keptBytes;
  });
  destroy(entry);
}

void GraphCache::dropAll() {
  for (auto &[key, entry] : entries) {
    drop(entry);
  }
  entries.clear();
}

std::string GraphCache::whyNoMore() const {
  uint64_t evictions = counts.read().evictions;
  return evictions <= 4 * mostGraphs ? ""
                                     : "its calls differ too often: " + std::to_string(evictions) +
                                           " graphs were made and dropped";
}

void GraphCache::destroy(GraphEntry &entry) {
  entry.storages.clear();
  entry.keptBytes = 0;
  if (entry.lane) {
    entry.lane->kept.leave(&entry);
  }
  if (entry.ofOperators.object) {
    entry.graph = nullptr;
    entry.ofOperators = {};
  } else if (entry.graph) {
    driver->call().cuGraphExecDestroy(std::exchange(entry.graph, nullptr));
    if (entry.source) {
      driver->call().cuGraphDestroy(std::exchange(entry.source, nullptr));
    }
  }
  entry.lane.reset();
}

} // namespace frit
