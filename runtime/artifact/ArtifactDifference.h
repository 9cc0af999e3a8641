// What one artifact says otherwise than another. A compilation is repeatable, so two artifacts of
// one graph, one set of options and one compiler say the same; where they do not, the first place
// is named.

#pragma once

#include "runtime/artifact/Artifact.h"

#include <string>

namespace frit {

/// "step 3 of the plan for Cpu is Free, not Launch"; empty where both say the same, whatever the
/// order of their bytes. Weights are not looked at.
std::string firstDifference(const Artifact &kept, const Artifact &expected);

} // namespace frit
