// The table behind Context::callbacks: f64 functions too rare to be written out as vector code,
// taken from this process's libm.

#pragma once

#include "runtime/artifact/KernelAbi.h"

namespace frit {

const Callbacks &mathCallbacks();

/// How often kernels on this thread went through the table.
uint64_t mathCallbackCount();

} // namespace frit
