// PTX to a cubin in this process, by NVIDIA's nvJitLink: the compiler the driver has inside, of the
// toolkit that torch was built with and without the driver's cache on disk. It needs no driver and
// no GPU. The library is opened when the first PTX is loaded, from the CUDA wheels beside torch or
// from the system; where there is none the driver compiles.

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

/// What the driver loads as one module.
struct LinkedCubin {
  std::string bytes;
  std::vector<std::string> entries;
};

class JitLinker {
public:
  /// Over a table that is already filled; `name` is what messages call it. A call takes `threads`
  /// at most; 0: what the machine has, up to 16.
  JitLinker(const JitLinkerTable &table, std::string name, uint32_t threads = 0)
      : call(table), shown(std::move(name)), threads(threads) {}
  /// The machine's; null where none is found, or FRIT_NVJITLINK is "off". That variable may also
  /// name the library.
  static const JitLinker *system();
  /// The functions of a library.
  static Result<JitLinkerTable> open(const std::string &library);

  /// PTX to cubins for sm_`arch` that have its kernels between them, each made on a thread; fewer
  /// where there are fewer kernels. No thread outlives the call. Several threads may call.
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
