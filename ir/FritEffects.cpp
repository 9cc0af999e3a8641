// What an operator call does to the world, from its schema.
#include "ir/FritOps.h"

using namespace mlir;
using namespace mlir::frit;

void AtenOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}
