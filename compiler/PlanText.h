// Prints the plans of an artifact as readable text: one line per size, kernel and step.

#pragma once

#include "runtime/artifact/ArtifactBuilder.h"

#include <string>

namespace frit {

/// Registers are i0.., f0.. and t0..; sizes that are constants are printed as their values.
std::string printPlans(const format::ArtifactT &artifact);

} // namespace frit
