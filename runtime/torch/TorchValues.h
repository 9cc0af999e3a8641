// Converts values of the API without torch to those of libtorch and back, over the same memory if
// it is host memory.

#pragma once

#include "runtime/plan/Values.h"

#include <ATen/core/ivalue.h>

namespace frit {

/// A tensor shares memory with `value` unless it is copied to the current GPU (`onGpu`).
c10::IValue toTorch(const Value &value, bool onGpu = false);
/// A tensor on a device is copied to the host.
Value fromTorch(const c10::IValue &value);

bool torchHasGpu();

} // namespace frit
