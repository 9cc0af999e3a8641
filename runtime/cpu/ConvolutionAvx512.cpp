// 32 registers: up to 24 accumulators, and the weights of a step.

#include "runtime/cpu/ConvolutionTiles.h"
#include "runtime/cpu/DepthwiseTiles.h"

namespace frit {

const ConvolutionKernel kConvolutionAvx512 = {16, 4, runUnits<16, 4, 8, 8, 8, 6>, packPanels<16>,
                                              runDepthwiseRows<16, 6>};

} // namespace frit
