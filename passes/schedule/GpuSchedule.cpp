// Measures the program of a kernel, chooses its family and completes the numbers of its region.
#include "passes/schedule/GpuSchedule.h"

#include "kernel/KernelBudgets.h"
#include "kernel/StagedAccesses.h"
#include "kernel/VectorAccesses.h"
#include "passes/schedule/GpuShapes.h"
#include "passes/schedule/Schedule.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::frit;

namespace {
/// Threads of a block where the family does not choose them, and the shared memory that a launch
/// gets without opting in to more.
constexpr int64_t kThreads = 256, kMostSharedBytes = 48 << 10;

/// The most values of an element of a register-resident row that stay live from one phase to a
/// later one.
unsigned countWaiting(const KernelProgram &program) {
  unsigned phases = program.numPhases();
  SmallVector<unsigned> computed(program.getNodes().size(), phases + 1),
      used(program.getNodes().size(), 0);
  for (unsigned phase = 0; phase <= phases; ++phase) {
    SmallVector<unsigned> roots =
        phase < phases ? program.getReducedNodes(phase) : SmallVector<unsigned>();
    for (const Store &store : program.getStores()) {
      if (phase == phases && program[store.node].kind != NodeKind::Reduce) {
        roots.push_back(store.node);
      }
    }
    for (unsigned id : program.reach(roots)) {
      if (computed[id] > phases) {
        computed[id] = phase;
        // What a reduction takes was used in its own phase.
        for (unsigned operand : program[id].operands) {
          used[operand] = program[id].isSupplied() ? used[operand] : phase;
        }
      }
    }
    for (unsigned root : roots) {
      used[root] = phase;
    }
  }
  unsigned most = 0;
  for (unsigned phase = 1; phase <= phases; ++phase) {
    unsigned waiting = 0;
    for (auto [id, node] : llvm::enumerate(program.getNodes())) {
      bool isValue = llvm::is_contained(
          {NodeKind::Load, NodeKind::Apply, NodeKind::Select, NodeKind::Random}, node.kind);
      waiting += isValue && (node.dims & program.reducedMask()) && computed[id] < phase &&
                 used[id] >= phase;
    }
    most = std::max(most, waiting);
  }
  return most;
}

bool isMathFunction(const Node &node) {
  return node.kind == NodeKind::Apply && mlir::frit::isMathFunction(node.op);
}

/// The vector width for a thread, by the accesses that are contiguous along `lane`.
unsigned measureWidth(const KernelProgram &program, unsigned lane) {
  LaneAccesses found;
  forEachAccess(program, [&](unsigned, bool, Type element, SizeExpr address) {
    auto stride = program.getStride(address, lane);
    if (stride && stride->isConstant(1)) {
      unsigned bytes = getElementBytes(element);
      found.narrowest = found.narrowest ? std::min(found.narrowest, bytes) : bytes;
      found.widest = std::max(found.widest, bytes);
      ++found.accesses;
    }
  });
  for (const Node &node : program.getNodes()) {
    found.heavyFunctions += isMathFunction(node);
  }
  return chooseVectorWidth(found);
}

/// The dim along which the accesses are contiguous that are not contiguous along the lanes, if
/// tiles in shared memory pay for them.
std::optional<unsigned> findTransposedDim(const KernelProgram &program) {
  std::optional<unsigned> lane = program.getLaneDim();
  if (!lane || !program.getReduces().empty() || program.getRank() < 2) {
    return std::nullopt;
  }
  auto isShort = [&](unsigned dim) {
    auto most = program.getFacts().upperBound(program.getDomain()[dim]);
    return most && *most < tileOf(1) / 2;
  };
  std::optional<unsigned> best;
  uint32_t most = 0;
  for (unsigned dim = 0; dim < program.getRank() && !isShort(*lane); ++dim) {
    if (dim == *lane || isShort(dim)) {
      continue;
    }
    StagedAccesses staged(program, *lane, dim, 1);
    if (staged.bytes > most && staged.bytes <= kMostTileBytes) {
      most = staged.bytes;
      best = dim;
    }
  }
  return best;
}

class Chooser {
public:
  Chooser(const KernelProgram &program, unsigned arch)
      : program(program), arch(arch), context(program.getContext()), lane(program.getLaneDim()) {
    if (ScheduleAttr schedule = KernelOp(program.getKernel()).getScheduleAttr()) {
      kind = schedule.getKind();
      if (GpuNumbersAttr asked = schedule.getNumbers()) {
        numbers = asked;
      }
    }
    if (!numbers) {
      numbers = GpuNumbers().toAttr(context);
    }
  }

  FailureOr<Attribute> choose() {
    if (program.getScan()) {
      return scan();
    }
    KernelOp kernel = program.getKernel();
    std::optional<unsigned> across = findTransposedDim(program);
    FamilyFacts facts;
    facts.reducesAcross = !program.getAcross().empty();
    facts.isList = kernel.getList().has_value();
    facts.transposes = across.has_value();
    facts.reduces = !program.getReduces().empty();
    facts.hasLane = lane.has_value();
    facts.isLaneReduced = lane && *lane >= program.numParallel();
    facts.hasParallel = program.numParallel() > 0;
    facts.splits = numbers.getSplit() > 1;
    if (facts.reduces && lane && !facts.reducesAcross) {
      facts.mostChunks = program.sharedBound(countRowChunks(*lane, widthAlong(*lane)));
    }
    switch (chooseGpuFamily(facts)) {
    case GpuFamily::Pointwise:
      return pointwise();
    case GpuFamily::Transpose:
      return transpose(*across);
    case GpuFamily::Rows:
      return rows();
    case GpuFamily::SplitRows:
      return splitRows();
    case GpuFamily::Columns:
      return columns();
    case GpuFamily::RowsAndColumns:
      return rowsAndColumns();
    }
    llvm_unreachable("no such family");
  }

private:
  static int64_t powerOfTwo(int64_t number, int64_t otherwise, int64_t least, int64_t most) {
    number = number ? number : otherwise;
    return std::clamp<int64_t>(static_cast<int64_t>(llvm::PowerOf2Ceil(number)), least, most);
  }

  /// Vectors that a thread loads at once. Where rows are whole, the number is that of their
  /// vectors.
  int64_t unrollAsked() {
    return kind == ScheduleKind::RowReduction && !numbers.getSplit() ? 0 : numbers.getUnroll();
  }

  /// The width of vectors along a dim, 1 if no access can be one.
  unsigned widthAlong(unsigned dim) {
    return VectorAccesses(program, dim, measureWidth(program, dim)).width;
  }

  SizeExpr countRowChunks(unsigned lane, unsigned width) {
    return countChunks(program, program.numParallel(), program.getRank(), lane, width);
  }

  /// The width, halved until it divides the dim.
  unsigned halveToWhole(unsigned lane, unsigned width) {
    while (width > 1 && !hasWholeChunks(program, lane, width)) {
      width /= 2;
    }
    return width;
  }

  Attribute pointwise() {
    bool isList = KernelOp(program.getKernel()).getList().has_value();
    int64_t threads = isList ? kThreads : powerOfTwo(numbers.getThreads(), kThreads, 32, 1024);
    if (program.getRank() == 0) {
      return GpuPointwiseAttr::get(context, std::nullopt, 1, threads, 1, 1, false);
    }
    // A random number takes so many instructions that loads after them would not overlap with
    // anything. Alone, each element draws a block of four, so there is one copy of that code.
    bool drawsRandom = llvm::any_of(program.getNodes(),
                                    [](const Node &node) { return node.kind == NodeKind::Random; });
    // A thread that sums up a segment waits for its rows only, of which it loads several at once.
    bool sumsSegments = llvm::any_of(
        program.getNodes(), [](const Node &node) { return node.kind == NodeKind::SegmentSum; });
    bool takesOne = isList || sumsSegments;
    int64_t unroll = takesOne ? 1 : powerOfTwo(unrollAsked(), 1, 1, 4);
    int64_t width = widthAlong(*lane);
    SingleAccesses single;
    for (const Node &node : program.getNodes()) {
      single.bytes += node.kind == NodeKind::Load && node.dims ? getElementBytes(node.type) : 0;
      single.heavyFunctions += isMathFunction(node);
    }
    // Places of single elements need no division by an unknown size if the inner sizes are known.
    auto inner = program.getExtent(1, program.getRank()).getConstant();
    if (width == 1 && inner && !takesOne && !drawsRandom) {
      unroll = chooseSingles(single, program.guess(program.getExtent(0, program.getRank())));
    }
    single.elements = drawsRandom || sumsSegments ? 1 : width * unroll;
    return GpuPointwiseAttr::get(context, lane, width, threads, unroll, chooseTogether(single),
                                 drawsRandom || sumsSegments);
  }

  Attribute transpose(unsigned across) {
    unsigned along = *lane, count = neighbours(across);
    // Operands that go through a tile of squares are all loaded before anything is computed, which
    // is not so for those along the lanes: ptxas computes as they come.
    StagedAccesses staged(program, along, across, count), swapped(program, across, along, count);
    if (count > 2 && staged.loads.empty() && swapped.stores.empty() &&
        swapped.bytes <= staged.bytes) {
      std::swap(along, across);
    }
    return GpuTransposeAttr::get(context, along, across, count);
  }

  /// The number of neighbours that a thread of a tile takes at once.
  unsigned neighbours(unsigned across) {
    StagedAccesses staged(program, *lane, across, 2);
    TileNumbers tile;
    tile.narrowest = staged.narrowest;
    tile.widest = staged.widest;
    tile.bytesOfPairs = staged.bytes;
    tile.bytes = staged.bytesOfAll;
    tile.lanes = program.getDomain()[*lane].getConstant();
    tile.across = program.getDomain()[across].getConstant();
    tile.elements = program.getExtent(0, program.getRank()).getConstant();
    describeAll(across, tile);
    unsigned count = chooseNeighbours(tile);
    return std::min(VectorAccesses(program, *lane, count).width,
                    VectorAccesses(program, across, count).width);
  }

  /// Counts the accesses of a tile that are no broadcasts.
  void describeAll(unsigned across, TileNumbers &tile) {
    tile.accesses = tile.widestOfAll = 0;
    tile.narrowestOfAll = 8;
    tile.isPlain = llvm::none_of(program.getNodes(), [](const Node &node) {
      return node.kind == NodeKind::Random || node.kind == NodeKind::Check;
    });
    forEachAccess(program, [&](unsigned, bool, Type element, SizeExpr address) {
      auto along = program.getStride(address, *lane), other = program.getStride(address, across);
      bool isConstant = along && other && along->isConstant(0) && other->isConstant(0);
      if (isConstant) {
        return;
      }
      bool isAlong = along && along->isConstant(1), isAcross = other && other->isConstant(1);
      tile.isPlain &= (isAlong && other) || (isAcross && along);
      // A row or column that all others share stays in a register or two.
      tile.accesses += !(along && along->isConstant(0)) && !(other && other->isConstant(0));
      tile.narrowestOfAll = std::min(tile.narrowestOfAll, getElementBytes(element));
      tile.widestOfAll = std::max(tile.widestOfAll, getElementBytes(element));
    });
  }

  /// The lane dim of a row: the innermost one if the program's lies across it.
  unsigned rowLane() {
    return lane && *lane >= program.numParallel() ? *lane : program.getRank() - 1;
  }

  RowShape shapeOf(unsigned lane, unsigned width) {
    RowNumbers row;
    SizeExpr chunks = countRowChunks(lane, width);
    row.chunks = chunks.getConstant();
    row.mostChunks = row.chunks ? std::nullopt : program.sharedBound(chunks);
    if (kind == ScheduleKind::RowReduction) {
      row.expectedChunks = static_cast<int64_t>(llvm::divideCeil(
          numbers.getUnroll() * numbers.getThreads() * numbers.getVector(), width));
    }
    row.rows = program.getExtent(0, program.numParallel()).getConstant();
    row.hasWholeChunks = hasWholeChunks(program, lane, width);
    row.isReadAgain = program.isReadAgain();
    row.width = width;
    SmallVector<unsigned> reduced;
    for (unsigned id : program.getReduces()) {
      reduced.push_back(program[id].operands[0]);
    }
    // Operands of the last sweep alone (a weight, a bias) are not kept through the phases.
    SmallVector<unsigned> loads = program.getSweptLoads(reduced);
    row.loads = loads.size();
    row.values = countWaiting(program);
    row.bytes = 0;
    for (unsigned id : loads) {
      row.bytes += getElementBytes(program[id].type);
    }
    row.expectedRows = program.guess(program.getExtent(0, program.numParallel()));
    row.hasPositions = llvm::any_of(program.getReduces(), [&](unsigned id) {
      return isArgReduction(cast<ReduceOp>(program[id].op).getKind());
    });
    row.isWide =
        llvm::any_of(loads, [&](unsigned id) { return getElementBytes(program[id].type) > 4; });
    // ptxas needs a few more on other devices, and while a function of the row (the logarithm of
    // its sum) is computed.
    row.ownRegisters = arch == 90 ? 16 : 32;
    row.ownRegisters +=
        llvm::any_of(program.getNodes(),
                     [&](const Node &node) {
                       return isMathFunction(node) && !(node.dims & program.reducedMask());
                     })
            ? 16
            : 0;
    row.rowThreads = numbers.getRowThreads();
    row.threads = numbers.getThreads() ? numbers.getThreads() : kThreads;
    row.vector = numbers.getVector() ? numbers.getVector() : width;
    row.cluster = numbers.getCluster() ? numbers.getCluster() : 1;
    return shapeRows(row);
  }

  Attribute rows() {
    // The chunks of a row of known length must be whole to be kept, with a smaller width if need
    // be.
    unsigned lane = rowLane(), wanted = measureWidth(program, lane),
             whole = halveToWhole(lane, wanted);
    bool isKnown =
        program.getExtent(program.numParallel(), program.getRank()).getConstant().has_value();
    unsigned width = VectorAccesses(program, lane, wanted).width;
    if (whole != wanted && isKnown) {
      unsigned narrow = VectorAccesses(program, lane, whole).width;
      width = shapeOf(lane, narrow).kept ? narrow : width;
    }
    RowShape shape = shapeOf(lane, width);
    // With several results, a vector and a scalar form of each store would take registers that a
    // second block of 512 threads needs (64 become 67 for add + RMS norm on sm_100).
    bool keepsMisaligned =
        shape.kept > 0 && !isKnown && KernelOp(program.getKernel()).getResultTypes().size() == 1;
    return GpuRowsAttr::get(context, lane, width, shape.threads, shape.block, shape.kept,
                            shape.keptElements, shape.usual, keepsMisaligned, shape.cluster,
                            shape.rows, shape.resident);
  }

  Attribute splitRows() {
    constexpr int64_t blocks = 512, leastChunks = 4;
    int64_t unroll = powerOfTwo(unrollAsked(), 1, 1, 8),
            split = numbers.getSplit() ? numbers.getSplit() : blocks,
            resident = std::clamp<int64_t>(numbers.getResident(), 1, 4);
    return GpuSplitRowsAttr::get(context, *lane, widthAlong(*lane), unroll, split,
                                 kThreads * std::max(unroll, leastChunks), resident);
  }

  Attribute columns() {
    // The lane dim may lie across the reduced dims although the region's schedule is of another
    // kind (a softmax over dim 0). The numbers of such a schedule are not used.
    constexpr int64_t warp = 32, warps = kThreads / warp;
    GpuNumbersAttr asked =
        kind == ScheduleKind::ColumnReduction ? numbers : GpuNumbers().toAttr(context);
    int64_t threadsX = powerOfTwo(asked.getThreadsX(), warp, 1, warp),
            unroll = powerOfTwo(asked.getUnroll(), 1, 1, 8),
            width = std::min<int64_t>(measureWidth(program, *lane),
                                      powerOfTwo(asked.getVector(), 8, 1, 8));
    unsigned values = 0;
    for (unsigned id : program.getReduces()) {
      values += countCarried(cast<ReduceOp>(program[id].op).getKind());
    }
    int64_t slot = getSlotBytes(llvm::map_range(
        program.getReduces(), [&](unsigned id) { return cast<ReduceOp>(program[id].op); }));
    while (width > 1 && slot * warps * threadsX * width * values > kMostSharedBytes) {
      width /= 2;
    }
    int64_t split =
        asked.getSplit() && !program.isReadAgain() ? std::max<int64_t>(asked.getSplit(), 1) : 1;
    int64_t run = kThreads / threadsX * unroll;
    return GpuColumnsAttr::get(context, *lane, VectorAccesses(program, *lane, width).width,
                               threadsX, unroll, split,
                               split > 1 ? std::max(asked.getRowsOfPart(), run) : 0,
                               powerOfTwo(asked.getResident(), 1, 1, 4));
  }

  Attribute scan() {
    unsigned along = program.getRank() - 1;
    ScanNumbers numbers;
    numbers.isAcross = *lane < program.numParallel();
    numbers.width = widthAlong(along);
    numbers.chunks = program.guess(countRowChunks(along, static_cast<unsigned>(numbers.width)));
    numbers.rows = program.guess(program.getExtent(0, program.numParallel()));
    numbers.bytes = 0;
    for (const Node &node : program.getNodes()) {
      numbers.bytes += node.kind == NodeKind::Load && node.dims ? getElementBytes(node.type) : 0;
    }
    ScanShape shape = shapeScan(numbers);
    bool isColumn = shape.threads == 1;
    return GpuScanAttr::get(context, isColumn ? *lane : along, isColumn ? 1 : numbers.width,
                            shape.threads, shape.block, shape.unroll);
  }

  FailureOr<Attribute> rowsAndColumns() {
    KernelOp kernel = program.getKernel();
    unsigned lane = rowLane(), whole = halveToWhole(lane, measureWidth(program, lane)),
             width = VectorAccesses(program, lane, whole).width;
    auto chunks = countRowChunks(lane, width).getConstant();
    if (!chunks || *chunks == 0 || program.numParallel() == 0) {
      return kernel.emitError("kernel '")
             << kernel.getSymName() << "' reduces over rows of "
             << program.getExtent(program.numParallel(), program.getRank()).str()
             << " elements beside their own reductions; that takes rows of known length, not empty";
    }
    int64_t threads = powerOfTwo(numbers.getThreads(), kThreads, 8, kMostRowThreads),
            rows = powerOfTwo(numbers.getRows(), 1, 1, kMostRowThreads / threads);
    return Attribute(GpuRowsAndColumnsAttr::get(
        context, lane, width, threads, std::max<int64_t>(threads * rows, 32),
        std::max<int64_t>(numbers.getParts(), 1), numbers.getUnroll() > 1,
        powerOfTwo(numbers.getResident(), 1, 1, 4)));
  }

  const KernelProgram &program;
  unsigned arch;
  MLIRContext *context;
  std::optional<unsigned> lane;
  std::optional<ScheduleKind> kind;
  GpuNumbersAttr numbers;
};
} // namespace

FailureOr<Attribute> mlir::frit::chooseGpuSchedule(const KernelProgram &program, unsigned arch) {
  return Chooser(program, arch).choose();
}
