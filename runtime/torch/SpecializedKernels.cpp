#include "runtime/torch/SpecializedKernels.h"

#include "runtime/torch/TorchExecutable.h"

namespace frit {

SpecializedKernels::SpecializedKernels() = default;

SpecializedKernels::~SpecializedKernels() {
  for (Entry &entry : entries) {
    delete entry.executable.load();
  }
}

SpecializedKernels::Entry *SpecializedKernels::at(uint64_t key) {
  uint64_t stored = key + 1;
  size_t place = (key * 0x9E3779B97F4A7C15ULL) >> 57;
  static_assert(2 * kMost == 128, "the seven highest bits choose");
  for (;; place = (place + 1) % entries.size()) {
    Entry &entry = entries[place];
    uint64_t known = entry.key.load(std::memory_order_acquire);
    if (known == stored) {
      return &entry;
    }
    if (known != 0) {
      continue;
    }
    if (used.load(std::memory_order_relaxed) >= kMost || used.fetch_add(1) >= kMost) {
      return nullptr;
    }
    if (entry.key.compare_exchange_strong(known, stored)) {
      return &entry;
    }
    // Another thread took the slot.
    used.fetch_sub(1);
    if (known == stored) {
      return &entry;
    }
  }
}

void SpecializedKernels::count(Entry &entry, uint64_t key) {
  if (entry.calls.fetch_add(1, std::memory_order_relaxed) + 1 == kCallsBefore) {
    std::lock_guard<std::mutex> guard(lock);
    wanted.push_back(key);
    anyWanted.store(true, std::memory_order_relaxed);
  }
}

std::optional<uint64_t> SpecializedKernels::popWanted() {
  std::lock_guard<std::mutex> guard(lock);
  if (wanted.empty()) {
    return std::nullopt;
  }
  uint64_t key = wanted.back();
  wanted.pop_back();
  anyWanted.store(!wanted.empty(), std::memory_order_relaxed);
  return key;
}

Status SpecializedKernels::install(uint64_t key, std::unique_ptr<TorchExecutable> executable) {
  Entry *entry = at(key);
  if (!entry) {
    return Status::error(ErrorKind::BadInput,
                         "there are kernels for " + std::to_string(kMost) + " buckets already");
  }
  TorchExecutable *none = nullptr;
  if (entry->executable.compare_exchange_strong(none, executable.get(),
                                                std::memory_order_acq_rel)) {
    (void)executable.release(); // The entry owns it now.
  }
  return Status::ok();
}

} // namespace frit
