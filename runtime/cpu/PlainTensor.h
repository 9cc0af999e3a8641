#pragma once

#include "runtime/plan/Host.h"

namespace frit {

/// Whether the runtime's own kernels read the tensor: f32 on a CPU, without a lazy bit.
inline bool isPlain(const TensorView &view) {
  return view.dtype == format::Dtype::F32 && view.device == format::Device::Cpu &&
         view.lazy == kPlain;
}

} // namespace frit
