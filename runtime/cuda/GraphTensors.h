// The caller's knowledge about the tensors of a graph whose calls become CUDA graphs.

#pragma once

#include <cstdint>
#include <vector>

namespace frit {

/// All as numbers of arguments or results.
struct GraphTensors {
  /// Arguments whose memory stays the same over calls.
  std::vector<uint32_t> statics;
  /// Results that only the backward of this graph sees, and arguments that the forward of this
  /// graph saved that way.
  std::vector<uint32_t> keptResults, keptArguments;
};

} // namespace frit
