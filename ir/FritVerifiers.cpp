// Every verify() of the dialect. Messages name the value found and the value
// expected.
#include "ir/FritOps.h"
#include "ir/ReduceKinds.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::frit;

static LogicalResult checkSameElement(Operation *op, RankedTensorType operand,
                                      RankedTensorType result) {
  if (operand.getElementType() != result.getElementType()) {
    return op->emitOpError("changes the element type from ")
           << operand.getElementType() << " to " << result.getElementType();
  }
  return success();
}

/// Dims and values named by a map's expressions must exist.
static LogicalResult checkMap(Operation *op, MapAttr map, RankedTensorType operand,
                              RankedTensorType result) {
  if (map.getNumDims() != result.getRank()) {
    return op->emitOpError("map has ")
           << map.getNumDims() << " dims, the result has rank " << result.getRank();
  }
  if (static_cast<int64_t>(map.getResults().size()) != operand.getRank()) {
    return op->emitOpError("map gives ")
           << map.getResults().size() << " indices, the operand has rank " << operand.getRank();
  }
  std::string unknown;
  auto check = [&](SizeExpr expr) {
    expr.forEachSymbol([&](SizeSymbolAttr symbol) {
      if ((symbol.isDim() && symbol.getPosition() >= map.getNumDims()) ||
          (symbol.isValue() && symbol.getPosition() >= map.getNumValues())) {
        unknown = symbol.getName().str();
      }
    });
  };
  for (ArrayRef<SizeAttr> exprs :
       {map.getResults(), map.getBoundExprs(), map.getBoundLows(), map.getBoundHighs()}) {
    llvm::for_each(exprs, check);
  }
  if (!unknown.empty()) {
    return op->emitOpError("map uses '") << unknown << "', which it does not declare";
  }
  return success();
}

LogicalResult RandomOp::verify() {
  auto seed = cast<RankedTensorType>(getSeed().getType());
  return seed.getRank() == 0 ? success() : emitOpError("takes a seed of rank 0, found ") << seed;
}

LogicalResult GraphOp::verify() {
  llvm::StringSet<> names;
  for (Attribute attr : getSymbols()) {
    auto symbol = dyn_cast<SymbolAttr>(attr);
    if (!symbol) {
      return emitOpError("symbols must be #frit.symbol, found ") << attr;
    }
    if (!names.insert(symbol.getName()).second) {
      return emitOpError("declares symbol '") << symbol.getName() << "' twice";
    }
    if (symbol.getMax() && *symbol.getMax() < symbol.getMin()) {
      return emitOpError("symbol '") << symbol.getName() << "' has the empty range ["
                                     << symbol.getMin() << ", " << *symbol.getMax() << "]";
    }
  }
  auto terminator = cast<ReturnOp>(getBody().front().getTerminator());
  if (terminator.getOperandTypes() != getResultTypes()) {
    return emitOpError("returns values whose types are not its result types");
  }
  return success();
}

/// Whether the domain of a schedule has reduced dims if its body has a reduction or a scan, and
/// only then.
static LogicalResult checkReducedDims(Operation *op, ScheduleAttr schedule, Block &body) {
  bool reduces = getFirstReduce(body) || !body.getOps<ScanOp>().empty();
  if (!schedule || (schedule.getReducedRank() > 0) == reduces) {
    return success();
  }
  return op->emitOpError("has a schedule with ")
         << schedule.getReducedRank() << " reduced dims, and "
         << (schedule.getReducedRank() ? "no" : "a") << " reduction";
}

LogicalResult KernelOp::verify() {
  for (auto [i, attr] : llvm::enumerate(getSymbols())) {
    auto symbol = dyn_cast<SymbolAttr>(attr);
    if (!symbol || symbol.getName() != SizeSymbolAttr::parameter(getContext(), i).getName()) {
      return emitOpError("parameter ")
             << i << " must be a symbol named p" << i << ", found " << attr;
    }
  }
  auto terminator = cast<YieldOp>(getBody().front().getTerminator());
  if (terminator.getOperandTypes() != getResultTypes()) {
    return emitOpError("yields values whose types are not its result types");
  }
  return checkReducedDims(*this, getScheduleAttr(), getBody().front());
}

LogicalResult BindOp::verify() {
  if (!isa<RankedTensorType>(getSource().getType())) {
    return success();
  }
  Operation *source = getSource().getDefiningOp();
  if (source && !isa<AtenOp, CallOp>(source)) {
    return emitOpError("measures what '")
           << source->getName() << "' makes, which needs '" << getSymbol() << "' itself";
  }
  return success();
}

LogicalResult AtenOp::verify() {
  if (getOperandDtypes().size() != getNumOperands()) {
    return emitOpError("has ") << getNumOperands() << " operands and " << getOperandDtypes().size()
                               << " operand dtypes";
  }
  if (getResultDtypes().size() != getNumResults()) {
    return emitOpError("has ") << getNumResults() << " results and " << getResultDtypes().size()
                               << " result dtypes";
  }
  if (getArgumentNames() && getArgumentNames()->size() != getArguments().size()) {
    return emitOpError("names ") << getArgumentNames()->size() << " of " << getArguments().size()
                                 << " arguments";
  }
  SmallVector<Attribute> stack(getArguments().begin(), getArguments().end());
  while (!stack.empty()) {
    Attribute attr = stack.pop_back_val();
    if (auto list = dyn_cast<ArrayAttr>(attr)) {
      stack.append(list.begin(), list.end());
    } else if (auto operand = dyn_cast<OperandAttr>(attr)) {
      if (operand.getIndex() < 0 || operand.getIndex() >= getNumOperands()) {
        return emitOpError("argument names operand ")
               << operand.getIndex() << " of " << getNumOperands();
      }
    }
  }
  if (bool isControlFlow = getOpName().starts_with("higher_order.");
      isControlFlow != getGraphs().has_value()) {
    return emitOpError(isControlFlow ? "is control flow without graphs"
                                     : "has graphs, but only control flow calls some");
  }
  if (auto mutated = getMutatedOperands()) {
    if (mutated->size() > getNumResults()) {
      return emitOpError("mutates ")
             << mutated->size() << " operands and has " << getNumResults() << " results";
    }
    ValueRange last = getResults().take_back(mutated->size());
    for (auto [index, result] : llvm::zip(*mutated, last)) {
      if (index < 0 || index >= getNumOperands() ||
          getOperand(index).getType() != result.getType()) {
        return emitOpError("mutated operand ") << index << " has no result of its type";
      }
    }
  }
  return success();
}

LogicalResult ReindexOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto result = cast<RankedTensorType>(getType());
  if (failed(checkSameElement(*this, operand, result)) ||
      failed(checkMap(*this, getMap(), operand, result))) {
    return failure();
  }
  if (getMap().getNumValues() != 0) {
    return emitOpError("map reads index values; use frit.gather");
  }
  if (getMap().hasBounds() != static_cast<bool>(getFillAttr())) {
    return emitOpError("needs a fill exactly when its map has bounds");
  }
  if (getFillAttr() && cast<TypedAttr>(getFillAttr()).getType() != result.getElementType()) {
    return emitOpError("fill has type ") << cast<TypedAttr>(getFillAttr()).getType()
                                         << ", elements have type " << result.getElementType();
  }
  return success();
}

/// Checks that `smaller` fits into the low corner of `larger`, as far as constant sizes tell.
static LogicalResult checkCorner(Operation *op, RankedTensorType smaller, RankedTensorType larger) {
  if (failed(checkSameElement(op, smaller, larger))) {
    return failure();
  }
  if (smaller.getRank() != larger.getRank()) {
    return op->emitOpError("changes the rank from ")
           << smaller.getRank() << " to " << larger.getRank();
  }
  for (auto [dim, sizes] : llvm::enumerate(llvm::zip(getSizes(smaller), getSizes(larger)))) {
    auto [inner, outer] = sizes;
    if (auto missing = (inner - outer).getConstant(); missing && *missing > 0) {
      return op->emitOpError("dimension ")
             << dim << " of size " << inner.str() << " does not fit into " << outer.str();
    }
  }
  return success();
}

LogicalResult PadOp::verify() {
  auto result = cast<RankedTensorType>(getType());
  if (failed(checkCorner(*this, cast<RankedTensorType>(getOperand().getType()), result))) {
    return failure();
  }
  if (getFillAttr() && cast<TypedAttr>(getFillAttr()).getType() != result.getElementType()) {
    return emitOpError("fill has type ") << cast<TypedAttr>(getFillAttr()).getType()
                                         << ", elements have type " << result.getElementType();
  }
  return success();
}

LogicalResult UnpadOp::verify() {
  return checkCorner(*this, cast<RankedTensorType>(getType()),
                     cast<RankedTensorType>(getOperand().getType()));
}

LogicalResult GuardOp::verify() {
  auto graph = cast<GraphOp>((*this)->getParentOp());
  for (int64_t operand : getAssumption().getOperands()) {
    if (operand >= static_cast<int64_t>(graph.getArgumentTypes().size()) ||
        !isa<RankedTensorType>(graph.getArgumentTypes()[operand])) {
      return emitOpError("speaks of argument ") << operand << ", which is no tensor of the graph";
    }
  }
  return success();
}

LogicalResult ReshapeOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto result = cast<RankedTensorType>(getType());
  if (failed(checkSameElement(*this, operand, result))) {
    return failure();
  }
  SizeExpr from = getNumElements(operand), to = getNumElements(result);
  // Only constants can be compared. Symbolic products that differ here (floordiv forms) have been
  // proved equal by torch.
  if (from.getConstant() && to.getConstant() && from != to) {
    return emitOpError("changes the number of elements from ") << from.str() << " to " << to.str();
  }
  return success();
}

LogicalResult AliasOp::verify() {
  for (auto [layout, type] :
       {std::pair(getBaseLayout(), getBase().getType()), std::pair(getLayout(), getType())}) {
    int64_t rank = cast<RankedTensorType>(type).getRank();
    if (static_cast<int64_t>(layout.getStrides().size()) != rank) {
      return emitOpError("has ") << layout.getStrides().size() << " strides for a tensor of rank "
                                 << rank;
    }
  }
  return success();
}

LogicalResult ConcatOp::verify() {
  auto result = cast<RankedTensorType>(getType());
  int64_t dim = getDim();
  if (getOperands().empty() || dim < 0 || dim >= result.getRank()) {
    return emitOpError("joins along dimension ") << dim << " of rank " << result.getRank();
  }
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (type.getRank() != result.getRank() || type.getElementType() != result.getElementType()) {
      return emitOpError("piece ") << i << " has type " << type << ", the result is " << result;
    }
  }
  return success();
}

LogicalResult ReduceOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto result = cast<RankedTensorType>(getType());
  ArrayRef<int64_t> dims = getDims();
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (dim < 0 || dim >= operand.getRank() || (i > 0 && dims[i - 1] >= dim)) {
      return emitOpError("dims must be sorted, distinct and below ")
             << operand.getRank() << ", found " << dim << " at place " << i;
    }
  }
  SmallVector<SizeExpr> kept;
  for (auto [i, size] : llvm::enumerate(getSizes(operand))) {
    if (!llvm::is_contained(dims, static_cast<int64_t>(i))) {
      kept.push_back(size);
    }
  }
  if (getKind() == ReduceKind::Deviations && !isa<FloatType>(operand.getElementType())) {
    return emitOpError("deviations are of floats, found ") << operand.getElementType();
  }
  Type element =
      isArgReduction(getKind()) ? IntegerType::get(getContext(), 64) : operand.getElementType();
  RankedTensorType expected = getTensorType(kept, element);
  if (result != expected) {
    return emitOpError("result must be ") << expected << ", found " << result;
  }
  return success();
}

LogicalResult ScanOp::verify() {
  int64_t dim = getDim(), rank = cast<RankedTensorType>(getType()).getRank();
  if (dim < 0 || dim >= rank) {
    return emitOpError("dim is ") << dim << ", the operand has " << rank << " dims";
  }
  if (getKind() != ReduceKind::Sum && getKind() != ReduceKind::Prod) {
    return emitOpError("is of sums or products, found ") << stringifyReduceKind(getKind());
  }
  return success();
}

LogicalResult GatherOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType());
  auto result = cast<RankedTensorType>(getType());
  if (failed(checkSameElement(*this, source, result)) ||
      failed(checkMap(*this, getMap(), source, result))) {
    return failure();
  }
  if (getMap().getNumValues() != getIndices().size()) {
    return emitOpError("map reads ")
           << getMap().getNumValues() << " index values of " << getIndices().size();
  }
  if (getMap().hasBounds()) {
    return emitOpError("map of a gather has no bounds");
  }
  for (auto [i, index] : llvm::enumerate(getIndices())) {
    if (getSizes(cast<RankedTensorType>(index.getType())) != getSizes(result)) {
      return emitOpError("index ") << i << " has type " << index.getType()
                                   << ", its sizes must be those of the result " << result;
    }
    auto alone = [&, i = i](SizeAttr expr) {
      return SizeExpr(expr) == SizeExpr::value(getContext(), i);
    };
    if (llvm::count_if(getMap().getResults(), alone) != 1) {
      return emitOpError("value v") << i << " must stand alone in exactly one map result";
    }
  }
  return success();
}

LogicalResult SegmentSumOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType());
  auto result = cast<RankedTensorType>(getType());
  if (failed(checkSameElement(*this, source, result))) {
    return failure();
  }
  Type element = source.getElementType();
  if (element.isBF16() || element.isF16() || element.isInteger(1)) {
    return emitOpError("sums of ") << element << " are computed in a wider type";
  }
  SmallVector<SizeExpr> from = getSizes(source), to = getSizes(result);
  if (from.empty() || from.size() != to.size() ||
      ArrayRef(from).drop_front() != ArrayRef(to).drop_front()) {
    return emitOpError("rows of ") << source << " and of " << result << " have different sizes";
  }
  if (getSizes(cast<RankedTensorType>(getBegin().getType())) != to) {
    return emitOpError("bounds have type ")
           << getBegin().getType() << ", their sizes must be those of the result " << result;
  }
  if (getOrder() && cast<RankedTensorType>(getOrder().getType()).getRank() != 1) {
    return emitOpError("order has type ") << getOrder().getType() << ", its rank must be 1";
  }
  return success();
}

LogicalResult RegionOp::verify() {
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getOperandTypes()) {
    return emitOpError("body arguments do not have the types of the operands");
  }
  auto terminator = dyn_cast<YieldOp>(body.getTerminator());
  if (!terminator || terminator.getOperandTypes() != getResultTypes()) {
    return emitOpError("must yield values of its result types");
  }
  if (getResultLayouts() && getResultLayouts()->size() != getNumResults()) {
    return emitOpError("has ") << getNumResults() << " results and " << getResultLayouts()->size()
                               << " layouts";
  }
  return checkReducedDims(*this, getScheduleAttr(), body);
}
