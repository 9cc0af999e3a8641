// frit-run --expected-output: compares a result with the expected array.

#pragma once

#include "runtime/plan/Values.h"
#include "runtime/standalone/Npy.h"

namespace frit {

/// Empty if every element of `result` is within `atol + rtol * |expected|` of `expected` (NaN
/// equals NaN; integers and booleans must be equal); otherwise one line with the first and the
/// greatest difference.
std::string difference(const NpyArray &result, const NpyArray &expected, double rtol, double atol);

} // namespace frit
