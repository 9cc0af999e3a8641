// Compiled once a target, with FRIT_FUZZ_TARGET as its function and FRIT_FUZZ_HEADER as where that
// is declared.

#include FRIT_FUZZ_HEADER

#include <cstddef>
#include <cstdint>

// A file may ask for any amount of memory: refusing it is the reader's matter, not the allocator's.
// Poisoning by hand is off because LLVM's arenas do it in headers, which are instrumented here, and
// not in the library, which is not.
extern "C" const char *__asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=1024:allow_user_poisoning=0";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using Input = FRIT_FUZZ_INPUT;
  frit::FRIT_FUZZ_TARGET(Input(reinterpret_cast<Input::const_pointer>(data), size));
  return 0;
}
