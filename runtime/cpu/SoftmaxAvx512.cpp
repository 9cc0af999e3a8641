#include "runtime/cpu/SoftmaxRows.h"

namespace frit {

const SoftmaxKernel kSoftmaxAvx512 = {scaleScores<16>, exponentials<16>, multiply<16>};

} // namespace frit
