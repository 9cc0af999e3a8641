// What a plan takes and gives: for `frit.load` and the C++ API, which show it to the user.

#pragma once

#include "runtime/plan/DecodedPlan.h"
#include "runtime/plan/Values.h"

namespace frit {

Signature describe(const DecodedPlan &plan);

/// The same as JSON {"inputs": [{"name", "kind", "dtype", "device", "shape", "mutated"}],
/// "outputs": [...], "symbols": [{"name", "min", "max"}], "weights": [...]}. A shape is a list of
/// numbers, names of symbols, and "?" for what is computed from symbols; null where only the call
/// knows.
std::string signatureOf(const DecodedPlan &plan);

/// The size that a symbol is read from: "n", or "2 * n + 1".
std::string sizeText(const format::Symbol &symbol);

} // namespace frit
