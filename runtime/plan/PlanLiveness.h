// Simulates the steps of a plan before it ever runs, for errors that no index check finds: a tensor
// register that is read before it is written or after its storage is freed, or written twice. It
// also decides for each register whether bare memory is enough (only kernels access it) or whether
// it must be a tensor of the host. A bare view that would outlive its storage becomes a tensor,
// which keeps the storage alive.

#pragma once

#include "runtime/plan/DecodedPlan.h"

namespace frit {

/// Completes `needsHandle` of the tensor registers, whose direct needs are already set.
Status checkLiveness(DecodedPlan &plan);

} // namespace frit
