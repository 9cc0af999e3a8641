// What a caller knows of the tensors of a graph whose calls become CUDA graphs.

#pragma once

#include <cstdint>
#include <vector>

namespace frit {

/// All by their numbers.
struct GraphTensors {
  /// Arguments whose memory stays the same over calls.
  std::vector<uint32_t> statics;
  /// Results that nobody but the backward of this graph will see, and arguments that the forward of
  /// this one has kept so.
  std::vector<uint32_t> keptResults, keptArguments;
};

} // namespace frit
