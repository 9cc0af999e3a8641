// LLVM asks libc for random numbers by `arc4random`, which glibc has since 2.36 and nothing else in
// the library needs. This definition takes its place, so that the library runs with glibc 2.35.

#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

// It is declared where libc has it, as one that throws nothing.
extern "C" uint32_t arc4random() noexcept {
  uint32_t number = 0;
  // So few bytes come at once, or the kernel is older than getrandom.
  if (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
    std::abort();
  }
  return number;
}
