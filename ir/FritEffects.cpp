// Memory effects of operator calls, from their schemas. A call of a pure operator may be merged,
// moved or dropped like arithmetic; anything random, mutating, asserting, collective or unknown
// keeps its order.
#include "ir/AtenSchemas.h"
#include "ir/FritOps.h"
#include "ir/Planted.h"

using namespace mlir;
using namespace mlir::frit;

void AtenOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  AtenEffects known = AtenSchema::lookupEffects(getOpName());
  if (known.isPure() || (known.random && isPlanted(Mistake::PureDraws))) {
    return;
  }
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}
