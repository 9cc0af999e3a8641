// Makes the nodes of values that several elements combine to: reductions, scans, sums of segments.
#include "kernel/KernelProgramBuilder.h"

using namespace mlir;
using namespace mlir::frit;

MadeNode KernelProgramBuilder::makeReduce(const Request &request, ReduceOp op) {
  Exprs at = unpack(request.index);
  Type element = cast<RankedTensorType>(op.getType()).getElementType();
  if (tracing) {
    if (!reached) {
      reached.emplace(op, at);
    }
    return made(addConstant(op.getLoc(), Builder(context).getZeroAttr(element)));
  }
  auto kept = getSizes(cast<RankedTensorType>(op.getType()));
  auto full = getSizes(cast<RankedTensorType>(op.getOperand().getType()));
  bool isAcross = op.getAcross();
  const Exprs &keptIndex = isAcross ? reducedIndex : parallelIndex,
              &sweptIndex = isAcross ? parallelIndex : reducedIndex;
  const Exprs &keptSizes = isAcross ? reducedSizes : parallelSizes,
              &sweptSizes = isAcross ? parallelSizes : reducedSizes;
  Exprs row = reexpress(keptIndex, keptSizes, kept);
  if (at != row && linearise(at, kept) != linearise(row, kept)) {
    op->emitError("reduction is read at another row than it is computed in; its reader belongs "
                  "into another kernel");
    return failure();
  }
  if (auto it = reduceNodes.find(op); it != reduceNodes.end()) {
    return made(it->second);
  }
  Exprs reduced;
  for (int64_t dim : op.getDims()) {
    reduced.push_back(full[dim]);
  }
  if (product(context, kept) != product(context, keptSizes) ||
      product(context, reduced) != product(context, sweptSizes)) {
    op->emitError("reduces ") << product(context, reduced).str() << " elements a row in "
                              << product(context, kept).str() << " rows, the kernel's domain has "
                              << product(context, sweptSizes).str() << " in "
                              << product(context, keptSizes).str();
    return failure();
  }
  Exprs column = reexpress(sweptIndex, sweptSizes, reduced), index;
  auto nextRow = row.begin(), nextColumn = column.begin();
  for (unsigned i = 0; i < full.size(); ++i) {
    index.push_back(llvm::is_contained(op.getDims(), i) ? *nextColumn++ : *nextRow++);
  }
  auto operand = need(op.getOperand(), index, ArrayAttr::get(context, {}));
  if (!operand) {
    return made(std::nullopt);
  }
  Node node(op.getLoc());
  node.kind = NodeKind::Reduce;
  node.isAcross = isAcross;
  node.type = element;
  node.op = op;
  node.operands = {*operand};
  return made(reduceNodes[op] = add(std::move(node)));
}

Exprs KernelProgramBuilder::scanIndex(ScanOp op) {
  auto full = getSizes(cast<RankedTensorType>(op.getType()));
  Exprs kept = full;
  kept.erase(kept.begin() + op.getDim());
  Exprs index = reexpress(parallelIndex, parallelSizes, kept);
  index.insert(index.begin() + op.getDim(),
               reexpress(reducedIndex, reducedSizes, {full[op.getDim()]}).front());
  return index;
}

MadeNode KernelProgramBuilder::makeScan(const Request &request, ScanOp op) {
  auto full = getSizes(cast<RankedTensorType>(op.getType()));
  Exprs at = unpack(request.index), index = scanIndex(op);
  if (at != index && linearise(at, full) != linearise(index, full)) {
    op->emitError("scan is read at another place than it is computed in; its reader belongs into "
                  "another kernel");
    return failure();
  }
  if (auto it = reduceNodes.find(op); it != reduceNodes.end()) {
    return made(it->second);
  }
  auto operand = need(op.getOperand(), index, ArrayAttr::get(context, {}));
  if (!operand) {
    return made(std::nullopt);
  }
  Node node(op.getLoc());
  node.kind = NodeKind::Scan;
  node.type = getElementTypeOrSelf(op.getType());
  node.op = op;
  node.operands = {*operand};
  return made(reduceNodes[op] = add(std::move(node)));
}

MadeNode KernelProgramBuilder::makeSegmentSum(const Request &request, SegmentSumOp op) {
  Exprs index = unpack(request.index);
  auto begin = need(op.getBegin(), index, request.guards);
  auto end = need(op.getEnd(), index, request.guards);
  if (missing) {
    return made(std::nullopt);
  }
  // The position and the row are found again after what is read there has been requested.
  auto named = [&](unsigned part, const Node &node) {
    auto key = std::tuple(op.getOperation(), size_t(part), request.index.getAsOpaquePointer(),
                          request.guards.getAsOpaquePointer());
    auto [it, isNew] = checks.try_emplace(key, 0);
    if (isNew) {
      it->second = add(node);
      program.facts.setExtent(SizeSymbolAttr::value(context, it->second), node.expr);
    }
    return it->second;
  };
  SizeExpr rows = getSizes(cast<RankedTensorType>(op.getSource().getType())).front();
  Value order = op.getOrder();
  Node step(op.getLoc());
  step.kind = NodeKind::Position;
  step.type = IntegerType::get(context, 64);
  step.dimension = 31 - segments.insert({op, segments.size()}).first->second;
  if (step.dimension <= 31 - kMostSegments) {
    op->emitError("a kernel has at most ") << kMostSegments << " sums of segments";
    return failure();
  }
  step.expr = order ? getSizes(cast<RankedTensorType>(order.getType())).front() : rows;
  unsigned position = named(0, step);
  SizeExpr row = SizeExpr::value(context, position);
  if (order) {
    auto chosen = need(order, {row}, request.guards);
    if (!chosen) {
      return made(std::nullopt);
    }
    Node check(op.getLoc());
    check.kind = NodeKind::Check;
    check.check = IndexCheck::Unchecked;
    check.type = step.type;
    check.operands = {*chosen};
    check.op = op;
    check.expr = rows;
    row = SizeExpr::value(context, named(1, check));
  }
  index.front() = row;
  auto body = need(op.getSource(), index, request.guards);
  if (!body) {
    return made(std::nullopt);
  }
  Node node(op.getLoc());
  node.kind = NodeKind::SegmentSum;
  node.type = getElementTypeOrSelf(op.getType());
  node.op = op;
  node.operands = {*begin, *end};
  node.bounds = unpackGuards(request.guards);
  node.body = SegmentBody{position, *body};
  return made(add(std::move(node)));
}
