// Kernels compiled for single buckets of an executable's sizes while it runs: selects those of a
// call, and decides which to compile.
//
// A call looks up the number of its buckets. The first calls of a bucket are only counted; then the
// bucket is requested, and frit.sizes.specialize compiles for it in the background and installs the
// result between any two calls. Until then, or if compilation fails, there is no entry and the
// generic executable runs. Entries are never removed, so lookups need no lock.

#pragma once

#include "runtime/artifact/Status.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace frit {

class TorchExecutable;

class SpecializedKernels {
public:
  /// The most combinations of buckets with kernels; a graph has as many bucket entries at most.
  static constexpr uint32_t kMost = 64;
  /// A bucket that occurs only once is not worth a compilation.
  static constexpr uint32_t kCallsBefore = 2;

  SpecializedKernels();
  ~SpecializedKernels();

  /// The kernels for these buckets, or null. Counts the call.
  TorchExecutable *find(uint64_t key) {
    Entry *entry = at(key);
    if (!entry) {
      return nullptr;
    }
    if (TorchExecutable *made = entry->executable.load(std::memory_order_acquire)) {
      return made;
    }
    if (entry->calls.load(std::memory_order_relaxed) < kCallsBefore) {
      count(*entry, key);
    }
    return nullptr;
  }

  /// Returns the next bucket with enough calls; each bucket is returned only once.
  std::optional<uint64_t> takeWanted() {
    return anyWanted.load(std::memory_order_relaxed) ? popWanted() : std::nullopt;
  }

  /// Makes calls of these buckets run `executable`, unless they have one already.
  Status install(uint64_t key, std::unique_ptr<TorchExecutable> executable);
  void noteFailure() { failures.fetch_add(1, std::memory_order_relaxed); }
  uint64_t failed() const { return failures.load(std::memory_order_relaxed); }

  template <typename F> void forEach(F visit) const {
    for (const Entry &entry : entries) {
      if (const TorchExecutable *made = entry.executable.load(std::memory_order_acquire)) {
        visit(*made);
      }
    }
  }

private:
  struct Entry {
    /// The key plus one; 0 while the entry is free.
    std::atomic<uint64_t> key{0};
    std::atomic<uint32_t> calls{0};
    std::atomic<TorchExecutable *> executable{nullptr};
  };
  /// The entry of `key`, made if it is new; null if there are already kMost others.
  Entry *at(uint64_t key);
  void count(Entry &entry, uint64_t key);
  std::optional<uint64_t> popWanted();

  /// Open addressing; at least half of it is always free, so searches end.
  std::array<Entry, 2 * kMost> entries;
  std::atomic<uint32_t> used{0};
  std::atomic<uint64_t> failures{0};
  std::atomic<bool> anyWanted{false};
  std::mutex lock;
  std::vector<uint64_t> wanted;
};

} // namespace frit
