// 16 registers: twelve accumulators, three weights, and a row or an element.

#include "runtime/cpu/ProductTiles.h"

namespace frit {

const ProductKernel kProductAvx2 = {
    8, {3, units<DotTile<8, 3>, 4>}, {24, units<WideTile<8, 3>, 4>}};

} // namespace frit
