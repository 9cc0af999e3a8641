#include "runtime/simt/SimtMemory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include <sys/mman.h>

namespace frit {

namespace {
constexpr uint64_t kGap = uint64_t(1) << 32;
constexpr uint64_t kCachedPart = 64;
} // namespace

SimtMemory::Page &SimtMemory::Region::page(uint64_t offset) {
  std::unique_ptr<Page> &page = pages[offset / kPage];
  if (!page) {
    page = std::make_unique<Page>();
    if (isInitialised) {
      page->written.set();
    }
    if (host) {
      uint64_t begin = offset / kPage * kPage;
      std::memcpy(place + begin, host + begin, std::min(kPage, bytes - begin));
    }
  }
  return *page;
}

uint64_t SimtMemory::Region::count(std::bitset<kPage> Page::*bits) const {
  uint64_t found = 0;
  for (const auto &page : pages) {
    found += page ? (page.get()->*bits).count() : 0;
  }
  return found;
}

void SimtMemory::Region::addSpans(std::bitset<kPage> Page::*bits,
                                  std::vector<SimtTraffic::Span> &spans) const {
  for (uint64_t number = 0; number < pages.size(); ++number) {
    for (uint64_t i = 0; pages[number] && i < kPage; ++i) {
      if (!(pages[number].get()->*bits)[i]) {
        continue;
      }
      uint64_t at = reinterpret_cast<uintptr_t>(host) + number * kPage + i;
      if (spans.empty() || spans.back().end != at) {
        spans.push_back({at, at});
      }
      ++spans.back().end;
    }
  }
}

SimtMemory::~SimtMemory() {
  if (reserved) {
    munmap(reserved, reservedBytes);
  }
}

bool SimtMemory::open(const std::vector<SimtBuffer> &buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].data < buffers[b].data; });
  reservedBytes = kGap;
  for (const SimtBuffer &buffer : buffers) {
    reservedBytes += (buffer.bytes / kPage + 2) * kPage + kGap;
  }
  void *range =
      mmap(nullptr, reservedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    return false;
  }
  reserved = static_cast<uint8_t *>(range);
  places.assign(buffers.size(), nullptr);
  uint64_t next = kGap;
  for (size_t first = 0; first < order.size();) {
    // Buffers that overlap form one region.
    auto *begin = static_cast<uint8_t *>(buffers[order[first]].data), *end = begin;
    size_t last = first;
    Region region{"", begin, nullptr, 0, false, false, true, {}};
    for (; last < order.size(); ++last) {
      const SimtBuffer &buffer = buffers[order[last]];
      auto *from = static_cast<uint8_t *>(buffer.data);
      if (last > first && (from >= end || buffer.bytes == 0)) {
        break;
      }
      end = std::max(end, from + buffer.bytes);
      region.name += (region.name.empty() ? "" : " = ") + buffer.name;
      region.isWritten |= buffer.isWritten;
      region.isInitialised |= buffer.isInitialised;
      region.isScratch &= buffer.isScratch;
    }
    region.bytes = end - begin;
    // The copy keeps the alignment, which decides between vector and scalar accesses.
    uint64_t misalignment = reinterpret_cast<uintptr_t>(begin) % 256;
    region.place = reserved + next + misalignment;
    uint64_t mapped = ((misalignment + region.bytes) / kPage + 1) * kPage;
    if (mprotect(reserved + next, mapped, PROT_READ | PROT_WRITE) != 0) {
      return false;
    }
    for (size_t i = first; i < last; ++i) {
      places[order[i]] = region.place + (static_cast<uint8_t *>(buffers[order[i]].data) - begin);
    }
    region.pages.resize(region.bytes / kPage + 1);
    regions.push_back(std::move(region));
    next += mapped + kGap;
    first = last;
  }
  return true;
}

void *SimtMemory::openShared(uint32_t bytes, uint32_t member) {
  if (shared.size() <= member) {
    shared.resize(member + 1);
  }
  Shared &own = shared[member];
  if (!own.region || own.region->bytes != bytes) {
    own.region = std::make_unique<Region>(
        Region{"shared memory", nullptr, nullptr, bytes, true, false, true, {}});
    own.region->pages.resize(bytes / kPage + 1);
    own.region->place = static_cast<uint8_t *>(std::aligned_alloc(256, (bytes / 256 + 1) * 256));
    own.memory.reset(own.region->place);
  }
  return own.region->place;
}

std::optional<uint32_t> SimtMemory::ownerOf(const void *address) const {
  auto *at = static_cast<const uint8_t *>(address);
  for (uint32_t member = 0; member < shared.size(); ++member) {
    const Region &region = *shared[member].region;
    if (at >= region.place && at < region.place + region.bytes) {
      return member;
    }
  }
  return std::nullopt;
}

void SimtMemory::beginLaunch() {
  for (Region &region : regions) {
    for (const auto &page : region.pages) {
      if (page) {
        std::memset(page->states, 0, sizeof(page->states));
      }
    }
  }
  shared.clear();
}

std::string SimtMemory::describe(const Region &region, uint64_t offset, uint64_t bytes,
                                 bool isStore) {
  return std::string(isStore ? "store of " : "load of ") + std::to_string(bytes) +
         " bytes at offset " + std::to_string(static_cast<int64_t>(offset)) + " of " + region.name +
         " (" + std::to_string(region.bytes) + " bytes)";
}

std::string SimtMemory::access(const SimtActor &actor, const void *address, uint64_t bytes,
                               bool isStore, bool isShared) {
  auto *at = static_cast<const uint8_t *>(address);
  auto misaligned = [&](const Region &region) -> std::string {
    // A device has vector accesses of up to 16 bytes; longer ones are split.
    uint64_t alignment = std::min<uint64_t>(bytes, 16);
    if ((bytes & (bytes - 1)) == 0 && reinterpret_cast<uintptr_t>(at) % alignment != 0) {
      return describe(region, at - region.place, bytes, isStore) + " is not aligned to its size";
    }
    return {};
  };
  if (isShared) {
    std::optional<uint32_t> owner = ownerOf(address);
    Region none{"shared memory", nullptr, nullptr, 0, true, false, true, {}};
    Region &region = owner            ? *shared[*owner].region
                     : shared.empty() ? none
                                      : *shared[actor.block - actor.firstBlock].region;
    if (!owner || at + bytes > region.place + region.bytes) {
      return describe(region, at - region.place, bytes, isStore) + " is out of bounds";
    }
    std::string wrong = misaligned(region);
    return wrong.empty() ? touch(region, actor, at - region.place, bytes, isStore, true) : wrong;
  }
  auto inside = [&](const Region &region) {
    return at >= region.place && at + bytes <= region.place + region.bytes;
  };
  if (lastRegion >= regions.size() || !inside(regions[lastRegion])) {
    size_t nearest = 0;
    uint64_t distance = ~uint64_t(0);
    for (size_t i = 0; i < regions.size(); ++i) {
      auto away = static_cast<uint64_t>(std::llabs(at - regions[i].place));
      if (inside(regions[i])) {
        nearest = i;
        break;
      }
      if (away < distance) {
        distance = away;
        nearest = i;
      }
    }
    if (regions.empty()) {
      return "access without any buffer";
    }
    if (!inside(regions[nearest])) {
      return describe(regions[nearest], at - regions[nearest].place, bytes, isStore) +
             " is out of bounds";
    }
    lastRegion = nearest;
  }
  Region &region = regions[lastRegion];
  if (isStore && !region.isWritten) {
    return describe(region, at - region.place, bytes, isStore) + ", which the kernel may only read";
  }
  std::string wrong = misaligned(region);
  return wrong.empty() ? touch(region, actor, at - region.place, bytes, isStore, false) : wrong;
}

std::string SimtMemory::touch(Region &region, const SimtActor &actor, uint64_t offset,
                              uint64_t bytes, bool isStore, bool isShared) {
  auto other = [&](const char *what, uint32_t block, uint32_t thread) {
    return describe(region, offset, bytes, isStore) + " races with a " + what + " by thread " +
           std::to_string(thread) + " of block " + std::to_string(block - 1);
  };
  for (uint64_t i = offset; i < offset + bytes; ++i) {
    Page &page = region.page(i);
    const uint64_t within = i % kPage;
    ByteState &state = page.states[within];
    if (!isShared) {
      bool isSameWarp = state.readerBlock == actor.block && state.readerEpoch == actor.epoch &&
                        state.asker != actor.thread && state.asker / kWarp == actor.thread / kWarp;
      region.moved += isStore || !isSameWarp;
      state.asker = isStore ? state.asker : actor.thread;
      page.seen[within] = page.seen[within] || (!isStore && !page.dirty[within]);
    }
    // The contents of shared memory are undefined at the start of every cluster.
    bool isWritten = isShared ? actor.isPartner(state.writerBlock) : state.writerBlock != 0;
    if (!isStore && !(isShared ? isWritten : page.written[within])) {
      return describe(region, offset, bytes, isStore) + " reads byte " + std::to_string(i) +
             ", which nobody has written";
    }
    if (isWritten && !actor.isBehind(state.writerBlock, state.writerThread, state.writerEpoch)) {
      return other("store", state.writerBlock, state.writerThread);
    }
    bool mine = state.readerBlock == actor.block, partners = actor.isPartner(state.readerBlock);
    if (!isStore) {
      bool sameEpoch = mine && state.readerEpoch == actor.epoch,
           unordered = partners && state.readerEpoch >= actor.commonEpoch;
      state.severalThreads =
          sameEpoch && (state.severalThreads || state.readerThread != actor.thread);
      state.severalBlocks |= state.readerBlock && !partners;
      state.severalPartners = unordered && (state.severalPartners || !mine);
      if (!sameEpoch || !state.severalThreads) {
        state.readerThread = actor.thread;
      }
      state.readerBlock = actor.block;
      state.readerEpoch =
          state.severalPartners ? std::max(state.readerEpoch, actor.epoch) : actor.epoch;
      continue;
    }
    bool isElsewhere = state.readerBlock && !isShared && (!partners || state.severalBlocks);
    bool isUnordered =
        partners && (!mine || state.severalPartners) && state.readerEpoch >= actor.commonEpoch;
    bool isHere = mine && state.readerEpoch == actor.epoch &&
                  (state.severalThreads || state.readerThread != actor.thread);
    if (isElsewhere || isUnordered || isHere) {
      return other("load", state.readerBlock, state.readerThread);
    }
    state.writerBlock = actor.block;
    state.writerThread = actor.thread;
    state.writerEpoch = actor.epoch;
    if (!isShared) {
      page.written[within] = true;
      page.dirty[within] = true;
    }
  }
  return {};
}

void SimtMemory::close() {
  for (Region &region : regions) {
    for (uint64_t number = 0; region.isWritten && number < region.pages.size(); ++number) {
      for (uint64_t i = 0; region.pages[number] && i < kPage; ++i) {
        if (region.pages[number]->dirty[i]) {
          region.host[number * kPage + i] = region.place[number * kPage + i];
        }
      }
    }
  }
}

SimtTraffic SimtMemory::getTraffic() const {
  SimtTraffic traffic;
  std::vector<uint64_t> once;
  for (const Region &region : regions) {
    once.push_back(region.count(&Page::seen) + region.count(&Page::dirty));
    if (!region.isScratch) {
      traffic.mandatory += once.back();
      region.addSpans(&Page::seen, traffic.read);
      region.addSpans(&Page::dirty, traffic.written);
    }
  }
  for (size_t i = 0; i < regions.size(); ++i) {
    bool staysInCache = once[i] * kCachedPart < traffic.mandatory;
    traffic.moved += staysInCache ? std::min(regions[i].moved, once[i]) : regions[i].moved;
  }
  return traffic;
}

} // namespace frit
