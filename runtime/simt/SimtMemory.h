// The memory of an emulated launch and what is known about each byte of it. Kernels run on copies
// of their buffers, laid far apart in a reserved range of addresses, so that no access beside a
// buffer can fall into another one. Beside each byte stands who wrote and who read it last and in
// which epoch (epochs are counted by the barriers of a block); two accesses of one byte conflict
// when one of them is a store, their threads differ, and no barrier of their common block (or
// cluster) lies between them. Other blocks are never ordered with each other inside a launch. What
// is known lies in pages that come into being when a byte of them is touched first, and so does the
// copy: a buffer may span more than the machine has, as a view with large strides does.
//
// Buffers that share storage (a kernel that works in place) share the bytes and the knowledge.

#pragma once

#include <bitset>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace frit {

struct SimtBuffer {
  std::string name;
  void *data = nullptr;
  uint64_t bytes = 0;
  bool isWritten = false;
  /// Whether its contents may be read before the kernel has written them.
  bool isInitialised = true;
  /// Whether the kernel brings it along and nobody looks at it afterwards.
  bool isScratch = false;
  /// The bytes of its elements, where these lie so far apart that they are fewer than `bytes`.
  std::optional<uint64_t> reach = std::nullopt;
};

/// Bytes of global memory that a kernel moves, and that it has to move: what it reads of its
/// operands and writes of its results, each byte once. The workspace has no share in the latter. A
/// byte that several lanes of a warp ask for, between two barriers, comes once; a buffer of less
/// than a 64th of all bytes (a weight that every row reads) stays in the cache.
struct SimtTraffic {
  /// Neighbours, by the addresses of the caller.
  struct Span {
    uint64_t begin, end;
  };
  uint64_t moved = 0, mandatory = 0;
  /// What it read of its buffers before it wrote there, and what it wrote; without the workspace.
  std::vector<Span> read, written;
};

/// Who makes an access.
struct SimtActor {
  /// Number of the block in its launch plus one.
  uint32_t block;
  uint32_t thread;
  uint32_t epoch;
  /// The first block of its cluster, how many there are, and the epoch that began with their last
  /// common barrier.
  uint32_t firstBlock, blocks, commonEpoch;

  bool isPartner(uint32_t other) const {
    return other >= firstBlock && other - firstBlock < blocks;
  }
  /// Whether what a thread did in an epoch is over before this access.
  bool isBehind(uint32_t otherBlock, uint32_t otherThread, uint32_t otherEpoch) const {
    return otherBlock == block ? otherThread == thread || otherEpoch < epoch
                               : isPartner(otherBlock) && otherEpoch < commonEpoch;
  }
};

class SimtMemory {
public:
  SimtMemory() = default;
  ~SimtMemory();
  SimtMemory(const SimtMemory &) = delete;
  SimtMemory &operator=(const SimtMemory &) = delete;

  /// False when the system gives no address range.
  bool open(const std::vector<SimtBuffer> &buffers);
  /// Where the kernel sees buffer number `index`.
  void *address(size_t index) const { return places[index]; }
  /// Shared memory of the block that is number `member` of the current cluster; its bytes are
  /// undefined for every new block.
  void *openShared(uint32_t bytes, uint32_t member);
  /// Whose shared memory an address lies in: a member of the cluster, or none.
  std::optional<uint32_t> ownerOf(const void *address) const;

  /// Launches are ordered: forgets who did what, not what has been written.
  void beginLaunch();
  /// Empty, or what is wrong with the access, in words.
  std::string access(const SimtActor &actor, const void *address, uint64_t bytes, bool isStore,
                     bool isShared);
  /// Copies the bytes that were written back to the buffers.
  void close();
  /// Over all launches so far.
  SimtTraffic getTraffic() const;

private:
  struct ByteState {
    uint32_t writerBlock, writerThread, writerEpoch;
    uint32_t readerBlock, readerThread, readerEpoch;
    /// The last reader; `readerThread` stays with the first of several.
    uint32_t asker;
    /// Several threads of the reader's block in its epoch; blocks of several clusters; several
    /// blocks of the reader's cluster.
    bool severalThreads, severalBlocks, severalPartners;
  };
  static constexpr uint64_t kPage = 4096;
  struct Page {
    ByteState states[kPage];
    /// Bytes with a value, bytes that the kernel gave one, and bytes that it read before that.
    std::bitset<kPage> written, dirty, seen;
  };
  struct Region {
    std::string name;
    uint8_t *host;
    uint8_t *place;
    uint64_t bytes;
    bool isWritten, isInitialised, isScratch;
    /// Null until a byte of it is touched.
    std::vector<std::unique_ptr<Page>> pages;
    uint64_t moved = 0;

    Page &page(uint64_t offset);
    uint64_t count(std::bitset<kPage> Page::*bits) const;
    void addSpans(std::bitset<kPage> Page::*bits, std::vector<SimtTraffic::Span> &spans) const;
  };

  std::string touch(Region &region, const SimtActor &actor, uint64_t offset, uint64_t bytes,
                    bool isStore, bool isShared);
  static std::string describe(const Region &region, uint64_t offset, uint64_t bytes, bool isStore);

  uint8_t *reserved = nullptr;
  uint64_t reservedBytes = 0;
  std::vector<Region> regions;
  std::vector<void *> places;
  struct Shared {
    std::unique_ptr<Region> region;
    std::unique_ptr<uint8_t, void (*)(void *)> memory{nullptr, std::free};
  };
  std::vector<Shared> shared;
  size_t lastRegion = 0;
};

} // namespace frit
