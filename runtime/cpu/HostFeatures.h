// Which code this machine can run. Images are compiled for the two levels of the x86-64 psABI that matter for vector code.

#pragma once

#include <string>
#include <vector>

namespace frit {

/// Levels this host has, best first: {"x86-64-v4", "x86-64-v3"} on a machine with AVX-512.
std::vector<std::string> hostLevels();

} // namespace frit
