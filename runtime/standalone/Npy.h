// Reads and writes NumPy's .npy files, format versions 1 and 2, for frit-run. Little-endian
// numbers, C or Fortran order.

#pragma once

#include "runtime/artifact/Artifact_generated.h"
#include "runtime/artifact/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace frit {

struct NpyArray {
  format::Dtype dtype = format::Dtype::F32;
  std::vector<int64_t> sizes;
  /// In elements.
  std::vector<int64_t> strides;
  std::vector<char> data;
};

/// Reads a file; fails if it is truncated or of a format or dtype that is not supported.
Result<NpyArray> readNpy(const std::string &path);
/// `array` must be contiguous in C order. bfloat16 is written as uint16, because NumPy has no
/// bfloat16.
Status writeNpy(const std::string &path, const NpyArray &array);

} // namespace frit
