// A lock that works in a forked child although a thread of the parent held it at the fork. With
// std::mutex the child would wait forever for a thread that it does not have; here lock() fails.

#pragma once

#include <atomic>
#include <cstdint>

namespace frit {

/// The number of forks between the process that loaded this library and this one.
uint64_t forkGeneration();

class ForkSafeLock {
public:
  /// Waits for the lock; false if its holder is a thread of the parent process.
  [[nodiscard]] bool lock();
  void unlock() { holder.store(0, std::memory_order_release); }

private:
  /// The fork generation of the holder plus one; 0 while it is free.
  std::atomic<uint64_t> holder{0};
};

/// Holds a lock for a scope, if `held`.
class ForkSafeGuard {
public:
  explicit ForkSafeGuard(ForkSafeLock &lock) : guarded(lock), held(lock.lock()) {}
  ~ForkSafeGuard() {
    if (held) {
      guarded.unlock();
    }
  }
  ForkSafeGuard(const ForkSafeGuard &) = delete;
  ForkSafeGuard &operator=(const ForkSafeGuard &) = delete;

private:
  ForkSafeLock &guarded;

public:
  const bool held;
};

} // namespace frit
