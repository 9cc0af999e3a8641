// The inputs and outputs of a plan, for `frit.load` and the C++ API, which show them to the user.

#pragma once

#include "runtime/plan/DecodedPlan.h"
#include "runtime/plan/Values.h"

namespace frit {

/// The inputs, outputs, dynamic sizes and missing weights of a plan.
Signature describe(const DecodedPlan &plan);

/// The same as JSON {"inputs": [{"name", "kind", "dtype", "device", "shape", "mutated"}],
/// "outputs": [...], "symbols": [{"name", "min", "max"}], "weights": [...]}. A shape is a list of
/// numbers, names of symbols, and "?" for sizes computed from symbols; null if it is known only
/// after a call.
std::string signatureOf(const DecodedPlan &plan);

/// The size that a symbol is read from: "n", or "2 * n + 1".
std::string sizeText(const format::Symbol &symbol);

} // namespace frit
