// Runs the grid of an emulated kernel: each thread of a block is a fibre, clusters of blocks run
// one after the other, threads in the order of their numbers, so two runs do the same. A barrier is
// passed when all threads of the block (of the cluster) wait at it, a shuffle when all lanes of the
// warp do; where that cannot happen any more (some threads have returned or wait elsewhere) the run
// stops and says who is where. The shared memory of another block may be used once a barrier of the
// cluster has been passed, since only then it is sure to have begun, and as long as it has not
// returned.

#pragma once

#include "runtime/artifact/SimtAbi.h"
#include "runtime/artifact/Status.h"
#include "runtime/simt/SimtMemory.h"

#include <functional>
#include <string>
#include <vector>

namespace frit {

struct SimtLaunch {
  std::string kernel;
  SimtFunction entry = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t sharedBytes = 0;
  /// Blocks next to each other along x that run at once.
  uint32_t cluster = 1;
};

/// The arguments of a kernel: operands and results with their extents, sizes and scalars, bytes of
/// workspace.
struct SimtArguments {
  std::vector<SimtBuffer> buffers;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  uint64_t workspaceBytes = 0;
  /// Where the workspace is, with what earlier launches left there; null: it lives as long as this
  /// kernel.
  void *workspace = nullptr;
  const Callbacks *callbacks = nullptr;
  /// A kernel over a list: its one parameter, a table with these addresses of the buffers.
  std::function<std::vector<int64_t>(void *const *)> makeTable;
  /// Filled in if it is asked for.
  SimtTraffic *traffic = nullptr;
};

/// Runs the launches of one kernel in order. What they wrote is in the buffers only when all of
/// them succeeded.
Status runSimtKernel(const SimtArguments &arguments, const std::vector<SimtLaunch> &launches);

} // namespace frit
