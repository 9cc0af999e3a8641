#include "runtime/torch/BlockCache.h"

#include <c10/core/CPUAllocator.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace frit {

namespace {

/// The bytes of the header with a block's size; a multiple of the alignment.
constexpr uint64_t kHeader = 64;
/// More blocks than a call has live temporaries would be useless.
constexpr size_t kMostBlocks = 64;

uint64_t &sizeOf(void *block) {
  return *reinterpret_cast<uint64_t *>(static_cast<char *>(block) - kHeader);
}

void *make(uint64_t bytes) {
  try {
    void *memory = c10::GetCPUAllocator()->raw_allocate(bytes + kHeader);
    void *block = memory ? static_cast<char *>(memory) + kHeader : nullptr;
    if (block) {
      sizeOf(block) = bytes;
    }
    return block;
  } catch (...) {
    return nullptr;
  }
}

/// Lets the system take back the pages of an unused block when it needs memory. Until it does, the
/// pages are reused without page faults.
void offerPages(void *block, uint64_t bytes) {
  auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  uintptr_t begin = (reinterpret_cast<uintptr_t>(block) + page - 1) / page * page;
  uintptr_t end = (reinterpret_cast<uintptr_t>(block) + bytes) / page * page;
  if (begin < end) {
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_FREE);
  }
}

} // namespace

BlockCache &BlockCache::ofProcess() {
  static auto *cache = new BlockCache();
  return *cache;
}

void BlockCache::drop(size_t number) {
  keptSum -= kept[number].bytes;
  c10::GetCPUAllocator()->raw_deallocate(static_cast<char *>(kept[number].start) - kHeader);
  kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(number));
}

void *BlockCache::take(uint64_t capacity) {
  std::lock_guard<std::mutex> guard(lock);
  // Takes the smallest block that fits, unless it is far too large; then it is left to others.
  size_t best = kept.size();
  for (size_t number = 0; number < kept.size(); ++number) {
    uint64_t bytes = kept[number].bytes;
    if (bytes >= capacity && bytes - capacity <= capacity / 4 &&
        (best == kept.size() || bytes < kept[best].bytes)) {
      best = number;
    }
  }
  if (best != kept.size()) {
    Block block = kept[best];
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(best));
    keptSum -= block.bytes;
    used += block.bytes;
    ++reuses;
    return block.start;
  }
  // A new block must not raise the total above the most ever in use at once, so the oldest cached
  // blocks are freed.
  uint64_t allowed = std::max(most, used + capacity);
  while (!kept.empty() && used + keptSum + capacity > allowed) {
    drop(0);
  }
  void *block = make(capacity);
  if (block) {
    used += capacity;
    most = std::max(most, used);
    ++makes;
  }
  return block;
}

void BlockCache::give(void *block) {
  uint64_t bytes = sizeOf(block);
  std::lock_guard<std::mutex> guard(lock);
  used -= bytes;
  if (kept.size() == kMostBlocks) {
    drop(0);
  }
  offerPages(block, bytes);
  kept.push_back({block, bytes});
  keptSum += bytes;
}

c10::DataPtr BlockCache::takeStorage(uint64_t capacity) {
  void *block = take(capacity);
  return {block, block,
          [](void *memory) {
            if (memory) {
              ofProcess().give(memory);
            }
          },
          c10::Device(c10::DeviceType::CPU)};
}

void BlockCache::clear() {
  std::lock_guard<std::mutex> guard(lock);
  while (!kept.empty()) {
    drop(kept.size() - 1);
  }
  most = used;
}

uint64_t BlockCache::keptBytes() {
  std::lock_guard<std::mutex> guard(lock);
  return keptSum;
}

} // namespace frit
