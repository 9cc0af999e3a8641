// Chooses the dim along which the vectors of a CPU kernel run.
#include "ir/FritAttributes.h"
#include "passes/schedule/CpuSchedule.h"

using namespace mlir;
using namespace mlir::frit;

/// What a tile must have along its lanes and its rows to be worth packing for, where sizes are
/// known.
static constexpr int64_t kLeastLanes = 32, kLeastRows = 8;

/// Distances of all pairs and the like: every operand of the reduction is shared by all rows of one
/// parallel dim or another, so tiles of the two read each element once, and packing makes vectors
/// of operands that are not contiguous along the lanes. That pays for all sizes but very small
/// ones, so the sizes need not be known.
static std::optional<unsigned> findPairLane(const KernelProgram &program) {
  if (program.numReduced() != 1 || program.numPhases() != 1) {
    return std::nullopt;
  }
  // The order of additions follows from the dim.
  auto mayHave = [&](unsigned dim, int64_t least) {
    auto bound = program.sharedBound(program.getDomain()[dim]);
    return !bound || *bound >= least;
  };
  auto isPair = [&](unsigned lane, unsigned row) {
    bool alongLane = false, alongRow = false;
    for (const Node &node : program.getNodes()) {
      if (node.kind != NodeKind::Load || !(node.dims & program.reducedMask())) {
        continue;
      }
      bool hasLane = node.dims >> lane & 1, hasRow = node.dims >> row & 1;
      if (hasLane && hasRow) {
        return false;
      }
      alongLane |= hasLane;
      alongRow |= hasRow;
    }
    return alongLane && alongRow;
  };
  auto isWrittenAlong = [&](unsigned lane) {
    return llvm::all_of(program.getStores(), [&](const Store &store) {
      auto stride = program.getStride(store.address, lane);
      return stride && stride->isConstant(1) && !(store.dims & program.reducedMask());
    });
  };
  for (unsigned lane = program.numParallel(); lane-- > 0;) {
    if (!mayHave(lane, kLeastLanes) || !isWrittenAlong(lane)) {
      continue;
    }
    for (unsigned row = 0; row < program.numParallel(); ++row) {
      if (row != lane && mayHave(row, kLeastRows) && isPair(lane, row)) {
        return lane;
      }
    }
  }
  return std::nullopt;
}

/// The lane dim of a kernel whose bits must not depend on the number of rows. What other operations
/// the kernel has, what it reads and how many rows there are may depend on that number. The tensor
/// that is reduced does not, but for its outermost dim: if its last dim is reduced, the lanes run
/// along that one, else across the reduction.
static unsigned getInvariantLane(const KernelProgram &program) {
  auto reduce = cast<ReduceOp>(program[program.getReduces().front()].op);
  SmallVector<SizeExpr> sizes = getSizes(cast<RankedTensorType>(reduce.getOperand().getType()));
  size_t last = sizes.size();
  while (last > 0 && sizes[last - 1].isConstant(1)) {
    --last;
  }
  bool isRow = last == 0 || llvm::is_contained(reduce.getDims(), static_cast<int64_t>(last - 1));
  return isRow || program.numParallel() == 0 ? program.getRank() - 1 : program.numParallel() - 1;
}

std::optional<unsigned> mlir::frit::chooseLaneDim(const KernelProgram &program) {
  if (kBatchInvariantAttr.isOn(program.getKernel())) {
    return program.numReduced() ? getInvariantLane(program) : program.getLaneDim();
  }
  auto pairs = findPairLane(program);
  return pairs ? pairs : program.getLaneDim();
}
