// What is looked at in a plan before it is decoded: that it says no more than its bytes can hold
// (FlatBuffers lets a million tables share one long list), that enums and texts are ones this
// version knows, that constants stay constant, and that no launch asks for a block no device has.
// Registers and lifetimes are DecodedPlan's and PlanLiveness's matter. docs/Artifact.md numbers the
// rules.

#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/plan/DecodedPlan.h"

namespace frit {

Status checkPlan(const Artifact &artifact, const format::Plan &plan);

/// Notes how many items a kernel over a list has room for; what is wrong with a use of several
/// items or of such a kernel, or nothing.
std::string takeRoom(LaunchSite &site, const format::Kernel &kernel, format::Target target);

/// Compares the launches of a decoded GPU plan with what the artifact's GPU code declares:
/// parameters and threads of a block.
Status checkGpuCode(const DecodedPlan &plan);

} // namespace frit
