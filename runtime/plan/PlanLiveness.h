// Plays the steps of a plan through before it is ever run, to find what no index check sees: a
// tensor register read before it is written or after its storage has gone, or written twice. On the
// way it decides for each register whether bare memory is enough (only kernels touch it) or whether
// it must be a tensor of the host; a bare view that would outlive its storage becomes a tensor,
// which keeps the storage alive.

#pragma once

#include "runtime/plan/DecodedPlan.h"

namespace frit {

/// Completes `needsHandle` of the tensor registers, whose direct needs are already marked.
Status playThrough(DecodedPlan &plan);

} // namespace frit
