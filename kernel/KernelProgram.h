#pragma once

#include "ir/FritOps.h"
#include "ir/SizeExpr.h"

#include <vector>

/// A `frit.kernel` as a flat program over one iteration domain.
///
/// The body of a kernel is tensor algebra: values with maps between them. Machine code needs the
/// opposite: for each point of a domain, loads at addresses, scalar operations, stores.
/// `KernelProgram::build` turns one into the other, once, for all targets: views, broadcasts,
/// slices, reshapes and concatenations disappear into address polynomials and bounds, and what
/// remains is a list of nodes in topological order that a schedule may emit in any loop nest.
///
/// The domain is (P, R): `numParallel()` parallel dims d0.., then the reduced ones. Dims that every
/// address treats as one are collapsed, and dims of size 1 are dropped. All expressions are over
/// d0.. and the kernel's parameters p0...
///
///   y[i,j] = exp(x[i,j] - max_j x)     domain [p0 | p1]
///     %0 = load arg0[d0 * p1 + d1]         dims {0,1} level 0
///     %1 = reduce max %0                   dims {0}   level 0
///     %2 = apply arith.subf %0, %1         dims {0,1} level 1
///     %3 = apply math.exp %2               dims {0,1} level 1
///     store %3 -> result 0 [d0 * p1 + d1]
namespace mlir::frit {

/// `low <= expr < high`.
struct Bound {
  SizeExpr expr, low, high;
};

/// Failures that a kernel can report; the numbers are the ABI's. A gather whose
/// attribute `frit.raises` is "embedding", "gather", "target" or "index_select" fails as
/// that operator does in eager, at dimension `frit.dimension` if there is one; others
/// fail as indexing by tensors does.
enum class ErrorCode : int32_t {
  IndexOutOfRange = 1,
  DivisionByZero = 2,
  EmbeddingIndexOutOfRange = 4,
  GatherIndexOutOfRange = 5,
  TargetOutOfRange = 6,
  SelectedIndexOutOfRange = 7
};

enum class NodeKind {
  /// `value`.
  Constant,
  /// Host scalar `argument` (i64, f64 or i1).
  Scalar,
  /// The i64 value of `expr`.
  Index,
  /// Random bits (`op` is a RandomOp) of the element at linear index `expr`, from a seed and a
  /// stream.
  Random,
  /// Element `expr` (an address in elements; `v<k>` in it is the value of the
  /// Check node k, also an operand) of tensor `argument`; read only where
  /// `bounds` and those checks hold, any value elsewhere.
  Load,
  /// The i64 operand as an index into an extent `expr`, after `check`'s rule;
  /// where it is out of range (and `bounds` hold) the launch fails.
  Check,
  /// Operand 0. The others are Check nodes that its value does not depend on (every index reads the
  /// same), and that must hold all the same.
  Checked,
  /// `op` (arith, math) on the operands. Integer divisions fail the launch on
  /// a zero divisor where `bounds` hold.
  Apply,
  /// Operand 0 where `bounds` hold, operand 1 elsewhere.
  Select,
  /// The position in a segment, from the first bound of its SegmentSum on; `v<k>` in an expression
  /// is its value too. `dimension` is its own bit in masks of dims.
  Position,
  /// The sum of `body` (a SegmentSumOp) over the positions from operand 0 to operand 1.
  SegmentSum,
  /// `op` (a ScanOp) of operand 0 along the reduced dims. Its value belongs to the whole domain.
  Scan,
  /// `op` (a ReduceOp) of operand 0 over the reduced dims, or over the parallel ones (`isAcross`).
  Reduce
};

/// The most sums of segments of a kernel, and the most dims of its domain: both have bits in a
/// mask.
constexpr unsigned kMostSegments = 7, kMostDims = 32 - kMostSegments;

/// What a SegmentSum computes at each position: nodes below that no other node may take as inputs.
struct SegmentBody {
  unsigned position, value;
};

struct Node {
  NodeKind kind = NodeKind::Constant;
  /// Element type; `i1` is a byte in memory.
  Type type;
  /// Earlier nodes.
  SmallVector<unsigned, 3> operands;
  Operation *op = nullptr;
  TypedAttr value;
  unsigned argument = 0;
  SizeExpr expr;
  SmallVector<Bound, 1> bounds;
  IndexCheck check = IndexCheck::Unchecked;
  /// Check: the dimension that the error names, and which error it is.
  unsigned dimension = 0;
  ErrorCode error = ErrorCode::IndexOutOfRange;
  /// Reduce: over the parallel dims, so its value belongs to a column (the gradient of a norm's
  /// weight beside that of its input). Only values of columns depend on it.
  bool isAcross = false;
  /// SegmentSum alone.
  std::optional<SegmentBody> body;
  /// The domain dims that the value depends on, as a bit mask. The highest bits are of positions in
  /// segments.
  uint32_t dims = 0;
  /// How many rounds of reductions precede the value: a Reduce of level k is accumulated in phase
  /// k, its readers are of level k + 1.
  unsigned level = 0;
  Location loc;

  explicit Node(Location loc) : loc(loc) {}

  /// Whether the schedule supplies the value, which takes more than one point of the domain.
  bool isSupplied() const { return kind == NodeKind::Reduce || kind == NodeKind::Scan; }

  /// The nodes whose values it takes: its operands, and the checked indices (`v<k>`) that its
  /// bounds name. What a segment sums up is none of them.
  void forEachInput(llvm::function_ref<void(unsigned)> visit) const;
  /// The same, and what a segment sums up.
  void forEachNode(llvm::function_ref<void(unsigned)> visit) const;
};

/// One result, or one piece of a result that is a concatenation of equal ones: `node` is written at
/// `address` (in elements) of result `result`. `dims` are those that the address depends on; a
/// store without reduced dims happens once per row.
struct Store {
  unsigned result;
  unsigned node;
  SizeExpr address;
  uint32_t dims;
};

/// An access to an array of structures: each lane reads or writes one of `size` adjacent members,
/// at `base` + 0 .. size - 1, all of them in the tensor.
struct Group {
  unsigned size, member;
  SizeExpr base;
};

/// What code may assume about the alignment of its pointers.
enum class PointerAlignment {
  /// Nothing: it tests at run time whether vectors can be used.
  Tested,
  /// They are aligned for vectors.
  Aligned,
  /// They are not aligned, so it uses no vectors.
  Any
};

class KernelProgram {
public:
  /// Builds the program of a kernel, or emits an error at the operation that does not fit on one
  /// domain. With `joinReads`, results of a pointwise kernel that read an operand in different
  /// orders are placed so that it is read once, and are written in different orders instead. Not
  /// for kernels that write over an operand: that was decided for the order of elements.
  static FailureOr<KernelProgram> build(KernelOp kernel, bool joinReads = false);

  KernelOp getKernel() const { return kernel; }
  MLIRContext *getContext() const { return kernel->getContext(); }
  ArrayRef<SizeExpr> getDomain() const { return domain; }
  unsigned getRank() const { return domain.size(); }
  unsigned numReduced() const { return reducedRank; }
  unsigned numParallel() const { return domain.size() - reducedRank; }
  uint32_t parallelMask() const { return (1u << numParallel()) - 1; }
  uint32_t reducedMask() const { return ((1u << getRank()) - 1) & ~parallelMask(); }
  /// Product of the sizes of dims [begin, end).
  SizeExpr getExtent(unsigned begin, unsigned end) const;

  ArrayRef<Node> getNodes() const { return nodes; }
  const Node &operator[](unsigned id) const { return nodes[id]; }
  ArrayRef<Store> getStores() const { return stores; }
  /// The Reduce nodes over the reduced dims, in order of level.
  ArrayRef<unsigned> getReduces() const { return reduces; }
  /// The Reduce nodes over the parallel dims; only one family of kernels has them
  /// (codegen/gpu/kernels/RowsAndColumns.cpp).
  ArrayRef<unsigned> getAcross() const { return across; }
  /// The Scan node; a kernel with one has no Reduce nodes.
  std::optional<unsigned> getScan() const;
  /// One more than the highest level of a reduction; 0 without reductions.
  unsigned numPhases() const;
  /// How many phases of reductions must be complete before the node's value is known.
  unsigned getPhase(unsigned node) const {
    return nodes[node].level + (nodes[node].kind == NodeKind::Reduce ? 1 : 0);
  }
  /// Facts about parameters and, as extents, the domain's dims.
  const SizeFacts &getFacts() const { return facts; }

  /// The size if it is constant, otherwise an estimate from the hints of the parameters.
  int64_t guess(SizeExpr size) const;

  /// Adds assumptions that a variant may rely on; a range of a parameter becomes a fact.
  void assume(ArrayRef<AssumptionAttr> more);
  ArrayRef<AssumptionAttr> getAssumptions() const { return assumptions; }
  void setPointers(PointerAlignment alignment) { pointers = alignment; }
  PointerAlignment getPointers() const { return pointers; }
  /// Assumes the ranges of sizes that the kernel is made for (`frit.ranges`). Must come after
  /// everything that rewrites expressions, so that the operations are those of the kernel for all
  /// sizes.
  void assumeRanges();
  /// The upper bound of a size in every kernel made from the same region, whatever is assumed in
  /// this one. Only this bound may decide about the order of additions.
  std::optional<int64_t> sharedBound(SizeExpr size) const;

  /// Whether anything can fail at run time (index checks, integer division).
  bool canFail() const;

  /// The coefficient of dim `dim` in `expr` if `expr` is linear in it (a
  /// polynomial without that dim), else nullopt.
  std::optional<SizeExpr> getStride(SizeExpr expr, unsigned dim) const;

  /// The group of an access at `address` to an operand (or a result) with lanes along `dim`;
  /// nullopt if it is not an array of structures.
  std::optional<Group> getGroup(SizeExpr address, unsigned dim, unsigned tensor,
                                bool isResult) const;

  /// The dim along which most bytes are contiguous: the lane dim of a schedule.
  /// Ties go to the innermost; a domain without dims has none.
  std::optional<unsigned> getLaneDim() const;

  /// Calls `visit(quotient, left, right)` for every quotient in an index, an address or a bound.
  void forEachQuotient(llvm::function_ref<void(SizeExpr, SizeExpr, SizeExpr)> visit) const;

  /// Splits parallel dims whose index is divided by a small constant (48 coordinates read as 12
  /// boxes of 4) in two, so that no address divides any more.
  void splitDims();

  /// Splits dims whose index is divided by an unknown size that divides the dim: rows that were
  /// flattened into one dim, or repeated. The lane dim is split only if more accesses then cover
  /// whole lines.
  void splitUnknownDims();

  /// Unrolls a parallel dim of constant size: everything that depends on it, stores included, is
  /// copied for each of its values. Later dims move up.
  void unrollDim(unsigned dim);

  /// The nodes that reductions of a level read, that stores read, and that either read.
  SmallVector<unsigned> getReducedNodes(unsigned level) const;
  SmallVector<unsigned> getStoredNodes() const;
  SmallVector<unsigned> getRoots() const;

  /// Every node reachable from `roots` without entering the operands of what is supplied, or
  /// `known`, in order.
  SmallVector<unsigned> reach(ArrayRef<unsigned> roots, ArrayRef<unsigned> known = {}) const;

  /// The loads that `roots` depend on and that vary along reduced dims.
  SmallVector<unsigned> getSweptLoads(ArrayRef<unsigned> roots) const;
  /// Whether one sweep over the reduced dims is not enough: there are several rounds of reductions,
  /// or results on the full domain that depend on one.
  bool isReadAgain() const;

  /// Prints one line per node; for tests and logs.
  void print(llvm::raw_ostream &os) const;

private:
  friend class KernelProgramBuilder;
  explicit KernelProgram(KernelOp kernel);
  void collapseDims();
  /// Replaces a dim by two, the inner one of size `inner`; false if that does not divide the dim.
  bool splitDim(unsigned dim, SizeExpr inner);
  /// Visits every expression that may mention dims.
  void forEachExpr(llvm::function_ref<void(SizeExpr &)> visit);
  void computeDims();
  void dropDeadNodes();

  KernelOp kernel;
  SmallVector<SizeExpr> domain;
  unsigned reducedRank = 0;
  std::vector<Node> nodes;
  SmallVector<Store> stores;
  SmallVector<unsigned> reduces, across;
  SizeFacts facts;
  SmallVector<AssumptionAttr> assumptions;
  PointerAlignment pointers = PointerAlignment::Tested;
};

/// Calls `visit(quotient, left, right)` for every `floordiv(left, right)` in an expression, inner
/// ones first.
void forEachQuotient(SizeExpr expr, llvm::function_ref<void(SizeExpr, SizeExpr, SizeExpr)> visit);

/// The strides of a kernel's argument or result: its `frit.layout`, or
/// row-major ones.
SmallVector<SizeExpr> getKernelStrides(KernelOp kernel, RankedTensorType type,
                                       DictionaryAttr attributes);

/// Bytes of one element in memory.
unsigned getElementBytes(Type type);

} // namespace mlir::frit
