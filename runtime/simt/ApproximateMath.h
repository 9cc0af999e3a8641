// The approximate instructions of PTX under emulation. A device is free to return anything within
// the error that the manual of PTX documents, so a test that passes with exact results says nothing
// about it. Here they err on purpose: by how much, and to which side, follows from the bits of the
// operands, so two runs do the same.

#pragma once

#include "runtime/artifact/SimtAbi.h"

namespace frit {

/// `b` is the divisor of a quotient; other instructions ignore it.
float approximate(SimtApproximation instruction, float a, float b);

} // namespace frit
