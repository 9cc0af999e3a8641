// 32 registers: 24 accumulators, six weights and a row, or three weights and an element.

#include "runtime/cpu/ProductTiles.h"

namespace frit {

const ProductKernel kProductAvx512 = {
    16, {6, units<DotTile<16, 6>, 4>}, {48, units<WideTile<16, 3>, 8>}};

} // namespace frit
