// Kernels compiled for single buckets of an executable's sizes, while it runs: which call takes
// which, and which are wanted.
//
// A call asks by the number of its buckets. The first calls of a bucket only count; then the bucket
// is wanted, somebody compiles for it (frit.sizes.specialize, in the background) and installs what
// was made, between any two calls. Until then, and where it failed, there is nothing here and the
// executable for all sizes serves. Entries are never taken away, so that asking needs no lock.

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
  /// As many as a graph has buckets.
  static constexpr uint32_t kMost = 64;
  /// A bucket that is met once is not worth a compilation.
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

  /// Buckets that calls have met often enough, each once.
  std::optional<uint64_t> takeWanted() {
    return anyWanted.load(std::memory_order_relaxed) ? popWanted() : std::nullopt;
  }

  /// From here on calls of these buckets run `executable`, unless there is one already.
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
    /// The key and one; 0 while it is free.
    std::atomic<uint64_t> key{0};
    std::atomic<uint32_t> calls{0};
    std::atomic<TorchExecutable *> executable{nullptr};
  };
  /// The entry of `key`, made if it is new; null when there are kMost others.
  Entry *at(uint64_t key);
  void count(Entry &entry, uint64_t key);
  std::optional<uint64_t> popWanted();

  /// Open addressing; half of it always stays free, so that a search ends.
  std::array<Entry, 2 * kMost> entries;
  std::atomic<uint32_t> used{0};
  std::atomic<uint64_t> failures{0};
  std::atomic<bool> anyWanted{false};
  std::mutex lock;
  std::vector<uint64_t> wanted;
};

} // namespace frit
