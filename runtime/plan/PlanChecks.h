// Checks of a plan before it is decoded: it describes no more than its bytes can hold (FlatBuffers
// lets a million tables share one long list), enums and texts are known to this version, constants
// stay constant, and no launch needs a block that no device supports. DecodedPlan and PlanLiveness
// check registers and lifetimes. docs/Artifact.md numbers the rules.

#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/plan/DecodedPlan.h"

namespace frit {

/// Ok, or the first rule that the plan breaks.
Status checkPlan(const Artifact &artifact, const format::Plan &plan);

/// Sets how many items the table of a kernel over a list holds. Returns an error if a use of
/// several items or of such a kernel is wrong, else an empty string.
std::string setTableItems(LaunchSite &site, const format::Kernel &kernel, format::Target target);

/// Compares the launches of a decoded GPU plan with the declarations in the artifact's GPU code:
/// parameters and threads of a block.
Status checkGpuCode(const DecodedPlan &plan);

} // namespace frit
