// The CUDA driver as a table of functions, found when the first GPU artifact is loaded and not
// before: importing frit touches no driver, building it needs no CUDA, and a test fills the table
// with a fake. Types are the driver's own in all but name.

#pragma once

#include "runtime/artifact/Status.h"
#include "runtime/cuda/ForkSafeLock.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace frit {

using DriverCode = int;
using DriverContext = void *;
using DriverModule = void *;
using DriverFunction = void *;
using DriverStream = void *;
using DriverGraph = void *;
using DriverGraphExec = void *;
using DriverGraphNode = void *;

/// A launch as a node of a graph has it: CUDA_KERNEL_NODE_PARAMS of CUDA 12.0.
struct DriverKernelNode {
  DriverFunction function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void **parameters, **extra;
  void *kernel;
  DriverContext context;
};

struct DriverTable {
#define FRIT_DRIVER_SYMBOL(name, version, parameters) DriverCode(*name) parameters = nullptr;
#include "runtime/cuda/DriverSymbols.inc"
#undef FRIT_DRIVER_SYMBOL
};

class Driver {
public:
  /// Over a table that is already filled; a driver that is not initialised yet is.
  static Result<std::shared_ptr<Driver>> create(const DriverTable &table);
  /// The machine's libcuda; the same object every time, or why there is none.
  static Result<std::shared_ptr<Driver>> system();
  /// The functions of a driver's library.
  static Result<DriverTable> open(const char *library);

  const DriverTable &call() const { return table; }
  /// "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered".
  std::string describe(DriverCode code) const;

  /// Ok, or why this process cannot use the GPU any more: a fork, a kernel that destroyed the
  /// context, or the end of the process.
  Status usable() const;
  /// Whether what is launched on the stream is recorded, by whomever, and not run.
  bool isCapturing(DriverStream stream) const {
    int status = 0;
    return call().cuStreamIsCapturing(stream, &status) == 0 && status != 0;
  }
  /// Errors after which every call fails until the process ends.
  static bool isSticky(DriverCode code);
  void markLost(std::string reason);

private:
  explicit Driver(const DriverTable &table) : table(table) {}

  DriverTable table;
  /// Of the process that initialised it.
  uint64_t generation = forkGeneration();
  ForkSafeLock lock;
  std::atomic<bool> lost{false};
  std::string lostReason;
};

} // namespace frit
