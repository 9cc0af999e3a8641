// Assembles PTX when a file is made, with NVIDIA's ptxas, so that no process that loads the file
// has to. The PTX stays in the file, for newer GPUs and for drivers that refuse the cubins.

#pragma once

#include "runtime/artifact/ArtifactBuilder.h"

#include <memory>
#include <string>
#include <vector>

namespace frit {

/// The machine's ptxas: what FRIT_PTXAS names, or the first in PATH, $CUDA_HOME/bin and
/// /usr/local/cuda/bin; empty if there is none.
std::string findPtxas();

struct Cubins {
  /// Each with some of the kernels.
  std::vector<std::unique_ptr<format::GpuModuleT>> modules;
  /// Why there are none: what ptxas reports, in one line.
  std::string failure;
};

/// Assembles the kernels of a PTX text for its architecture, as many at once as the machine has
/// processors.
Cubins assemble(const format::GpuModuleT &ptx, const std::string &ptxas);

} // namespace frit
