// The memory of an emulated launch, and the state of each byte. Kernels run on copies of their
// buffers that are far apart in a reserved range of addresses, so an access beyond a buffer cannot
// hit another one. Each byte records its last writer and reader and their epochs (counted by the
// barriers of a block). Two accesses of a byte conflict if one of them is a store, their threads
// differ, and no barrier of their common block (or cluster) is between them. Different blocks (or
// clusters) are never ordered inside of a launch. State and copy are allocated in pages on first
// access: a buffer may span more than the machine's memory, as a view with large strides does.
//
// Buffers that share storage (of a kernel that works in place) share bytes and state.

#pragma once

#include <bitset>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace frit {

constexpr uint32_t kWarp = 32;

struct SimtBuffer {
  std::string name;
  void *data = nullptr;
  uint64_t bytes = 0;
  bool isWritten = false;
  /// Whether its contents may be read before the kernel has written them.
  bool isInitialised = true;
  /// Whether it is scratch memory of the kernel whose contents are not used afterwards.
  bool isScratch = false;
  /// The bytes of its elements, if they are fewer than `bytes` because of large strides.
  std::optional<uint64_t> reach = std::nullopt;
};

/// Bytes of global memory that a kernel moves, and that it has to move: the operands that it reads
/// and the results that it writes, each byte once, without the workspace. A byte that several lanes
/// of a warp access between two barriers is moved once; a buffer with less than a 64th of all bytes
/// (a weight that every row reads) is assumed to stay in the cache.
struct SimtTraffic {
  /// A range of addresses of the caller.
  struct Span {
    uint64_t begin, end;
  };
  uint64_t moved = 0, mandatory = 0;
  /// Bytes of the buffers that were read before they were written, and those that were written;
  /// without the workspace.
  std::vector<Span> read, written;
};

/// The thread that makes an access.
struct SimtActor {
  /// The number of the block in its launch, plus one.
  uint32_t block;
  uint32_t thread;
  uint32_t epoch;
  /// The first block of its cluster, the number of blocks, and the epoch that began with their last
  /// cluster barrier.
  uint32_t firstBlock, blocks, commonEpoch;

  bool isPartner(uint32_t other) const {
    return other >= firstBlock && other - firstBlock < blocks;
  }
  /// Whether an access by that thread in that epoch is ordered before this access.
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

  /// False if the system has no address range left.
  bool open(const std::vector<SimtBuffer> &buffers);
  /// The address of buffer number `index` for the kernel.
  void *address(size_t index) const { return places[index]; }
  /// Shared memory of block number `member` of the current cluster; its bytes are undefined for
  /// every new block.
  void *openShared(uint32_t bytes, uint32_t member);
  /// The member of the cluster whose shared memory contains an address; nullopt if there is none.
  std::optional<uint32_t> ownerOf(const void *address) const;

  /// Forgets accesses, but not which bytes are written, because launches are ordered.
  void beginLaunch();
  /// Checks and records an access; returns an error or an empty string.
  std::string access(const SimtActor &actor, const void *address, uint64_t bytes, bool isStore,
                     bool isShared);
  /// Copies the written bytes back to the buffers.
  void close();
  /// Over all launches so far.
  SimtTraffic getTraffic() const;

private:
  struct ByteState {
    uint32_t writerBlock, writerThread, writerEpoch;
    uint32_t readerBlock, readerThread, readerEpoch;
    /// The last reader; `readerThread` remains the first of several.
    uint32_t asker;
    /// Whether it was read by several threads of the reader's block in that epoch, by blocks of
    /// several clusters, and by several blocks of the reader's cluster since its last barrier.
    bool severalThreads, severalBlocks, severalPartners;
  };
  static constexpr uint64_t kPage = 4096;
  struct Page {
    ByteState states[kPage];
    /// Bytes with a value, bytes that the kernel wrote, and bytes that it read before writing them.
    std::bitset<kPage> written, dirty, seen;
  };
  struct Region {
    std::string name;
    uint8_t *host;
    uint8_t *place;
    uint64_t bytes;
    bool isWritten, isInitialised, isScratch;
    /// Null until a byte of the page is accessed.
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
