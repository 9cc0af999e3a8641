// Runs the grid of an emulated kernel. Each thread of a block is a fibre; clusters of blocks run
// one after the other and threads in the order of their numbers, so runs are deterministic. A
// barrier completes when all threads of the block (or cluster) wait at it, a shuffle when all lanes
// of the warp do. If that has become impossible (some threads have returned or wait elsewhere) the
// run stops with an error that says where each thread is. The shared memory of another block may be
// accessed after a first barrier of the cluster, when the block has certainly started, and until it
// returns.

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
  /// Blocks of a cluster, neighbouring along x, which run at the same time.
  uint32_t cluster = 1;
};

/// The arguments of a kernel: operands and results with their extents, sizes and scalars, and the
/// bytes of workspace.
struct SimtArguments {
  std::vector<SimtBuffer> buffers;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  uint64_t workspaceBytes = 0;
  /// The workspace with the contents from earlier launches; null: a workspace for this kernel
  /// alone.
  void *workspace = nullptr;
  const Callbacks *callbacks = nullptr;
  /// For a kernel over a list: makes its only parameter, a table with these addresses of the
  /// buffers.
  std::function<std::vector<int64_t>(void *const *)> makeTable;
  /// Filled in if it is not null.
  SimtTraffic *traffic = nullptr;
};

/// Runs the launches of one kernel in order. Their results are copied to the buffers only if all of
/// them succeed.
Status runSimtKernel(const SimtArguments &arguments, const std::vector<SimtLaunch> &launches);

} // namespace frit
