// frit-run --expected-output: a result beside the array it should be.

#pragma once

#include "runtime/plan/Values.h"
#include "runtime/standalone/Npy.h"

namespace frit {

/// Empty where every element of `result` is within `atol + rtol * |expected|` of `expected` (NaN
/// equals NaN; integers and booleans are equal), else one line on the first and the greatest
/// difference.
std::string difference(const NpyArray &result, const NpyArray &expected, double rtol, double atol);

} // namespace frit
