// The table behind Context::callbacks: f64 functions of this process's libm that are too rare for
// vector code.

#pragma once

#include "runtime/artifact/KernelAbi.h"

namespace frit {

const Callbacks &mathCallbacks();

/// The number of calls through the table by kernels on this thread.
uint64_t mathCallbackCount();

} // namespace frit
