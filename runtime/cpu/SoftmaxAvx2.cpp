#include "runtime/cpu/SoftmaxRows.h"

namespace frit {

const SoftmaxKernel kSoftmaxAvx2 = {scaleScores<8>, exponentials<8>, multiply<8>};

} // namespace frit
