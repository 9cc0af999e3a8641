// A lock that a forked child may ask for although a thread of its parent held it at the fork. With
// std::mutex the child would wait for a thread that it does not have; here it is told.

#pragma once

#include <atomic>
#include <cstdint>

namespace frit {

/// How many forks lie between the process this library was loaded in and this one.
uint64_t forkGeneration();

class ForkSafeLock {
public:
  /// Waits for the lock; false where its holder stayed behind in the process this one was forked
  /// from.
  [[nodiscard]] bool lock();
  void unlock() { holder.store(0, std::memory_order_release); }

private:
  /// Generation of the process that holds it and one; 0 while it is free.
  std::atomic<uint64_t> holder{0};
};

/// Holds a lock for a scope. Look at `held` first.
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
