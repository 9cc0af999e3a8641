// What reads bytes that others wrote, as functions of bytes: each must come back, whatever it is
// given, without a crash, a leak, undefined behaviour or memory beyond a few times the input. `make
// test` runs them over the committed corpus (Corpus.cpp); scripts/fuzz links each to libFuzzer with
// the sanitizers on (LibFuzzer.cpp).

#pragma once

#include <cstdint>
#include <span>

namespace frit {

/// A .frit file from its bytes to a call: read, weights compared, plans decoded and described, the
/// CPU's run with kernels that do nothing.
void fuzzArtifact(std::span<const uint8_t> bytes);

/// A scalar program (sizes, guards, launch sizes): 16 registers of both files, then instructions;
/// verified, and run if that passes.
void fuzzProgram(std::span<const uint8_t> bytes);

} // namespace frit
