// Large blocks of CPU memory for temporaries, kept from one call to the next. A fresh block of tens
// of MiB costs a page fault for each of its pages, three times what it takes to fill it; blocks
// asked for at bucket size fit the next call too.
//
// Keeping must not cost memory: kept and used blocks together never exceed the most that was ever
// in use at once, and what is kept is marked so that the system takes its pages back before it runs
// short. Blocks may outlive a call: a tensor whose storage is a block brings it back when it dies.

#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>
#include <mutex>
#include <vector>

namespace frit {

class BlockStock {
public:
  /// The stock of this process.
  static BlockStock &ofProcess();

  /// A block of at least `capacity` bytes, 64-byte aligned; null when memory has run out.
  void *take(uint64_t capacity);
  void give(void *block);
  /// The same as the storage of a tensor.
  c10::DataPtr takeStorage(uint64_t capacity);

  /// Frees what is kept.
  void clear();
  uint64_t keptBytes();
  /// How often a kept block was taken, and how often a new one was made.
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
