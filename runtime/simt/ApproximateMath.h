// The approximate instructions of PTX under emulation. A device may return any result within the
// error in the PTX manual, so a test with exact results would not cover it. Here the results are
// wrong on purpose; size and sign of the error follow from the operands' bits, so runs are
// reproducible.

#pragma once

#include "runtime/artifact/SimtAbi.h"

namespace frit {

/// `b` is the divisor of a quotient; other instructions ignore it.
float approximate(SimtApproximation instruction, float a, float b);

} // namespace frit
