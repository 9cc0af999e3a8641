// Numbers the dims of a kernel's domain, and finds the index of each result on it.
#include "kernel/KernelProgramBuilder.h"
#include "kernel/LoopDomain.h"

using namespace mlir;
using namespace mlir::frit;

LogicalResult KernelProgramBuilder::chooseDomain() {
  Block &body = kernel.getBody().front();
  firstReduce = getFirstReduce(body);
  for (ScanOp op : body.getOps<ScanOp>()) {
    if (scan || firstReduce) {
      return op->emitError("a kernel has one scan, and no reduction beside it");
    }
    scan = op;
  }
  if (auto schedule = kernel.getScheduleAttr()) {
    llvm::append_range(parallelSizes, schedule.getParallelSizes());
    llvm::append_range(reducedSizes, schedule.getReducedSizes());
  } else {
    LoopDomain domain = LoopDomain::ofBody(body);
    parallelSizes = domain.getParallelSizes();
    reducedSizes = domain.getReducedSizes();
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
      program.facts.setExtent(SizeSymbolAttr::dim(context, dims), size);
      program.domain.push_back(size);
      index.push_back(SizeExpr::dim(context, dims++));
    }
  };
  number(parallelSizes, parallelIndex, false);
  unsigned parallel = dims;
  number(reducedSizes, reducedIndex, true);
  program.reducedRank = dims - parallel;
  if (dims > kMostDims) {
    return kernel.emitError("kernel '")
           << kernel.getSymName() << "' has " << dims << " dims, at most " << kMostDims
           << " are supported; split the region";
  }
  return success();
}

std::map<unsigned, SizeExpr> KernelProgramBuilder::addressesOf(Value value) {
  KernelProgramBuilder tracer(kernel);
  Exprs own;
  for (auto [i, size] : llvm::enumerate(getSizes(cast<RankedTensorType>(value.getType())))) {
    tracer.program.facts.setExtent(SizeSymbolAttr::dim(context, i), size);
    own.push_back(size.isConstant(1) ? constant(0) : SizeExpr::dim(context, i));
  }
  std::map<unsigned, SizeExpr> addresses;
  if (failed(tracer.pull({value, tracer.pack(own), ArrayAttr::get(context, {})}))) {
    return addresses;
  }
  for (const Node &node : tracer.program.nodes) {
    if (node.kind == NodeKind::Load && node.operands.empty()) {
      addresses.try_emplace(node.argument, node.expr);
    }
  }
  return addresses;
}

/// The index of result `value` at the point where the first result is at `index`, such that both
/// read a common operand at the same address (x and its transpose). nullopt if they do so in the
/// order of elements already, or if no permutation of the dims achieves it.
std::optional<Exprs> KernelProgramBuilder::followFirst(Value value, Value first,
                                                       ArrayRef<SizeExpr> index) {
  auto sizes = getSizes(cast<RankedTensorType>(value.getType())),
       firstSizes = getSizes(cast<RankedTensorType>(first.getType()));
  std::map<unsigned, SizeExpr> mine = addressesOf(value), firsts = addressesOf(first);
  // Expressions are in dims of the results here, not of the domain.
  KernelProgramBuilder own(kernel);
  for (auto [i, size] : llvm::enumerate(firstSizes)) {
    own.program.facts.setExtent(SizeSymbolAttr::dim(context, i), size);
  }
  auto agrees = [&](ArrayRef<SizeExpr> at) {
    return llvm::any_of(mine, [&](const auto &entry) {
      auto other = firsts.find(entry.first);
      return other != firsts.end() &&
             own.program.facts.simplify(entry.second.substituteDims(at)) == other->second;
    });
  };
  Exprs identity;
  for (auto [i, size] : llvm::enumerate(firstSizes)) {
    identity.push_back(size.isConstant(1) ? constant(0) : SizeExpr::dim(context, i));
  }
  if (agrees(own.reexpress(identity, firstSizes, sizes))) {
    return std::nullopt;
  }
  for (const auto &[argument, address] : mine) {
    auto other = firsts.find(argument);
    if (other == firsts.end()) {
      continue;
    }
    // Dims are matched by their strides in the operand.
    std::vector<bool> taken(firstSizes.size());
    Exprs turned(sizes.size(), constant(0)), result(sizes.size(), constant(0));
    bool found = true;
    for (auto [i, size] : llvm::enumerate(sizes)) {
      auto stride = program.getStride(address, i);
      size_t at = 0;
      while (!size.isConstant(1) && at < firstSizes.size() &&
             (taken[at] || firstSizes[at] != size || !stride || stride->isConstant(0) ||
              program.getStride(other->second, at) != stride)) {
        ++at;
      }
      found &= at < firstSizes.size();
      if (found && !size.isConstant(1)) {
        taken[at] = true;
        turned[i] = identity[at];
        result[i] = index[at];
      }
    }
    if (found && agrees(turned)) {
      return result;
    }
  }
  return std::nullopt;
}

FailureOr<Exprs> KernelProgramBuilder::resultIndex(Value value) {
  auto sizes = getSizes(cast<RankedTensorType>(value.getType()));
  SizeExpr elements = product(context, sizes);
  SizeExpr rows = product(context, parallelSizes), columns = product(context, reducedSizes);
  if (scan && elements == rows * columns) {
    return reexpress(scanIndex(scan), getSizes(cast<RankedTensorType>(scan.getType())), sizes);
  }
  if (!firstReduce && !scan) {
    if (elements != rows && elements.getConstant() && rows.getConstant()) {
      return kernel.emitError("result of ")
             << elements.str() << " elements in a kernel over a domain of " << rows.str()
             << "; results of one pointwise kernel have equally many";
    }
    Value first = cast<YieldOp>(kernel.getBody().front().getTerminator()).getOperand(0);
    if (joinReads && value != first && !isWrittenInPieces(first)) {
      Exprs index = reexpress(parallelIndex, parallelSizes,
                              getSizes(cast<RankedTensorType>(first.getType())));
      if (auto turned = followFirst(value, first, index)) {
        return *turned;
      }
    }
    return reexpress(parallelIndex, parallelSizes, sizes);
  }
  if (scan) {
    return kernel.emitError("result of ")
           << elements.str() << " elements beside a scan of " << (rows * columns).str();
  }
  // Trace which row of a reduction the value reads at its own index.
  KernelProgramBuilder tracer(kernel);
  tracer.tracing = true;
  Exprs own;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    tracer.program.facts.setExtent(SizeSymbolAttr::dim(context, i), size);
    own.push_back(size.isConstant(1) ? constant(0) : SizeExpr::dim(context, i));
  }
  if (failed(tracer.pull({value, tracer.pack(own), ArrayAttr::get(context, {})}))) {
    return failure();
  }
  if (tracer.reached) {
    auto &[op, rowOf] = *tracer.reached;
    auto kept = getSizes(cast<RankedTensorType>(op.getType()));
    bool isAcross = op.getAcross();
    Exprs keptIndex = isAcross ? reexpress(reducedIndex, reducedSizes, kept)
                               : reexpress(parallelIndex, parallelSizes, kept);
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
      if (open.empty() || (!isAcross && product(context, openSizes) == columns)) {
        Exprs column = reexpress(reducedIndex, reducedSizes, openSizes);
        for (auto [i, expr] : llvm::zip(open, column)) {
          index[i] = expr;
        }
        return index;
      }
    }
    if (isAcross && elements == columns) {
      return reexpress(reducedIndex, reducedSizes, sizes);
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

/// Whether a result is a concatenation of pieces that each fill the domain: all
/// of them are written at every point.
bool KernelProgramBuilder::isWrittenInPieces(Value value) {
  Operation *def = value.getDefiningOp();
  if (!def || !isStacked(def)) {
    return false;
  }
  SizeExpr piece = product(context, getLoopSizes(def));
  SizeExpr rows = product(context, parallelSizes), columns = product(context, reducedSizes);
  return piece == rows * columns || piece == rows;
}

LogicalResult KernelProgramBuilder::addStore(unsigned result, Value value,
                                             ArrayRef<SizeExpr> strides, SizeExpr address) {
  auto index = resultIndex(value);
  if (failed(index)) {
    return failure();
  }
  auto node = pull({value, pack(*index), ArrayAttr::get(context, {})});
  if (failed(node)) {
    return failure();
  }
  for (auto [expr, stride] : llvm::zip(*index, strides)) {
    address = address + expr * stride;
  }
  program.stores.push_back({result, *node, program.facts.simplify(address), 0});
  return success();
}

FailureOr<KernelProgram> KernelProgramBuilder::build() {
  if (failed(chooseDomain())) {
    return failure();
  }
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  ArrayAttr resultAttrs = kernel.getResAttrsAttr();
  for (auto [i, value] : llvm::enumerate(yield.getOperands())) {
    auto strides =
        getKernelStrides(kernel, cast<RankedTensorType>(value.getType()),
                         resultAttrs ? cast<DictionaryAttr>(resultAttrs[i]) : DictionaryAttr());
    if (!isWrittenInPieces(value)) {
      if (failed(addStore(i, value, strides, constant(0)))) {
        return failure();
      }
      continue;
    }
    auto concat = value.getDefiningOp<ConcatOp>();
    SizeExpr begin = constant(0);
    for (Value piece : concat.getOperands()) {
      if (failed(addStore(i, piece, strides, begin))) {
        return failure();
      }
      begin = begin + getSizes(cast<RankedTensorType>(piece.getType()))[concat.getDim()] *
                          strides[concat.getDim()];
    }
  }
  program.collapseDims();
  program.computeDims();
  return std::move(program);
}
