// PTX to a cubin in this process, by NVIDIA's nvJitLink: the compiler the driver has inside, of the toolkit that torch was built with and
// without the driver's cache on disk. It needs no driver and no GPU. The library is opened when the first PTX is loaded, from the CUDA
// wheels beside torch or from the system; where there is none the driver compiles.

#pragma once

#include "runtime/artifact/Status.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace frit {

using LinkHandle = void *;

struct JitLinkerTable {
#define FRIT_LINKER_SYMBOL(name, parameters) int(*name) parameters = nullptr;
#include "runtime/cuda/JitLinkerSymbols.inc"
#undef FRIT_LINKER_SYMBOL
};

class JitLinker {
public:
  /// Over a table that is already filled; `name` is what messages call it.
  JitLinker(const JitLinkerTable &table, std::string name) : call(table), shown(std::move(name)) {}
  /// The machine's; null where none is found, or FRIT_NVJITLINK is "off". That variable may also name the library.
  static const JitLinker *system();
  /// The functions of a library.
  static Result<JitLinkerTable> open(const std::string &library);

  /// PTX to a cubin for sm_`arch`, several kernels side by side. Several threads may call.
  Result<std::string> link(const std::string &ptx, uint32_t arch) const;
  /// "nvJitLink 13.0 (libnvJitLink.so.13)"; ", on one thread" follows once it has refused to share kernels between several.
  std::string name() const;

private:
  Result<std::string> linkOn(uint32_t threads, const std::string &ptx, uint32_t arch) const;

  JitLinkerTable call;
  std::string shown;
  mutable std::atomic<bool> isSerial{false};
};

} // namespace frit
