// Measures the flat program of a kernel: everything on which schedules of a CPU depend.
#include "ir/FritAttributes.h"
#include "kernel/KernelCosts.h"
#include "passes/schedule/CpuSchedule.h"

using namespace mlir;
using namespace mlir::frit;

/// The largest innermost dim that is unrolled, and the most nodes it may make.
static constexpr int64_t kMembers = 4;
static constexpr size_t kUnrolledNodes = 1200;
/// From this length on a body is emitted once, every vector under its mask.
static constexpr unsigned kLongBody = 20;
/// Elements below which a domain is small.
static constexpr int64_t kSmallDomain = 1 << 14;

/// Boxes, colours, complex numbers: a vector along the few members would be mostly empty or, if the
/// members are computed apart, compute each for all. With the dim unrolled the lanes run over whole
/// structures, whose members come and go in groups.
static bool hasMembers(const KernelProgram &program) {
  if (!program.numParallel() || program.getRank() < 2) {
    return false;
  }
  unsigned last = program.numParallel() - 1;
  if (program.numReduced() && kBatchInvariantAttr.isOn(program.getKernel())) {
    return false; // the rows themselves may be the last dim
  }
  auto size = program.getDomain()[last].getConstant();
  return size && *size <= kMembers && program.getNodes().size() * *size <= kUnrolledNodes &&
         (!program.numReduced() || chooseLaneDim(program) == last);
}

/// A dim along which an operand is contiguous that is not contiguous along the lanes.
static std::optional<unsigned> findTileDim(const KernelProgram &program, unsigned lane) {
  for (const Node &node : program.getNodes()) {
    auto along = node.kind == NodeKind::Load ? program.getStride(node.expr, lane) : std::nullopt;
    if (!along || along->isConstant(0) || along->isConstant(1)) {
      continue;
    }
    for (unsigned dim = 0; dim < program.getRank(); ++dim) {
      auto stride = program.getStride(node.expr, dim);
      if (dim != lane && stride && stride->isConstant(1)) {
        return dim;
      }
    }
  }
  return std::nullopt;
}

static unsigned weightOf(const KernelProgram &program, ArrayRef<unsigned> roots, unsigned lane) {
  unsigned weight = 0;
  for (unsigned id : program.reach(roots)) {
    if (program[id].dims >> lane & 1) {
      weight += isCostly(program[id]) ? 8 : 1;
    }
  }
  return weight;
}

/// The dim along which rows of a tile lie: a load of the reduction does not depend on it and is
/// then read once for all rows.
static void findRowDim(const KernelProgram &program, unsigned lane, CpuKernelSummary &summary) {
  uint32_t reuse = 0, strided = 0;
  for (const Node &node : program.getNodes()) {
    if (node.kind == NodeKind::Load && (node.dims & program.reducedMask())) {
      uint32_t missing = program.parallelMask() & ~node.dims & ~(1u << lane);
      reuse |= missing;
      strided |= isStrided(program, node, lane) ? missing : 0;
    }
    summary.reductions += node.kind == NodeKind::Reduce;
  }
  reuse = strided ? strided : reuse;
  if (reuse && program.numPhases() == 1) {
    summary.rowDim = llvm::Log2_32(reuse);
    // Stretches of packed operands are added in f32.
    summary.canPack = strided && program.numReduced() == 1 && !summary.isInvariant;
  }
}

static void summarizeReduction(const KernelProgram &program, CpuVectors vectors,
                               CpuKernelSummary &summary) {
  unsigned lane = *summary.lane;
  auto isLong = [&](ArrayRef<unsigned> roots, ArrayRef<unsigned> known = {}, uint32_t along = ~0u) {
    return getBodyLength(program, roots, lane, known, along) >= kLongBody &&
           (vectors.masksNarrow || !hasNarrowAccesses(program, roots, lane, known, along));
  };
  for (unsigned phase = 0; phase < program.numPhases(); ++phase) {
    SmallVector<unsigned> inputs = program.getReducedNodes(phase);
    summary.rounds.push_back(
        {static_cast<unsigned>(inputs.size()), weightOf(program, inputs, lane), isLong(inputs)});
  }
  auto bound = program.sharedBound(program.getDomain().back());
  SmallVector<unsigned> written = getFullRoots(program);
  summary.isLaneReduced = lane >= program.numParallel();
  summary.canSplit = !summary.isInvariant && program.numParallel() == 0 &&
                     program.numReduced() == 1 && program.numPhases() == 1 && written.empty() &&
                     (!bound || *bound > 2 * kSplitRowElements);
  if (summary.isLaneReduced) {
    SmallVector<KeptValue> kept = findKeptValues(program, lane, /*most=*/4);
    summary.keptValues = kept.size();
    summary.isWriteLong = isLong(written, getKeptForLast(program, kept));
    summary.isRecomputeLong = isLong(written);
    return;
  }
  findRowDim(program, lane, summary);
  summary.isLong = isLong(program.getRoots(), {}, program.reducedMask());
  // In several stretches nothing of the whole domain can be written.
  auto steps = program.getFacts().upperBound(program.getDomain().back());
  summary.canPack &= (steps && *steps <= kPackedSteps) || written.empty();
  summary.canSumInBlocks = !summary.rowDim && canSumInBlocks(program);
  // No estimate decides this: a sum has the same parts whether sizes are known or not.
  summary.canShareOut = summary.canSumInBlocks && program.numParallel() == 1 &&
                        !summary.isInvariant && (!bound || *bound > kPartSteps);
}

CpuKernelSummary mlir::frit::summarizeCpuKernel(KernelProgram &program, CpuVectors vectors) {
  CpuKernelSummary summary;
  summary.isInvariant = kBatchInvariantAttr.isOn(program.getKernel());
  program.splitDims();
  summary.unrollMembers = hasMembers(program);
  if (summary.unrollMembers) {
    program.unrollDim(program.numParallel() - 1);
  }
  program.assumeRanges();
  summary.lane = chooseLaneDim(program);
  summary.elementsOfThread = getElementsOfThread(program);
  auto elements = program.getExtent(0, program.getRank()).getConstant();
  // Other candidates would add in another order.
  summary.isSmall = (elements && *elements < kSmallDomain) || summary.isInvariant;
  if (!summary.lane) {
    return summary;
  }
  summary.laneLength = program.guess(program.getDomain()[*summary.lane]);
  if (program.numReduced()) {
    summary.reducedLength =
        program.guess(program.getExtent(program.numParallel(), program.getRank()));
    summarizeReduction(program, vectors, summary);
    return summary;
  }
  summary.tileDim = findTileDim(program, *summary.lane);
  SmallVector<unsigned> roots = program.getStoredNodes();
  summary.isLong = getBodyLength(program, roots, *summary.lane) >= kLongBody &&
                   (vectors.masksNarrow || !hasNarrowAccesses(program, roots, *summary.lane));
  return summary;
}
