#pragma once

#include <cstdint>
#include <vector>

namespace frit {

/// A barrier object in the shared memory of a block. What is sent to it becomes visible when all of
/// it has come; until then, a read finds nothing written there.
struct Exchange {
  struct Sent {
    void *address;
    uint64_t value, bytes;
  };
  uint64_t expected = 0, received = 0;
  std::vector<Sent> sent;
};

} // namespace frit
