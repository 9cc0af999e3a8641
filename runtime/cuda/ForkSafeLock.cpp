#include "runtime/cuda/ForkSafeLock.h"

#include <pthread.h>
#include <unistd.h>

namespace frit {

namespace {

std::atomic<uint64_t> forks{0};
/// Registered when the library is loaded, before any fork can happen.
[[maybe_unused]] const int isRegistered =
    ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

} // namespace

uint64_t forkGeneration() { return forks.load(std::memory_order_relaxed); }

bool ForkSafeLock::lock() {
  uint64_t own = forkGeneration() + 1;
  for (unsigned tries = 0;; ++tries) {
    uint64_t seen = 0;
    if (holder.compare_exchange_weak(seen, own, std::memory_order_acquire)) {
      return true;
    }
    if (seen != 0 && seen != own) {
      return false;
    }
    // Locks are usually held briefly, but may be held while the driver compiles.
    if (tries > 100) {
      ::usleep(tries > 1000 ? 1000 : 20);
    }
  }
}

} // namespace frit
