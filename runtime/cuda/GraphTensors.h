// Properties, known to the caller, of the arguments and results of a plan that runs as CUDA graphs.

#pragma once

#include <cstdint>
#include <vector>

namespace frit {

/// All as numbers of arguments or results.
struct GraphTensors {
  /// Arguments whose addresses are the same in all calls.
  std::vector<uint32_t> statics;
  /// Results that only the backward of this graph reads, and arguments that the forward of this
  /// graph saved in this way.
  std::vector<uint32_t> keptResults, keptArguments;
};

} // namespace frit
