// 32 registers: up to 24 accumulators, and the weights of a step.

#include "runtime/cpu/ConvolutionTiles.h"

namespace frit {

const ConvolutionKernel kConvolutionAvx512 = {16, 4, runUnits<16, 4, 8, 8, 8, 6>, packPanels<16>};

} // namespace frit
