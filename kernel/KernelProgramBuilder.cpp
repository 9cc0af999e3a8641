// Makes the nodes for values at indices.
#include "kernel/KernelProgramBuilder.h"

using namespace mlir;
using namespace mlir::frit;

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

ArrayAttr KernelProgramBuilder::pack(ArrayRef<SizeExpr> exprs) {
  return ArrayAttr::get(context, llvm::map_to_vector(exprs, [](SizeExpr expr) -> Attribute {
                          return expr.getAttr();
                        }));
}

Exprs KernelProgramBuilder::unpack(ArrayAttr exprs) {
  return llvm::map_to_vector(exprs, [](Attribute attr) { return SizeExpr(cast<SizeAttr>(attr)); });
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

SmallVector<Bound> KernelProgramBuilder::boundsOfErrors(ArrayAttr guards, RankedTensorType type) {
  SmallVector<Bound> bounds = unpackGuards(guards);
  for (SizeExpr size : getSizes(type)) {
    if (!program.facts.provablyNonNegative(size - 1)) {
      bounds.push_back({constant(0), constant(0), size});
    }
  }
  return bounds;
}

bool KernelProgramBuilder::areExcluded(ArrayAttr guards, ArrayRef<Bound> bounds) {
  const SizeFacts &facts = program.facts;
  for (const Bound &known : unpackGuards(guards)) {
    for (const Bound &bound : bounds) {
      // By how far the bounded expression lies beyond the known one.
      SizeExpr beyond = bound.expr - known.expr;
      if (facts.provablyNonNegative(known.low + beyond - bound.high) ||
          facts.provablyNonNegative(bound.low - known.high - beyond)) {
        return true;
      }
    }
  }
  return false;
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

/// Converts a row-major index over sizes `from` to one over sizes `to`, group by group where
/// partial products agree, so that most dims are not merged with others.
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
// Requests
//===----------------------------------------------------------------------===//

/// A limit for cases that fusion does not foresee; kernels of real programs have less than a tenth.
static constexpr size_t kMostNodes = 20000;

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
    if (program.nodes.size() > kMostNodes) {
      return kernel.emitError("kernel '")
             << kernel.getSymName() << "' computes more than " << kMostNodes << " values";
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

MadeNode KernelProgramBuilder::make(const Request &request) {
  if (auto argument = dyn_cast<BlockArgument>(request.value)) {
    return made(makeLoad(request, argument));
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
    return made(addConstant(loc, value));
  }
  if (auto reindex = dyn_cast<ReindexOp>(op)) {
    return made(makeReindex(request, reindex));
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    return made(
        need(reshape.getOperand(),
             reexpress(unpack(request.index), getSizes(cast<RankedTensorType>(reshape.getType())),
                       getSizes(cast<RankedTensorType>(reshape.getOperand().getType()))),
             request.guards));
  }
  if (auto concat = dyn_cast<ConcatOp>(op)) {
    return made(makeConcat(request, concat));
  }
  if (auto gather = dyn_cast<GatherOp>(op)) {
    return made(makeGather(request, gather));
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    return makeReduce(request, reduce);
  }
  if (auto scanned = dyn_cast<ScanOp>(op)) {
    return makeScan(request, scanned);
  }
  if (auto segments = dyn_cast<SegmentSumOp>(op)) {
    return makeSegmentSum(request, segments);
  }
  if (isa<IotaOp, SizeOp>(op)) {
    Node node(loc);
    node.kind = NodeKind::Index;
    node.type = IntegerType::get(context, 64);
    auto iota = dyn_cast<IotaOp>(op);
    SizeExpr expr = iota ? SizeExpr(iota.getExpr()) : SizeExpr(cast<SizeOp>(op).getSize());
    node.expr = program.facts.simplify(expr.substituteDims(unpack(request.index)));
    addIndexOperands(node);
    return made(add(std::move(node)));
  }
  if (auto random = dyn_cast<RandomOp>(op)) {
    return made(makeRandom(request, random));
  }
  if (auto elements = dyn_cast<tensor::FromElementsOp>(op)) {
    if (elements.getElements().size() == 1) {
      return made(need(elements.getElements()[0], {}, request.guards));
    }
  }
  if (isElementwise(op) && op->getNumResults() == 1) {
    return made(makeApply(request, op));
  }
  op->emitError("no element form of '") << op->getName() << "' inside a kernel";
  return failure();
}

/// Adds the checked indices (`v<k>`) in the node's expression to its operands.
void KernelProgramBuilder::addIndexOperands(Node &node) {
  node.expr.forEachSymbol([&](SizeSymbolAttr symbol) {
    if (symbol.isValue() && !llvm::is_contained(node.operands, symbol.getPosition())) {
      node.operands.push_back(symbol.getPosition());
    }
  });
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
  auto strides =
      getKernelStrides(kernel, type,
                       kernel.getArgAttrsAttr()
                           ? cast<DictionaryAttr>(kernel.getArgAttrsAttr()[argument.getArgNumber()])
                           : DictionaryAttr());
  SizeExpr address = constant(0);
  for (auto [expr, stride] : llvm::zip(unpack(request.index), strides)) {
    address = address + expr * stride;
  }
  node.expr = program.facts.simplify(address);
  node.bounds = unpackGuards(request.guards);
  addIndexOperands(node);
  return add(std::move(node));
}

std::optional<unsigned> KernelProgramBuilder::makeRandom(const Request &request, RandomOp op) {
  // Seed and stream are read at every point, whatever bounds the bits are read in.
  ArrayAttr everywhere = ArrayAttr::get(context, {});
  auto seed = need(op.getSeed(), {}, everywhere), stream = need(op.getStream(), {}, everywhere);
  if (missing) {
    return std::nullopt;
  }
  auto type = cast<RankedTensorType>(op.getType());
  Node node(op.getLoc());
  node.kind = NodeKind::Random;
  node.type = type.getElementType();
  node.op = op;
  node.operands = {*seed, *stream};
  node.expr = linearise(unpack(request.index), getSizes(type));
  addIndexOperands(node);
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
  if (!possible || areExcluded(request.guards, bounds)) {
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
    if (!simplify(bounds) || size.isConstant(0) || areExcluded(request.guards, bounds)) {
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
  // The last piece covers what the earlier ones do not.
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

/// Which of eager's errors the check of a gather reports.
static ErrorCode getIndexError(GatherOp op) {
  if (!op.getRaises()) {
    return ErrorCode::IndexOutOfRange;
  }
  switch (*op.getRaises()) {
  case IndexError::Embedding:
    return ErrorCode::EmbeddingIndexOutOfRange;
  case IndexError::Gather:
    return ErrorCode::GatherIndexOutOfRange;
  case IndexError::Target:
    return ErrorCode::TargetOutOfRange;
  case IndexError::IndexSelect:
    return ErrorCode::SelectedIndexOutOfRange;
  }
  llvm_unreachable("every error has a code");
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
  // One check per loaded index, which is found again after the source has been requested.
  Exprs values;
  SmallVector<unsigned> numbers;
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
      check.error = getIndexError(op);
      // Errors of indexing by tensors number the index tensors, those of other operators the
      // source's dims.
      check.dimension = op.getDimension()                   ? *op.getDimension()
                        : op.getCheck() == IndexCheck::Wrap ? i
                                                            : dimension;
      check.bounds = boundsOfErrors(request.guards, op.getType());
      known = checks[key] = add(std::move(check));
      program.facts.setExtent(SizeSymbolAttr::value(context, *known), sizes[dimension]);
    }
    values.push_back(SizeExpr::value(context, *known));
    numbers.push_back(*known);
  }
  Exprs inner;
  for (SizeAttr result : op.getMap().getResults()) {
    inner.push_back(program.facts.simplify(SizeExpr(result).substituteDims(index, values)));
  }
  auto source = need(op.getSource(), inner, request.guards);
  return source && op.getCheck() != IndexCheck::Unchecked
             ? makeChecked(op.getLoc(), *source, numbers)
             : source;
}

/// The value of a node, computed together with the checks that it does not depend on.
unsigned KernelProgramBuilder::makeChecked(Location loc, unsigned source,
                                           ArrayRef<unsigned> checks) {
  SmallVector<unsigned> reached = program.reach(source);
  Node node(loc);
  node.kind = NodeKind::Checked;
  node.type = program.nodes[source].type;
  node.operands = {source};
  llvm::copy_if(checks, std::back_inserter(node.operands),
                [&](unsigned check) { return !llvm::is_contained(reached, check); });
  return node.operands.size() == 1 ? source : add(std::move(node));
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
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  node.bounds = type && isIntegerDivision(op) ? boundsOfErrors(request.guards, type)
                                              : unpackGuards(request.guards);
  return add(std::move(node));
}

FailureOr<KernelProgram> KernelProgram::build(KernelOp kernel, bool joinReads) {
  return KernelProgramBuilder(kernel, joinReads).build();
}
