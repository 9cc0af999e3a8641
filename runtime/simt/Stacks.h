#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/mman.h>

namespace frit {

constexpr size_t kStackBytes = size_t(128) << 10;

/// The stacks of all threads of a block; the system allocates pages on first access.
class Stacks {
public:
  explicit Stacks(uint32_t count) : bytes(count * kStackBytes) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~Stacks() {
    if (memory != MAP_FAILED) {
      munmap(memory, bytes);
    }
  }
  bool isOk() const { return memory != MAP_FAILED; }
  void *operator[](uint32_t index) const {
    return static_cast<char *>(memory) + index * kStackBytes;
  }

private:
  void *memory;
  size_t bytes;
};

} // namespace frit
