// Large blocks of CPU memory for temporaries, cached between calls. A fresh block of tens
// of MiB costs a page fault for each of its pages, three times as long as filling it takes; blocks
// of bucket size fit the next call too.
//
// This must not increase memory use. Cached and used blocks together never exceed the most that was
// ever in use at once, and the system may take back the pages of cached blocks when it needs
// memory. Blocks may outlive a call: a tensor whose storage is a block returns it when it is
// destroyed.

#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>
#include <mutex>
#include <vector>

namespace frit {

class BlockCache {
public:
  /// The cache of this process.
  static BlockCache &ofProcess();

  /// A block of at least `capacity` bytes, 64-byte aligned; null if there is no memory left.
  void *take(uint64_t capacity);
  void give(void *block);
  /// The same, as a tensor's storage.
  c10::DataPtr takeStorage(uint64_t capacity);

  /// Frees all cached blocks.
  void clear();
  uint64_t keptBytes();
  /// How often a cached block was reused, and how often a new one was made.
  uint64_t reused() const { return reuses; }
  uint64_t made() const { return makes; }

private:
  struct Block {
    void *start;
    uint64_t bytes;
  };
  void drop(size_t number);

  std::mutex lock;
  std::vector<Block> kept;
  uint64_t keptSum = 0, used = 0, most = 0;
  uint64_t reuses = 0, makes = 0;
};

} // namespace frit
