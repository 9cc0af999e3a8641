// From tensor algebra to a flat program, by demand: a value is asked for at an
// index, and asks its operands at theirs. Requests are memoised on (value,
// index, bounds in force), worked off on an explicit stack, and simplified with
// the extents of the domain, so that a chain of views costs nothing.
#include "codegen/KernelProgram.h"

#include <map>
#include <tuple>

using namespace mlir;
using namespace mlir::frit;

namespace {
using Exprs = SmallVector<SizeExpr>;
} // namespace

namespace mlir::frit {

class KernelProgramBuilder {
public:
  explicit KernelProgramBuilder(KernelOp kernel)
      : program(kernel), kernel(kernel), context(kernel.getContext()) {}

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
  Exprs reexpress(ArrayRef<SizeExpr> index, ArrayRef<SizeExpr> from, ArrayRef<SizeExpr> to);
  SizeExpr linearise(ArrayRef<SizeExpr> index, ArrayRef<SizeExpr> sizes);

  FailureOr<unsigned> pull(Request root);
  FailureOr<std::optional<unsigned>> make(const Request &request);
  std::optional<unsigned> need(Value value, ArrayRef<SizeExpr> index, ArrayAttr guards);
  unsigned add(Node node) {
    program.nodes.push_back(std::move(node));
    return program.nodes.size() - 1;
  }
  unsigned addConstant(Location loc, TypedAttr value);
  ArrayAttr pack(ArrayRef<SizeExpr> exprs);
  Exprs unpack(ArrayAttr exprs);
  SmallVector<Bound> unpackGuards(ArrayAttr guards);
  ArrayAttr addGuards(ArrayAttr guards, ArrayRef<Bound> more);
  /// Drops what always holds; false if one bound never does.
  bool simplify(SmallVectorImpl<Bound> &bounds);

  std::optional<unsigned> makeLoad(const Request &request, BlockArgument argument);
  std::optional<unsigned> makeReindex(const Request &request, ReindexOp op);
  std::optional<unsigned> makeConcat(const Request &request, ConcatOp op);
  std::optional<unsigned> makeGather(const Request &request, GatherOp op);
  FailureOr<std::optional<unsigned>> makeReduce(const Request &request, ReduceOp op);
  std::optional<unsigned> makeApply(const Request &request, Operation *op);

  KernelProgram program;
  KernelOp kernel;
  MLIRContext *context;
  /// The domain as derived, and the index of its dims (0 for size 1).
  Exprs parallelSizes, reducedSizes, parallelIndex, reducedIndex;
  ReduceOp firstReduce;
  llvm::DenseMap<Key, unsigned> memo;
  llvm::DenseMap<Operation *, unsigned> reduceNodes;
  std::map<std::tuple<Operation *, size_t, const void *, const void *>, unsigned> checks;
  std::vector<Request> stack;
  bool missing = false;
  /// While results are traced, dims stand for the result's own index.
  bool tracing = false;
  std::optional<std::pair<ReduceOp, Exprs>> reached;
};

} // namespace mlir::frit

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

ArrayAttr KernelProgramBuilder::pack(ArrayRef<SizeExpr> exprs) {
  return ArrayAttr::get(context, llvm::map_to_vector(exprs, [](SizeExpr expr) -> Attribute {
                          return expr.getAttr();
                        }));
}

Exprs KernelProgramBuilder::unpack(ArrayAttr exprs) {
  return llvm::map_to_vector(exprs,
                             [](Attribute attr) { return SizeExpr(cast<SizeAttr>(attr)); });
}

SmallVector<Bound> KernelProgramBuilder::unpackGuards(ArrayAttr guards) {
  return llvm::map_to_vector(guards, [&](Attribute guard) {
    Exprs parts = unpack(cast<ArrayAttr>(guard));
    return Bound{parts[0], parts[1], parts[2]};
  });
}

ArrayAttr KernelProgramBuilder::addGuards(ArrayAttr guards, ArrayRef<Bound> more) {
  SmallVector<Attribute> all(guards.begin(), guards.end());
  for (const Bound &bound : more) {
    Attribute guard = pack({bound.expr, bound.low, bound.high});
    if (!llvm::is_contained(all, guard)) {
      all.push_back(guard);
    }
  }
  return ArrayAttr::get(context, all);
}

bool KernelProgramBuilder::simplify(SmallVectorImpl<Bound> &bounds) {
  const SizeFacts &facts = program.facts;
  bool possible = true;
  llvm::erase_if(bounds, [&](Bound &bound) {
    bound = {facts.simplify(bound.expr), facts.simplify(bound.low), facts.simplify(bound.high)};
    if (facts.provablyLess(bound.expr, bound.low) ||
        facts.provablyNonNegative(bound.expr - bound.high)) {
      possible = false;
    }
    return facts.provablyNonNegative(bound.expr - bound.low) &&
           facts.provablyLess(bound.expr, bound.high);
  });
  return possible;
}

SizeExpr KernelProgramBuilder::linearise(ArrayRef<SizeExpr> index, ArrayRef<SizeExpr> sizes) {
  SizeExpr linear = constant(0);
  for (auto [expr, size] : llvm::zip(index, sizes)) {
    linear = linear * size + expr;
  }
  return program.facts.simplify(linear);
}

/// Row-major re-expression of an index over sizes `from` as one over `to`:
/// group by group where partial products agree, so that most dims stay alone.
Exprs KernelProgramBuilder::reexpress(ArrayRef<SizeExpr> index, ArrayRef<SizeExpr> from,
                                      ArrayRef<SizeExpr> to) {
  Exprs result(to.size(), constant(0));
  size_t i = 0, j = 0;
  auto skipOnes = [&] {
    while (i < from.size() && from[i].isConstant(1)) {
      ++i;
    }
    while (j < to.size() && to[j].isConstant(1)) {
      ++j;
    }
  };
  for (skipOnes(); i < from.size() && j < to.size(); skipOnes()) {
    size_t iEnd = i + 1, jEnd = j + 1;
    SizeExpr left = from[i], right = to[j];
    while (left != right && (iEnd < from.size() || jEnd < to.size())) {
      bool growLeft = iEnd < from.size() && right.divideExactly(left).has_value();
      bool growRight = !growLeft && jEnd < to.size() && left.divideExactly(right).has_value();
      if (!growLeft && !growRight) {
        // Neither divides the other: join whatever is left on the shorter side.
        growLeft = iEnd < from.size() && (jEnd >= to.size() || iEnd - i <= jEnd - j);
      }
      if (growLeft) {
        left = left * from[iEnd++];
      } else {
        right = right * to[jEnd++];
      }
    }
    SizeExpr linear = linearise(index.slice(i, iEnd - i), from.slice(i, iEnd - i));
    for (size_t k = jEnd; k-- > j;) {
      bool last = k == j;
      result[k] = last ? linear : program.facts.simplify(linear.mod(to[k]));
      if (!last) {
        linear = program.facts.simplify(linear.floorDiv(to[k]));
      }
    }
    i = iEnd;
    j = jEnd;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// The domain, and where results lie on it
//===----------------------------------------------------------------------===//

LogicalResult KernelProgramBuilder::chooseDomain() {
  kernel.walk([&](ReduceOp op) {
    if (!firstReduce) {
      firstReduce = op;
    }
  });
  auto schedule = kernel.getScheduleAttr();
  if (schedule && (schedule.getReducedRank() > 0) == static_cast<bool>(firstReduce)) {
    ArrayRef<SizeAttr> sizes = schedule.getDomain().getSizes();
    size_t parallel = sizes.size() - schedule.getReducedRank();
    parallelSizes.assign(sizes.begin(), sizes.begin() + parallel);
    reducedSizes.assign(sizes.begin() + parallel, sizes.end());
  } else if (firstReduce) {
    auto sizes = getSizes(cast<RankedTensorType>(firstReduce.getOperand().getType()));
    for (auto [i, size] : llvm::enumerate(sizes)) {
      (llvm::is_contained(firstReduce.getDims(), i) ? reducedSizes : parallelSizes)
          .push_back(size);
    }
  } else {
    // The result of the highest rank splits the domain finest.
    for (Type type : kernel.getResultTypes()) {
      auto sizes = getSizes(cast<RankedTensorType>(type));
      if (sizes.size() > parallelSizes.size()) {
        parallelSizes = sizes;
      }
    }
  }
  unsigned dims = 0;
  auto number = [&](ArrayRef<SizeExpr> sizes, Exprs &index, bool keepOne) {
    unsigned first = dims;
    for (auto [i, size] : llvm::enumerate(sizes)) {
      bool last = i + 1 == sizes.size();
      if (size.isConstant(1) && !(keepOne && last && dims == first)) {
        index.push_back(constant(0));
        continue;
      }
      program.facts.setExtent("d" + std::to_string(dims), size);
      program.domain.push_back(size);
      index.push_back(SizeExpr::dim(context, dims++));
    }
  };
  number(parallelSizes, parallelIndex, false);
  unsigned parallel = dims;
  if (firstReduce && reducedSizes.empty()) {
    reducedSizes.push_back(constant(1));
  }
  number(reducedSizes, reducedIndex, true);
  program.reducedRank = dims - parallel;
  if (dims > 31) {
    return kernel.emitError("kernel '") << kernel.getSymName() << "' has " << dims
                                        << " dims, at most 31 are supported; split the region";
  }
  return success();
}

FailureOr<Exprs> KernelProgramBuilder::resultIndex(Value value) {
  auto sizes = getSizes(cast<RankedTensorType>(value.getType()));
  SizeExpr elements = product(context, sizes);
  SizeExpr rows = product(context, parallelSizes), columns = product(context, reducedSizes);
  if (!firstReduce) {
    if (elements != rows && elements.getConstant() && rows.getConstant()) {
      return kernel.emitError("result of ")
             << elements.str() << " elements in a kernel over a domain of " << rows.str()
             << "; results of one pointwise kernel have equally many";
    }
    return reexpress(parallelIndex, parallelSizes, sizes);
  }
  // Ask the value at its own index which row of a reduction it reads.
  KernelProgramBuilder tracer(kernel);
  tracer.tracing = true;
  Exprs own;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    tracer.program.facts.setExtent("d" + std::to_string(i), size);
    own.push_back(size.isConstant(1) ? constant(0) : SizeExpr::dim(context, i));
  }
  if (failed(tracer.pull({value, tracer.pack(own), ArrayAttr::get(context, {})}))) {
    return failure();
  }
  if (tracer.reached) {
    auto &[op, rowOf] = *tracer.reached;
    auto kept = getSizes(cast<RankedTensorType>(op.getType()));
    Exprs keptIndex = reexpress(parallelIndex, parallelSizes, kept);
    Exprs index(sizes.size());
    bool solved = true;
    for (auto [expr, ours, size] : llvm::zip(rowOf, keptIndex, kept)) {
      auto dim = expr.getDim();
      if (size.isConstant(1)) {
        continue;
      }
      if (!dim || index[*dim]) {
        solved = false;
        break;
      }
      index[*dim] = ours;
    }
    if (solved) {
      SmallVector<unsigned> open;
      Exprs openSizes;
      for (auto [i, size] : llvm::enumerate(sizes)) {
        if (!index[i] && size.isConstant(1)) {
          index[i] = constant(0);
        } else if (!index[i]) {
          open.push_back(i);
          openSizes.push_back(size);
        }
      }
      if (open.empty() || product(context, openSizes) == columns) {
        Exprs column = reexpress(reducedIndex, reducedSizes, openSizes);
        for (auto [i, expr] : llvm::zip(open, column)) {
          index[i] = expr;
        }
        return index;
      }
    }
  }
  if (elements == rows) {
    return reexpress(parallelIndex, parallelSizes, sizes);
  }
  if (elements == rows * columns) {
    // The order of elements is that of the first reduction's operand.
    auto full = getSizes(cast<RankedTensorType>(firstReduce.getOperand().getType()));
    auto kept = getSizes(cast<RankedTensorType>(firstReduce.getType()));
    Exprs reduced;
    for (int64_t dim : firstReduce.getDims()) {
      reduced.push_back(full[dim]);
    }
    Exprs row = reexpress(parallelIndex, parallelSizes, kept),
          column = reexpress(reducedIndex, reducedSizes, reduced), index;
    auto nextRow = row.begin(), nextColumn = column.begin();
    for (unsigned i = 0; i < full.size(); ++i) {
      index.push_back(llvm::is_contained(firstReduce.getDims(), i) ? *nextColumn++ : *nextRow++);
    }
    return reexpress(index, full, sizes);
  }
  return kernel.emitError("result of ")
         << elements.str() << " elements lies neither on the " << rows.str()
         << " rows nor on the whole domain of kernel '" << kernel.getSymName() << "'";
}

FailureOr<KernelProgram> KernelProgramBuilder::build() {
  if (failed(chooseDomain())) {
    return failure();
  }
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  ArrayAttr resultAttrs = kernel.getResAttrsAttr();
  for (auto [i, value] : llvm::enumerate(yield.getOperands())) {
    auto index = resultIndex(value);
    if (failed(index)) {
      return failure();
    }
    auto node = pull({value, pack(*index), ArrayAttr::get(context, {})});
    if (failed(node)) {
      return failure();
    }
    auto strides = getKernelStrides(kernel, cast<RankedTensorType>(value.getType()),
                                    resultAttrs ? cast<DictionaryAttr>(resultAttrs[i])
                                                : DictionaryAttr());
    SizeExpr address = constant(0);
    for (auto [expr, stride] : llvm::zip(*index, strides)) {
      address = address + expr * stride;
    }
    program.stores.push_back({static_cast<unsigned>(i), *node, program.facts.simplify(address), 0});
  }
  program.collapseDims();
  program.computeDims();
  return std::move(program);
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

FailureOr<unsigned> KernelProgramBuilder::pull(Request root) {
  auto keyOf = [](const Request &request) {
    return Key{request.value, {request.index, request.guards}};
  };
  stack.push_back(root);
  while (!stack.empty()) {
    Request request = stack.back();
    if (memo.contains(keyOf(request))) {
      stack.pop_back();
      continue;
    }
    missing = false;
    auto node = make(request);
    if (failed(node)) {
      return failure();
    }
    if (*node) {
      memo[keyOf(request)] = **node;
      stack.pop_back();
    }
  }
  return memo[keyOf(root)];
}

std::optional<unsigned> KernelProgramBuilder::need(Value value, ArrayRef<SizeExpr> index,
                                                   ArrayAttr guards) {
  ArrayAttr packed = pack(index);
  auto it = memo.find(Key{value, {packed, guards}});
  if (it != memo.end()) {
    return it->second;
  }
  stack.push_back({value, packed, guards});
  missing = true;
  return std::nullopt;
}

FailureOr<std::optional<unsigned>> KernelProgramBuilder::make(const Request &request) {
  auto Result = [](std::optional<unsigned> node) { return FailureOr<std::optional<unsigned>>(node); };
  if (auto argument = dyn_cast<BlockArgument>(request.value)) {
    return Result(makeLoad(request, argument));
  }
  Operation *op = request.value.getDefiningOp();
  Location loc = op->getLoc();
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op)) {
    TypedAttr value = constantOp.getValue();
    if (auto elements = dyn_cast<DenseElementsAttr>(value)) {
      if (!elements.isSplat()) {
        op->emitError("constant of several values inside a kernel; pass it as an operand");
        return failure();
      }
      value = cast<TypedAttr>(elements.getSplatValue<Attribute>());
    }
    return Result(addConstant(loc, value));
  }
  if (auto reindex = dyn_cast<ReindexOp>(op)) {
    return Result(makeReindex(request, reindex));
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    return Result(need(reshape.getOperand(),
                       reexpress(unpack(request.index),
                                 getSizes(cast<RankedTensorType>(reshape.getType())),
                                 getSizes(cast<RankedTensorType>(reshape.getOperand().getType()))),
                       request.guards));
  }
  if (auto concat = dyn_cast<ConcatOp>(op)) {
    return Result(makeConcat(request, concat));
  }
  if (auto gather = dyn_cast<GatherOp>(op)) {
    return Result(makeGather(request, gather));
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    return makeReduce(request, reduce);
  }
  if (isa<IotaOp, SizeOp>(op)) {
    Node node(loc);
    node.kind = NodeKind::Index;
    node.type = IntegerType::get(context, 64);
    auto iota = dyn_cast<IotaOp>(op);
    SizeExpr expr = iota ? SizeExpr(iota.getExpr()) : SizeExpr(cast<SizeOp>(op).getSize());
    node.expr = program.facts.simplify(expr.substituteDims(unpack(request.index)));
    node.expr.forEachSymbol([&](StringRef name) {
      unsigned id;
      if (name[0] == 'v' && !name.drop_front().getAsInteger(10, id)) {
        node.operands.push_back(id);
      }
    });
    return Result(add(std::move(node)));
  }
  if (auto elements = dyn_cast<tensor::FromElementsOp>(op)) {
    if (elements.getElements().size() == 1) {
      return Result(need(elements.getElements()[0], {}, request.guards));
    }
  }
  if (isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
      op->getNumResults() == 1) {
    return Result(makeApply(request, op));
  }
  op->emitError("no element form of '") << op->getName() << "' inside a kernel";
  return failure();
}

unsigned KernelProgramBuilder::addConstant(Location loc, TypedAttr value) {
  Node node(loc);
  node.kind = NodeKind::Constant;
  node.type = value.getType();
  node.value = value;
  return add(std::move(node));
}

std::optional<unsigned> KernelProgramBuilder::makeLoad(const Request &request,
                                                       BlockArgument argument) {
  Node node(argument.getLoc());
  node.argument = argument.getArgNumber();
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  node.type = type ? type.getElementType() : argument.getType();
  if (!type) {
    node.kind = NodeKind::Scalar;
    return add(std::move(node));
  }
  node.kind = NodeKind::Load;
  auto strides = getKernelStrides(
      kernel, type,
      kernel.getArgAttrsAttr()
          ? cast<DictionaryAttr>(kernel.getArgAttrsAttr()[argument.getArgNumber()])
          : DictionaryAttr());
  SizeExpr address = constant(0);
  for (auto [expr, stride] : llvm::zip(unpack(request.index), strides)) {
    address = address + expr * stride;
  }
  node.expr = program.facts.simplify(address);
  node.bounds = unpackGuards(request.guards);
  node.expr.forEachSymbol([&](StringRef name) {
    unsigned id;
    if (name[0] == 'v' && !name.drop_front().getAsInteger(10, id) &&
        !llvm::is_contained(node.operands, id)) {
      node.operands.push_back(id);
    }
  });
  return add(std::move(node));
}

std::optional<unsigned> KernelProgramBuilder::makeReindex(const Request &request, ReindexOp op) {
  MapAttr map = op.getMap();
  Exprs index = unpack(request.index), inner;
  for (SizeAttr result : map.getResults()) {
    inner.push_back(program.facts.simplify(SizeExpr(result).substituteDims(index)));
  }
  SmallVector<Bound> bounds;
  for (auto [expr, low, high] :
       llvm::zip(map.getBoundExprs(), map.getBoundLows(), map.getBoundHighs())) {
    bounds.push_back({SizeExpr(expr).substituteDims(index), SizeExpr(low).substituteDims(index),
                      SizeExpr(high).substituteDims(index)});
  }
  bool possible = simplify(bounds);
  if (!possible) {
    return addConstant(op.getLoc(), cast<TypedAttr>(op.getFillAttr()));
  }
  if (bounds.empty()) {
    return need(op.getOperand(), inner, request.guards);
  }
  auto operand = need(op.getOperand(), inner, addGuards(request.guards, bounds));
  if (!operand) {
    return std::nullopt;
  }
  Node node(op.getLoc());
  node.kind = NodeKind::Select;
  node.type = cast<RankedTensorType>(op.getType()).getElementType();
  node.operands = {*operand, addConstant(op.getLoc(), cast<TypedAttr>(op.getFillAttr()))};
  node.bounds.assign(bounds.begin(), bounds.end());
  return add(std::move(node));
}

std::optional<unsigned> KernelProgramBuilder::makeConcat(const Request &request, ConcatOp op) {
  Exprs index = unpack(request.index);
  SizeExpr at = index[op.getDim()], begin = constant(0);
  struct Piece {
    unsigned node;
    SmallVector<Bound> bounds;
  };
  SmallVector<Piece> pieces;
  for (Value operand : op.getOperands()) {
    SizeExpr size = getSizes(cast<RankedTensorType>(operand.getType()))[op.getDim()];
    SizeExpr local = program.facts.simplify(at - begin);
    SmallVector<Bound> bounds{{local, constant(0), size}};
    begin = begin + size;
    if (!simplify(bounds) || size.isConstant(0)) {
      continue;
    }
    Exprs inner = index;
    inner[op.getDim()] = local;
    if (auto node = need(operand, inner, addGuards(request.guards, bounds))) {
      pieces.push_back({*node, bounds});
    }
    if (bounds.empty()) {
      break; // always this piece
    }
  }
  if (missing) {
    return std::nullopt;
  }
  if (pieces.empty()) {
    return addConstant(op.getLoc(), cast<TypedAttr>(Builder(context).getZeroAttr(
                                        cast<RankedTensorType>(op.getType()).getElementType())));
  }
  // Where the earlier pieces do not lie, the last one does.
  unsigned result = pieces.back().node;
  for (const Piece &piece : llvm::reverse(ArrayRef(pieces).drop_back())) {
    Node node(op.getLoc());
    node.kind = NodeKind::Select;
    node.type = program.nodes[result].type;
    node.operands = {piece.node, result};
    node.bounds.assign(piece.bounds.begin(), piece.bounds.end());
    result = add(std::move(node));
  }
  return result;
}

std::optional<unsigned> KernelProgramBuilder::makeGather(const Request &request, GatherOp op) {
  Exprs index = unpack(request.index);
  auto sizes = getSizes(cast<RankedTensorType>(op.getSource().getType()));
  SmallVector<unsigned> loaded;
  for (Value value : op.getIndices()) {
    if (auto node = need(value, index, request.guards)) {
      loaded.push_back(*node);
    }
  }
  if (missing) {
    return std::nullopt;
  }
  // One check a loaded index, found again when the source has been pulled.
  Exprs values;
  for (auto [i, node] : llvm::enumerate(loaded)) {
    unsigned dimension = 0;
    for (auto [k, result] : llvm::enumerate(op.getMap().getResults())) {
      if (SizeExpr(result) == SizeExpr::value(context, i)) {
        dimension = k;
      }
    }
    std::optional<unsigned> known;
    auto key = std::tuple(op.getOperation(), i, request.index.getAsOpaquePointer(),
                          request.guards.getAsOpaquePointer());
    if (auto it = checks.find(key); it != checks.end()) {
      known = it->second;
    }
    if (!known) {
      Node check(op.getLoc());
      check.kind = NodeKind::Check;
      check.type = IntegerType::get(context, 64);
      check.operands = {node};
      check.op = op;
      check.expr = sizes[dimension];
      check.check = op.getCheck();
      check.dimension = dimension;
      check.bounds = unpackGuards(request.guards);
      known = checks[key] = add(std::move(check));
      program.facts.setExtent("v" + std::to_string(*known), sizes[dimension]);
    }
    values.push_back(SizeExpr::value(context, *known));
  }
  Exprs inner;
  for (SizeAttr result : op.getMap().getResults()) {
    inner.push_back(program.facts.simplify(SizeExpr(result).substituteDims(index, values)));
  }
  return need(op.getSource(), inner, request.guards);
}

FailureOr<std::optional<unsigned>> KernelProgramBuilder::makeReduce(const Request &request,
                                                                    ReduceOp op) {
  auto Result = [](std::optional<unsigned> node) { return FailureOr<std::optional<unsigned>>(node); };
  Exprs at = unpack(request.index);
  Type element = cast<RankedTensorType>(op.getType()).getElementType();
  if (tracing) {
    if (!reached) {
      reached.emplace(op, at);
    }
    return Result(addConstant(op.getLoc(), Builder(context).getZeroAttr(element)));
  }
  auto kept = getSizes(cast<RankedTensorType>(op.getType()));
  auto full = getSizes(cast<RankedTensorType>(op.getOperand().getType()));
  Exprs row = reexpress(parallelIndex, parallelSizes, kept);
  if (at != row && linearise(at, kept) != linearise(row, kept)) {
    op->emitError("reduction is read at another row than it is computed in; its reader belongs "
                  "into another kernel");
    return failure();
  }
  if (auto it = reduceNodes.find(op); it != reduceNodes.end()) {
    return Result(it->second);
  }
  Exprs reduced;
  for (int64_t dim : op.getDims()) {
    reduced.push_back(full[dim]);
  }
  if (product(context, kept) != product(context, parallelSizes) ||
      product(context, reduced) != product(context, reducedSizes)) {
    op->emitError("reduces ") << product(context, reduced).str() << " elements a row in "
                              << product(context, kept).str() << " rows, the kernel's domain has "
                              << product(context, reducedSizes).str() << " in "
                              << product(context, parallelSizes).str();
    return failure();
  }
  Exprs column = reexpress(reducedIndex, reducedSizes, reduced), index;
  auto nextRow = row.begin(), nextColumn = column.begin();
  for (unsigned i = 0; i < full.size(); ++i) {
    index.push_back(llvm::is_contained(op.getDims(), i) ? *nextColumn++ : *nextRow++);
  }
  auto operand = need(op.getOperand(), index, ArrayAttr::get(context, {}));
  if (!operand) {
    return Result(std::nullopt);
  }
  Node node(op.getLoc());
  node.kind = NodeKind::Reduce;
  node.type = element;
  node.op = op;
  node.operands = {*operand};
  return Result(reduceNodes[op] = add(std::move(node)));
}

std::optional<unsigned> KernelProgramBuilder::makeApply(const Request &request, Operation *op) {
  Exprs index = unpack(request.index);
  Node node(op->getLoc());
  for (Value operand : op->getOperands()) {
    bool tensor = isa<RankedTensorType>(operand.getType());
    if (auto id = need(operand, tensor ? ArrayRef<SizeExpr>(index) : ArrayRef<SizeExpr>(),
                       request.guards)) {
      node.operands.push_back(*id);
    }
  }
  if (missing) {
    return std::nullopt;
  }
  node.kind = NodeKind::Apply;
  node.type = getElementTypeOrSelf(op->getResult(0).getType());
  node.op = op;
  node.bounds = unpackGuards(request.guards);
  return add(std::move(node));
}

FailureOr<KernelProgram> KernelProgram::build(KernelOp kernel) {
  return KernelProgramBuilder(kernel).build();
}
