// 16 registers: up to 12 accumulators, and the weights of a step.

#include "runtime/cpu/ConvolutionTiles.h"
#include "runtime/cpu/DepthwiseTiles.h"

namespace frit {

const ConvolutionKernel kConvolutionAvx2 = {8, 3, runUnits<8, 3, 8, 6, 4>, packPanels<8>,
                                            runDepthwiseRows<8, 6>};

} // namespace frit
