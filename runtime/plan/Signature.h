// What a plan takes and gives, in words: for `frit.load`, which shows it to the user.

#pragma once

#include "runtime/plan/DecodedPlan.h"

namespace frit {

/// JSON {"inputs": [{"name", "kind", "dtype", "device", "shape", "mutated"}], "outputs": [...], "symbols": [{"name", "min", "max"}]}. A shape
/// is a list of numbers, names of symbols, and "?" for what is computed from symbols; null where only the call knows.
std::string signatureOf(const DecodedPlan &plan);

} // namespace frit
