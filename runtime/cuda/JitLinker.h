// Compiles PTX to cubins in this process with NVIDIA's nvJitLink. It is the same compiler as in the
// driver, but from the toolkit that torch was built with, without the driver's disk cache, and it
// needs neither driver nor GPU. The library is opened when the first PTX is loaded, from the CUDA
// wheels next to torch or from the system; without it the driver compiles.

#pragma once

#include "runtime/artifact/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace frit {

using LinkHandle = void *;

struct JitLinkerTable {
#define FRIT_LINKER_SYMBOL(name, parameters) int(*name) parameters = nullptr;
#include "runtime/cuda/JitLinkerSymbols.inc"
#undef FRIT_LINKER_SYMBOL
};

/// A cubin that the driver loads as one module.
struct LinkedCubin {
  std::string bytes;
  std::vector<std::string> entries;
};

class JitLinker {
public:
  /// Uses a filled table; `name` is for messages. A call uses at most `threads` threads; 0: as many
  /// as the machine has, up to 16.
  JitLinker(const JitLinkerTable &table, std::string name, uint32_t threads = 0)
      : call(table), shown(std::move(name)), threads(threads) {}
  /// The machine's linker; null if none is found, or if FRIT_NVJITLINK is "off". The variable may
  /// also name the library.
  static const JitLinker *system();
  /// Loads the functions of a library.
  static Result<JitLinkerTable> open(const std::string &library);

  /// Links PTX to several cubins for sm_`arch`, each with some of its kernels, with one thread per
  /// cubin. No thread outlives the call. Thread-safe.
  Result<std::vector<LinkedCubin>> link(const std::string &ptx, uint32_t arch) const;
  /// "nvJitLink 13.0 (libnvJitLink.so.13)".
  std::string name() const;

private:
  Result<std::string> linkOne(const std::string &ptx, uint32_t arch, const std::string &what) const;

  JitLinkerTable call;
  std::string shown;
  uint32_t threads;
};

} // namespace frit
