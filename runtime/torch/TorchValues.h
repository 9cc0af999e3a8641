// Values of the API without torch as those of libtorch, and back, over the same memory where both
// lie on the host.

#pragma once

#include "runtime/plan/Values.h"

#include <ATen/core/ivalue.h>

namespace frit {

c10::IValue toTorch(const Value &value, bool onGpu = false);
/// A tensor on a device is copied to the host.
Value fromTorch(const c10::IValue &value);

bool torchHasGpu();

} // namespace frit
