// The CUDA graphs of one plan by key, with bounds on their number: the least recently used are
// evicted. The caller holds the lock that guards the entries.

#pragma once

#include "runtime/cuda/GraphCounts.h"
#include "runtime/cuda/GraphEntry.h"

#include <map>

namespace frit {

class GraphCache {
public:
  GraphCache(std::shared_ptr<Driver> driver, GraphCounts &counts)
      : driver(std::move(driver)), counts(counts) {}
  ~GraphCache();
  GraphCache(const GraphCache &) = delete;
  GraphCache &operator=(const GraphCache &) = delete;

  /// The entry of a key, made if there is none, and whether it is new. It is now the one in use,
  /// which is never evicted.
  std::pair<GraphEntry &, bool> use(const GraphKey &key);
  /// Null if there is none.
  GraphEntry *find(const GraphKey &key);
  /// Evicts the least recently used entries beyond the bounds.
  void makeRoom();
  /// Destroys the graph of an entry, which stays.
  void drop(GraphEntry &entry);
  /// Destroys all graphs and entries.
  void dropAll();
  /// Why capturing another graph would not pay; empty if it would.
  std::string whyNoMore() const;

  /// The most cached graphs, and the most of them with saved results in separate memory.
  size_t mostGraphs = 16;
  static constexpr size_t kMostKeeping = 4;
  /// The most cached keys without a graph.
  static constexpr size_t kMostKeys = 128;

private:
  void evictOldest(size_t most, bool (*isOne)(const GraphEntry &));
  void destroy(GraphEntry &entry);

  std::shared_ptr<Driver> driver;
  GraphCounts &counts;
  std::map<GraphKey, GraphEntry> entries;
  uint64_t clock = 0;
};

} // namespace frit
