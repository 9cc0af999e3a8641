#pragma once

#include "runtime/plan/Host.h"

#include <vector>

namespace frit {

/// The sizes and strides of a tensor of a host, without memory.
struct SizedTensor {
  std::vector<int64_t> sizes, strides;
  format::Dtype dtype = format::Dtype::F32;
  LazyBits lazy = kPlain;

  TensorView view() const {
    return {nullptr, sizes.data(), strides.data(),      static_cast<int64_t>(sizes.size()),
            0,       dtype,        format::Device::Cpu, 0,
            lazy};
  }
};

} // namespace frit
