#include "kernel/KernelCosts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::frit;

/// Ten rounds of Philox for every fourth element.
static constexpr unsigned kRandomLength = 25;

bool mlir::frit::isCostly(const Node &node) {
  return node.kind == NodeKind::Apply &&
         isa<ElementFunctionOpInterface, math::ExpOp, math::Exp2Op, math::TanhOp, math::ErfOp,
             math::LogOp, math::PowFOp, math::SinOp, math::CosOp, math::TanOp, math::ExpM1Op,
             math::Log1pOp>(node.op);
}

bool mlir::frit::isStrided(const KernelProgram &program, const Node &load, unsigned lane) {
  auto stride = program.getStride(load.expr, lane);
  return (load.dims >> lane & 1) && (!stride || !stride->isConstant(1));
}

/// The approximate number of instructions for one vector.
static unsigned lengthOf(const Node &node) {
  if (node.kind == NodeKind::Random) {
    return kRandomLength;
  }
  if (node.kind != NodeKind::Apply) {
    return node.kind == NodeKind::Constant ? 0 : 2;
  }
  if (!isMathFunction(node.op)) {
    return isa<arith::MaximumFOp, arith::MinimumFOp>(node.op) ? 3 : 1;
  }
  return isa<math::SqrtOp, math::AbsFOp, math::FloorOp, math::CeilOp, math::FmaOp>(node.op) ? 1
                                                                                            : 25;
}

template <typename Visit>
static void forEachInBody(const KernelProgram &program, ArrayRef<unsigned> roots, unsigned lane,
                          ArrayRef<unsigned> known, uint32_t along, Visit visit) {
  for (unsigned id : program.reach(roots, known)) {
    const Node &node = program[id];
    if ((node.dims >> lane & 1) && (node.dims & along)) {
      visit(id, node);
    }
  }
}

unsigned mlir::frit::getBodyLength(const KernelProgram &program, ArrayRef<unsigned> roots,
                                   unsigned lane, ArrayRef<unsigned> known, uint32_t along) {
  unsigned length = 0;
  forEachInBody(program, roots, lane, known, along, [&](unsigned id, const Node &node) {
    length += llvm::is_contained(known, id) ? 2 : lengthOf(node);
  });
  return length;
}

bool mlir::frit::hasNarrowAccesses(const KernelProgram &program, ArrayRef<unsigned> roots,
                                   unsigned lane, ArrayRef<unsigned> known, uint32_t along) {
  bool isNarrow = llvm::any_of(program.getStores(), [&](const Store &store) {
    return getElementBytes(program[store.node].type) < 4;
  });
  forEachInBody(program, roots, lane, known, along, [&](unsigned, const Node &node) {
    isNarrow |= node.kind == NodeKind::Load && getElementBytes(node.type) < 4;
  });
  return isNarrow;
}

double mlir::frit::getElementsOfThread(const KernelProgram &program) {
  double weight = 0;
  for (const Node &node : program.getNodes()) {
    if (node.kind == NodeKind::Apply) {
      weight += isMathFunction(node.op) ? 8 : 1;
    } else if (node.kind == NodeKind::Random) {
      weight += kRandomLength;
    } else if (node.kind == NodeKind::Load || node.isSupplied()) {
      weight += 2;
    }
  }
  return 400e3 / std::max(weight, 4.0);
}

bool mlir::frit::areStoresEarly(const KernelProgram &program) {
  return llvm::all_of(program.getStores(), [&](const Store &store) {
    return !(store.dims & program.reducedMask()) ||
           program.getPhase(store.node) < program.numPhases();
  });
}

bool mlir::frit::canSumInBlocks(const KernelProgram &program) {
  return program.numReduced() == 1 && program.numPhases() == 1 && areStoresEarly(program) &&
         llvm::all_of(program.getReduces(), [&](unsigned id) {
           const Node &node = program[id];
           Type element = program[node.operands[0]].type;
           return cast<ReduceOp>(node.op).getKind() == ReduceKind::Sum &&
                  (element.isF32() || element.isF64());
         });
}

SmallVector<unsigned> mlir::frit::getFullRoots(const KernelProgram &program) {
  SmallVector<unsigned> roots;
  for (const Store &store : program.getStores()) {
    if (store.dims & program.reducedMask()) {
      roots.push_back(store.node);
    }
  }
  return roots;
}

SmallVector<KeptValue> mlir::frit::findKeptValues(const KernelProgram &program, unsigned lane,
                                                  int64_t most) {
  SmallVector<KeptValue> kept;
  unsigned phases = program.numPhases();
  if (program.numReduced() > 1 || phases > 30) {
    return kept;
  }
  // What each round reads, and last what is written after all of them.
  SmallVector<SmallVector<unsigned>> roots(phases + 1), needed;
  for (unsigned phase = 0; phase < phases; ++phase) {
    roots[phase] = program.getReducedNodes(phase);
  }
  llvm::append_range(roots[phases - (areStoresEarly(program) ? 1 : 0)], getFullRoots(program));
  for (ArrayRef<unsigned> read : roots) {
    needed.push_back(program.reach(read));
  }
  for (unsigned id = program.getNodes().size();
       id-- > 0 && static_cast<int64_t>(kept.size()) < most;) {
    if (!isCostly(program[id]) || !(program[id].dims >> lane & 1)) {
      continue;
    }
    // Values below an already kept one come with it.
    bool isCovered = llvm::any_of(kept, [&](const KeptValue &value) {
      return llvm::is_contained(program.reach(value.node), id);
    });
    uint32_t readers = 0;
    for (auto [phase, nodes] : llvm::enumerate(needed)) {
      readers |= llvm::is_contained(nodes, id) ? 1u << phase : 0;
    }
    if (!isCovered && llvm::popcount(readers) > 1) {
      kept.push_back({id, static_cast<unsigned>(llvm::countr_zero(readers)), readers});
    }
  }
  return kept;
}

SmallVector<unsigned> mlir::frit::getKeptForLast(const KernelProgram &program,
                                                 ArrayRef<KeptValue> kept) {
  SmallVector<unsigned> nodes;
  for (const KeptValue &value : kept) {
    if (value.readers >> program.numPhases() & 1) {
      nodes.push_back(value.node);
    }
  }
  return nodes;
}
