// The formula of a region as text without shapes, and the rewriting of its body to one dim.
#include "passes/FlatRegions.h"

#include "passes/Layouts.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::frit;

static bool isContiguous(Value value) {
  return getAssignedLayout(value).getStrides() ==
         getContiguousLayout(cast<RankedTensorType>(value.getType())).getStrides();
}

/// A scalar that is broadcast to every element.
static bool isSplat(Operation *op) {
  auto view = dyn_cast<ReindexOp>(op);
  return view && !view.getMap().hasBounds() &&
         cast<RankedTensorType>(view.getOperand().getType()).getRank() == 0;
}

std::optional<FlatRegions::Formula> FlatRegions::getFormula(RegionOp region) {
  ScheduleAttr schedule = region.getScheduleAttr();
  Block &body = region.getBody().front();
  auto first = dyn_cast<RankedTensorType>(region.getResult(0).getType());
  if ((schedule && schedule.getKind() != ScheduleKind::Pointwise) || !first) {
    return std::nullopt;
  }
  SmallVector<SizeExpr> sizes = getSizes(first);
  // Every value is a scalar or has those sizes.
  auto fits = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || tensor.getRank() == 0 || getSizes(tensor) == sizes;
  };
  Formula formula;
  llvm::raw_string_ostream os(formula.text);
  llvm::DenseMap<Value, unsigned> numbers;
  auto number = [&](Value value) {
    numbers[value] = numbers.size();
    Type type = value.getType();
    auto tensor = dyn_cast<RankedTensorType>(type);
    os << (tensor && tensor.getRank() ? "*" : "") << getElementTypeOrSelf(type) << ' ';
  };
  for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), region.getOperands())) {
    if (!fits(argument.getType()) ||
        (isa<RankedTensorType>(operand.getType()) && !isContiguous(operand))) {
      return std::nullopt;
    }
    number(argument);
  }
  for (Operation &op : body.without_terminator()) {
    bool scalar = isa<tensor::FromElementsOp>(op);
    // Random bits depend on the linear index, which flattening preserves.
    if ((!scalar && !isElementwise(&op) && !isSplat(&op) && !isa<RandomOp>(op)) ||
        op.getNumResults() != 1 || !fits(op.getResult(0).getType())) {
      return std::nullopt;
    }
    os << op.getName();
    if (!isSplat(&op)) {
      os << op.getAttrDictionary();
    }
    for (Value operand : op.getOperands()) {
      os << " %" << numbers.lookup(operand);
    }
    os << ": ";
    number(op.getResult(0));
  }
  for (auto [value, result] :
       llvm::zip_equal(body.getTerminator()->getOperands(), region.getResults())) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() != first.getRank() || !fits(type) || !isContiguous(result)) {
      return std::nullopt;
    }
    os << "-> %" << numbers.lookup(value);
  }
  formula.size = product(region.getContext(), sizes);
  llvm::StringMap<SizeExpr> names;
  for (SizeExpr size : sizes) {
    size.forEachSymbol([&](StringRef name) {
      names.try_emplace(name, SizeExpr::parameter(region.getContext(), names.size()));
    });
    formula.shape += size.substitute(names).str() + ",";
  }
  return formula;
}

void FlatRegions::add(RegionOp region) {
  if (auto formula = getFormula(region)) {
    shapesOf[formula->text].insert(formula->shape);
    formulas[region] = std::move(*formula);
  }
}

std::optional<SizeExpr> FlatRegions::getSize(RegionOp region) const {
  auto it = formulas.find(region);
  if (it == formulas.end()) {
    return std::nullopt;
  }
  bool ofRankZero = it->second.shape.empty(), sharesLaunch = region.getGroup().has_value();
  if (ofRankZero || (!sharesLaunch && shapesOf.find(it->second.text)->second.size() < 2)) {
    return std::nullopt;
  }
  return it->second.size;
}

void FlatRegions::flatten(RegionOp region) {
  MLIRContext *context = region.getContext();
  SizeExpr size = SizeExpr::symbol(context, parameter);
  auto flatten = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && type.getRank()) {
      value.setType(getTensorType({size}, type.getElementType()));
    }
  };
  Block &body = region.getBody().front();
  llvm::for_each(body.getArguments(), flatten);
  for (Operation &op : body.without_terminator()) {
    if (isSplat(&op) && cast<RankedTensorType>(op.getResult(0).getType()).getRank()) {
      cast<ReindexOp>(op).setMapAttr(MapAttr::get(context, 1, ArrayRef<SizeAttr>()));
    }
    flatten(op.getResult(0));
  }
  if (ScheduleAttr schedule = region.getScheduleAttr()) {
    SizeAttr domain[] = {size};
    region.setScheduleAttr(ScheduleAttr::get(
        context, schedule.getKind(), DimsAttr::get(context, domain), 0, schedule.getNumbers()));
  }
}
