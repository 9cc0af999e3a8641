// The CUDA driver as a table of functions, loaded with the first GPU artifact: importing frit does
// not load the driver, building it needs no CUDA, and tests fill the table with a fake driver. The
// types correspond to the driver's.

#pragma once

#include "runtime/artifact/Status.h"
#include "runtime/cuda/ForkSafeLock.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace frit {

using DriverCode = int;
constexpr DriverCode kOutOfMemory = 2;
using DriverContext = void *;
using DriverModule = void *;
using DriverFunction = void *;
using DriverStream = void *;
using DriverGraph = void *;
using DriverGraphExec = void *;
using DriverGraphNode = void *;

/// A kernel launch in a graph node: CUDA_KERNEL_NODE_PARAMS of CUDA 12.0.
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

class TensorHost;

class Driver {
public:
  /// Makes a driver from a filled table, and initialises it if need be.
  static Result<std::shared_ptr<Driver>> create(const DriverTable &table);
  /// The machine's libcuda; always the same object, or the reason why there is none.
  static Result<std::shared_ptr<Driver>> system();
  /// Loads the functions of a driver library.
  static Result<DriverTable> open(const char *library);

  const DriverTable &call() const { return table; }
  /// "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered".
  std::string describe(DriverCode code) const;

  /// Ok, or why this process cannot use the GPU any more: a fork, a kernel that destroyed the
  /// context, or the end of the process.
  Status usable() const;
  /// The context of this thread. A thread that has called nothing of the CUDA runtime yet, as one
  /// of autograd's may be, has none: the primary context of the host's device, where torch's
  /// tensors are, becomes current.
  Result<DriverContext> currentContext(TensorHost &host) const;
  /// Whether the stream is being captured, by any code.
  bool isCapturing(DriverStream stream) const {
    int status = 0;
    return call().cuStreamIsCapturing(stream, &status) == 0 && status != 0;
  }
  /// Whether every call fails after this error, until the process ends.
  static bool isSticky(DriverCode code);
  /// Makes `usable` return this reason from now on; the first reason stays.
  void markLost(std::string reason);

private:
  explicit Driver(const DriverTable &table) : table(table) {}

  DriverTable table;
  /// The fork generation of the process that initialised it.
  uint64_t generation = forkGeneration();
  ForkSafeLock lock;
  std::atomic<bool> lost{false};
  std::string lostReason;
};

} // namespace frit
