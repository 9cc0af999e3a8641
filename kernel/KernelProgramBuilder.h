#pragma once

#include "kernel/KernelProgram.h"

#include <map>
#include <tuple>

/// Turns tensor algebra into a flat program on demand: a value is requested at an index, and
/// requests its operands at theirs. Requests are memoised on (value, index, bounds in force),
/// processed on an explicit stack, and simplified with the extents of the domain, so that a chain
/// of views costs nothing.
namespace mlir::frit {

using Exprs = SmallVector<SizeExpr>;
/// The node that a request made; none while operands are missing, failure after an error.
using MadeNode = FailureOr<std::optional<unsigned>>;
inline MadeNode made(std::optional<unsigned> node) { return node; }

class KernelProgramBuilder {
public:
  explicit KernelProgramBuilder(KernelOp kernel, bool joinReads = false)
      : program(kernel), kernel(kernel), context(kernel.getContext()), joinReads(joinReads) {}

  FailureOr<KernelProgram> build();

private:
  struct Request {
    Value value;
    ArrayAttr index, guards;
    bool operator==(const Request &other) const = default;
  };
  using Key = std::pair<Value, std::pair<Attribute, Attribute>>;

  SizeExpr constant(int64_t value) { return SizeExpr::constant(context, value); }
  LogicalResult chooseDomain();
  FailureOr<Exprs> resultIndex(Value value);
  /// By argument: the address that `value` reads at its own index.
  std::map<unsigned, SizeExpr> addressesOf(Value value);
  std::optional<Exprs> followFirst(Value value, Value first, ArrayRef<SizeExpr> index);
  bool isWrittenInPieces(Value value);
  LogicalResult addStore(unsigned result, Value value, ArrayRef<SizeExpr> strides,
                         SizeExpr address);
  Exprs reexpress(ArrayRef<SizeExpr> index, ArrayRef<SizeExpr> from, ArrayRef<SizeExpr> to);
  SizeExpr linearise(ArrayRef<SizeExpr> index, ArrayRef<SizeExpr> sizes);

  FailureOr<unsigned> pull(Request root);
  MadeNode make(const Request &request);
  std::optional<unsigned> need(Value value, ArrayRef<SizeExpr> index, ArrayAttr guards);
  unsigned add(Node node) {
    program.nodes.push_back(std::move(node));
    return program.nodes.size() - 1;
  }
  unsigned addConstant(Location loc, TypedAttr value);
  void addIndexOperands(Node &node);
  ArrayAttr pack(ArrayRef<SizeExpr> exprs);
  Exprs unpack(ArrayAttr exprs);
  SmallVector<Bound> unpackGuards(ArrayAttr guards);
  /// Where an operation of this result may raise an error: not if the result has no elements. It
  /// may be computed there all the same, in front of a loop on which it does not depend.
  SmallVector<Bound> boundsOfErrors(ArrayAttr guards, RankedTensorType type);
  ArrayAttr addGuards(ArrayAttr guards, ArrayRef<Bound> more);
  /// Whether a bound never holds where the guards do. Without this test a chain of n writes into
  /// slices of a tensor would have 2^n nodes, most of them never executed.
  bool areExcluded(ArrayAttr guards, ArrayRef<Bound> bounds);
  /// Drops bounds that always hold; false if one never holds.
  bool simplify(SmallVectorImpl<Bound> &bounds);

  std::optional<unsigned> makeLoad(const Request &request, BlockArgument argument);
  std::optional<unsigned> makeRandom(const Request &request, RandomOp op);
  std::optional<unsigned> makeReindex(const Request &request, ReindexOp op);
  std::optional<unsigned> makeConcat(const Request &request, ConcatOp op);
  std::optional<unsigned> makeGather(const Request &request, GatherOp op);
  unsigned makeChecked(Location loc, unsigned source, ArrayRef<unsigned> checks);
  MadeNode makeReduce(const Request &request, ReduceOp op);
  MadeNode makeScan(const Request &request, ScanOp op);
  /// The index of the scan's operand and result at a point of the domain.
  Exprs scanIndex(ScanOp op);
  MadeNode makeSegmentSum(const Request &request, SegmentSumOp op);
  std::optional<unsigned> makeApply(const Request &request, Operation *op);

  KernelProgram program;
  KernelOp kernel;
  MLIRContext *context;
  bool joinReads;
  /// The domain as derived, and the index of its dims (0 for size 1).
  Exprs parallelSizes, reducedSizes, parallelIndex, reducedIndex;
  ReduceOp firstReduce;
  ScanOp scan;
  llvm::DenseMap<Key, unsigned> memo;
  llvm::DenseMap<Operation *, unsigned> reduceNodes;
  /// The nodes that are names in addresses: the checks of a gather's indices, and the positions and
  /// rows of a segment.
  std::map<std::tuple<Operation *, size_t, const void *, const void *>, unsigned> checks;
  llvm::DenseMap<Operation *, unsigned> segments;
  std::vector<Request> stack;
  bool missing = false;
  /// While results are traced, dims stand for the result's own index.
  bool tracing = false;
  std::optional<std::pair<ReduceOp, Exprs>> reached;
};

} // namespace mlir::frit
