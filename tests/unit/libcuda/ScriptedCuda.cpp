// A library called libcuda.so.1 with the scripted driver. Code that opens the driver by its name,
// as the runtime does, gets this library if it is already loaded. Functions are looked up by name.

#include "tests/unit/runtime/torch/ScriptedCuda.h"

extern "C" {

fakecuda::FakeDriver *fritScriptedDriver() { return &fakecuda::fake; }

__attribute__((visibility("default"))) frit::DriverCode
cuGetProcAddress_v2(const char *name, void **function, int, uint64_t, void *) {
  static const frit::DriverTable table = fakecuda::fakeTable();
  *function = nullptr;
#define FRIT_DRIVER_SYMBOL(symbol, version, parameters)                                            \
  if (std::strcmp(name, #symbol) == 0) {                                                           \
    *function = reinterpret_cast<void *>(table.symbol);                                            \
  }
#include "runtime/cuda/DriverSymbols.inc"
#undef FRIT_DRIVER_SYMBOL
  return *function ? 0 : 500;
}
}
