#pragma once

#include "runtime/plan/DecodedPlan.h"

#include <vector>

/// The weights of a file that keep their values as long as the plan is loaded, so that a host may
/// keep them in another form: nothing in the plan writes to them, and no tensor of theirs leaves
/// it. Weights that the user gave to load() are the user's, who may write to them at any time.
namespace frit {

/// For each tensor register of the plan, whether it is such a weight or a view of one; empty if the
/// file has no weights.
std::vector<bool> frozenTensors(const DecodedPlan &plan);

} // namespace frit
