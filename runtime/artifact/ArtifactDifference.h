// Compares artifacts. Compilation is deterministic, so two artifacts of one graph, one set of
// options and one compiler have the same contents; otherwise the first difference is reported.

#pragma once

#include "runtime/artifact/Artifact.h"

#include <string>

namespace frit {

/// "step 3 of the plan for Cpu is Free, not Launch"; empty if the contents are the same, even if
/// the bytes are not. Weights are not compared.
std::string firstDifference(const Artifact &kept, const Artifact &expected);

} // namespace frit
