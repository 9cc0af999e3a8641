// Compiled once a target, with FRIT_FUZZ_TARGET as its function.

#include "tests/fuzz/Targets.h"

#include <cstddef>

// A file may ask for any amount of memory: refusing it is the reader's matter, not the allocator's.
extern "C" const char *__asan_default_options() { return "allocator_may_return_null=1:max_allocation_size_mb=1024"; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  frit::FRIT_FUZZ_TARGET({data, size});
  return 0;
}
