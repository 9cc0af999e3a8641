#include "kernel/StagedAccesses.h"

using namespace mlir;
using namespace mlir::frit;

/// Whether an address is contiguous along `across` and strided along `lane`.
static bool runsAcross(const KernelProgram &program, SizeExpr address, unsigned lane,
                       unsigned across) {
  auto along = program.getStride(address, lane), other = program.getStride(address, across);
  return other && other->isConstant(1) && along && !along->isConstant(0) && !along->isConstant(1);
}

StagedAccesses::StagedAccesses(const KernelProgram &program, unsigned lane, unsigned across,
                               unsigned neighbours) {
  auto add = [&](Type element) {
    narrowest = std::min(narrowest, getElementBytes(element));
    widest = std::max(widest, getElementBytes(element));
    bytesOfAll += getElementBytes(element);
    bytes += bytesOf(element, neighbours);
  };
  for (auto [id, node] : llvm::enumerate(program.getNodes())) {
    if (node.kind == NodeKind::Load && node.bounds.empty() && node.operands.empty() &&
        runsAcross(program, node.expr, lane, across)) {
      loads.push_back(id);
      add(node.type);
    }
  }
  for (auto [at, store] : llvm::enumerate(program.getStores())) {
    if (runsAcross(program, store.address, lane, across)) {
      stores.push_back(at);
      add(program[store.node].type);
    }
  }
}

uint32_t StagedAccesses::bytesOf(Type element, unsigned neighbours) {
  unsigned bytes = getElementBytes(element);
  return (tileOf(neighbours) * pitchOf(neighbours, bytes) * bytes + 15) / 16 * 16;
}
