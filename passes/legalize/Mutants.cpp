// Plants small mistakes in the arguments that legalisation rules read and in the operations that
// they build.
#include "passes/legalize/Mutants.h"

#include "ir/SizeExpr.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::frit;

bool Mutant::isHere(StringRef kind, StringRef where) {
  std::string name = (kind + "/" + where).str();
  name += "/" + std::to_string(numbers[name]++);
  bool isAsked = name == wanted;
  if (isAsked || wanted == "list") {
    places.push_back(name);
  }
  return isAsked;
}

//===--- arguments ------------------------------------------------------===//

/// Another literal of the same type; null if the argument is not a literal.
static Attribute otherLiteral(Attribute literal) {
  MLIRContext *context = literal.getContext();
  if (auto flag = dyn_cast<BoolAttr>(literal)) {
    return BoolAttr::get(context, !flag.getValue());
  }
  if (auto integer = dyn_cast<IntegerAttr>(literal)) {
    return IntegerAttr::get(integer.getType(), integer.getInt() == 0 ? 1 : 0);
  }
  if (auto real = dyn_cast<FloatAttr>(literal)) {
    return FloatAttr::get(real.getType(), real.getValueAsDouble() == 0 ? 1 : 0);
  }
  if (isa<StringAttr>(literal)) {
    return UnitAttr::get(context); // as if none was given
  }
  if (auto list = dyn_cast<ArrayAttr>(literal)) {
    SmallVector<Attribute> entries(llvm::reverse(list.getValue()));
    if (entries.empty() || !llvm::all_of(entries, llvm::IsaPred<IntegerAttr, FloatAttr>)) {
      return {};
    }
    if (ArrayRef(entries) == list.getValue()) {
      entries[0] = otherLiteral(entries[0]);
    }
    return ArrayAttr::get(context, entries);
  }
  return {};
}

void Mutant::changeArguments(AtenOp op) {
  SmallVector<Attribute> arguments(op.getArguments().getValue());
  for (auto [number, argument] : llvm::enumerate(arguments)) {
    Attribute other = otherLiteral(argument);
    if (other && isHere("argument", std::to_string(number))) {
      argument = other;
    }
  }
  op.setArgumentsAttr(ArrayAttr::get(op.getContext(), arguments));
}

//===--- what is built --------------------------------------------------===//

void Mutant::changeResult(ArrayRef<Operation *> built) {
  for (Operation *op : built) {
    changeOperands(op);
    changeOperation(op);
    changeByOne(op);
    changeIdentity(op);
    changeNan(op);
  }
}

static bool isSymmetric(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  return llvm::is_contained({P::OEQ, P::ONE, P::ORD, P::UEQ, P::UNE, P::UNO}, predicate);
}

static bool hasOrder(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    return !isSymmetric(compare.getPredicate());
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    return compare.getPredicate() != arith::CmpIPredicate::eq &&
           compare.getPredicate() != arith::CmpIPredicate::ne;
  }
  return isa<arith::SubFOp, arith::SubIOp, arith::DivFOp, arith::DivSIOp, arith::DivUIOp,
             arith::RemFOp, arith::RemSIOp, arith::RemUIOp, arith::ShLIOp, arith::ShRSIOp,
             arith::ShRUIOp, math::PowFOp, math::Atan2Op, math::CopySignOp, ConcatOp>(op);
}

void Mutant::changeOperands(Operation *op) {
  unsigned first = isa<arith::SelectOp>(op) ? 1 : 0;
  if (!isa<arith::SelectOp>(op) && !hasOrder(op)) {
    return;
  }
  if (op->getNumOperands() < first + 2 || op->getOperand(first) == op->getOperand(first + 1) ||
      op->getOperand(first).getType() != op->getOperand(first + 1).getType()) {
    return;
  }
  if (isHere("operands", op->getName().getStringRef())) {
    Value before = op->getOperand(first);
    op->setOperand(first, op->getOperand(first + 1));
    op->setOperand(first + 1, before);
  }
}

/// The name of another operation with the same operand and result types, or nothing.
static StringRef otherOperation(StringRef name) {
  static const llvm::StringMap<StringRef> table = {
      {"arith.addf", "arith.subf"},
      {"arith.addi", "arith.subi"},
      {"arith.subf", "arith.addf"},
      {"arith.subi", "arith.addi"},
      {"arith.mulf", "arith.addf"},
      {"arith.muli", "arith.addi"},
      {"arith.divf", "arith.mulf"},
      {"arith.divsi", "arith.divui"},
      {"arith.divui", "arith.divsi"},
      {"arith.remsi", "arith.remui"},
      {"arith.remui", "arith.remsi"},
      {"arith.remf", "arith.divf"},
      {"arith.maximumf", "arith.minimumf"},
      {"arith.minimumf", "arith.maximumf"},
      {"arith.maxsi", "arith.maxui"},
      {"arith.maxui", "arith.maxsi"},
      {"arith.minsi", "arith.minui"},
      {"arith.minui", "arith.minsi"},
      {"arith.andi", "arith.ori"},
      {"arith.ori", "arith.andi"},
      {"arith.xori", "arith.ori"},
      {"arith.shrsi", "arith.shrui"},
      {"arith.shrui", "arith.shrsi"},
      {"arith.shli", "arith.shrsi"},
      {"arith.extsi", "arith.extui"},
      {"arith.extui", "arith.extsi"},
      {"arith.sitofp", "arith.uitofp"},
      {"arith.uitofp", "arith.sitofp"},
      {"arith.negf", "math.absf"},
      {"math.absf", "arith.negf"},
      {"math.exp", "math.exp2"},
      {"math.exp2", "math.exp"},
      {"math.expm1", "math.exp"},
      {"math.log", "math.log1p"},
      {"math.log1p", "math.log"},
      {"math.log2", "math.log"},
      {"math.log10", "math.log"},
      {"math.sqrt", "math.rsqrt"},
      {"math.rsqrt", "math.sqrt"},
      {"math.sin", "math.cos"},
      {"math.cos", "math.sin"},
      {"math.tan", "math.sin"},
      {"math.sinh", "math.tanh"},
      {"math.cosh", "math.exp"},
      {"math.tanh", "math.erf"},
      {"math.asin", "math.atan"},
      {"math.acos", "math.asin"},
      {"math.atan", "math.tanh"},
      {"math.asinh", "math.atan"},
      {"math.acosh", "math.asinh"},
      {"math.atanh", "math.atan"},
      {"math.erf", "math.tanh"},
      {"math.erfc", "math.erf"},
      {"math.floor", "math.ceil"},
      {"math.ceil", "math.floor"},
      {"math.trunc", "math.floor"},
      {"math.roundeven", "math.trunc"},
      {"math.atan2", "math.powf"},
      {"math.powf", "math.atan2"},
      {"math.copysign", "arith.mulf"},
  };
  return table.lookup(name);
}

static std::optional<ReduceKind> otherReduction(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return ReduceKind::Prod;
  case ReduceKind::Prod:
    return ReduceKind::Sum;
  case ReduceKind::Max:
    return ReduceKind::Min;
  case ReduceKind::Min:
    return ReduceKind::Max;
  case ReduceKind::Any:
    return ReduceKind::All;
  case ReduceKind::All:
    return ReduceKind::Any;
  case ReduceKind::ArgMax:
    return ReduceKind::ArgMin;
  case ReduceKind::ArgMin:
    return ReduceKind::ArgMax;
  case ReduceKind::Deviations:
    break;
  }
  return std::nullopt;
}

void Mutant::changeOperation(Operation *op) {
  StringRef name = op->getName().getStringRef();
  StringRef other = isa<ElementFunctionOpInterface>(op) ? "math.log" : otherOperation(name);
  if (other.empty() || !isHere("operation", name)) {
    return;
  }
  OpBuilder builder(op);
  OperationState state(op->getLoc(), other, op->getOperands(), op->getResultTypes());
  op->replaceAllUsesWith(
      builder.create(state)->getResults()); // the old one is unused and removed as dead code
}

/// Two predicates that differ where both sides are equal; for eq and ne everywhere.
static arith::CmpIPredicate withOtherEdge(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return P::ne;
  case P::ne:
    return P::eq;
  case P::slt:
    return P::sle;
  case P::sle:
    return P::slt;
  case P::sgt:
    return P::sge;
  case P::sge:
    return P::sgt;
  case P::ult:
    return P::ule;
  case P::ule:
    return P::ult;
  case P::ugt:
    return P::uge;
  case P::uge:
    return P::ugt;
  }
  llvm_unreachable("a predicate");
}

static std::optional<arith::CmpFPredicate> withOtherEdge(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OEQ:
    return P::ONE;
  case P::UNE:
    return P::UEQ;
  case P::OLT:
    return P::OLE;
  case P::OLE:
    return P::OLT;
  case P::OGT:
    return P::OGE;
  case P::OGE:
    return P::OGT;
  default:
    return std::nullopt;
  }
}

static std::optional<arith::CmpFPredicate> withOtherNan(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OEQ:
    return P::UEQ;
  case P::UNE:
    return P::ONE;
  case P::OLT:
    return P::ULT;
  case P::OLE:
    return P::ULE;
  case P::OGT:
    return P::UGT;
  case P::OGE:
    return P::UGE;
  case P::UNO:
    return P::ORD;
  default:
    return std::nullopt;
  }
}

/// The number next to a constant, and the largest number for an infinity; null for NaN.
static TypedAttr nextNumber(TypedAttr value) {
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    APInt next = integer.getValue();
    return IntegerAttr::get(integer.getType(), integer.getType().isInteger(1) ? ~next : next + 1);
  }
  auto real = dyn_cast<FloatAttr>(value);
  if (!real || real.getValue().isNaN()) {
    return {};
  }
  APFloat next = real.getValue();
  if (next.isInfinity()) {
    next = APFloat::getLargest(next.getSemantics(), next.isNegative());
  } else {
    APFloat one(next.getSemantics(), 1);
    next.add(one, APFloat::rmNearestTiesToEven);
  }
  return FloatAttr::get(real.getType(), next);
}

/// A map that reads one dimension from its other end; null where that changes nothing.
static MapAttr reversed(MapAttr map, unsigned dim, SizeExpr size) {
  SmallVector<SizeAttr> results(map.getResults());
  results[dim] = size - 1 - SizeExpr(results[dim]);
  return MapAttr::get(map.getContext(), map.getNumDims(), map.getNumValues(), results,
                      map.getBoundExprs(), map.getBoundLows(), map.getBoundHighs());
}

void Mutant::changeByOne(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!dense || !dense.isSplat()) {
      return;
    }
    TypedAttr next = nextNumber(cast<TypedAttr>(dense.getSplatValue<Attribute>()));
    if (next && isHere("off-by-one", "arith.constant")) {
      constant.setValueAttr(DenseElementsAttr::get(dense.getType(), ArrayRef<Attribute>{next}));
    }
  } else if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    if (isHere("off-by-one", "arith.cmpi")) {
      compare.setPredicate(withOtherEdge(compare.getPredicate()));
    }
  } else if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    std::optional<arith::CmpFPredicate> other = withOtherEdge(compare.getPredicate());
    if (other && isHere("off-by-one", "arith.cmpf")) {
      compare.setPredicate(*other);
    }
  } else if (auto iota = dyn_cast<IotaOp>(op)) {
    if (isHere("off-by-one", "frit.iota")) {
      iota.setExprAttr(SizeExpr(iota.getExpr()) + 1);
    }
  } else if (auto reindex = dyn_cast<ReindexOp>(op)) {
    MapAttr map = reindex.getMap();
    SmallVector<SizeExpr> sizes = getSizes(cast<RankedTensorType>(reindex.getOperand().getType()));
    for (auto [dim, size] : llvm::enumerate(sizes)) {
      if (!size.isConstant(1) && !size.isConstant(0) && isHere("off-by-one", "frit.reindex")) {
        reindex.setMapAttr(reversed(map, dim, size));
      }
    }
    for (unsigned number = 0; number < map.getBoundExprs().size(); ++number) {
      if (isHere("off-by-one", "bound")) {
        SmallVector<SizeAttr> lows(map.getBoundLows());
        lows[number] = SizeExpr(lows[number]) + 1;
        reindex.setMapAttr(MapAttr::get(op->getContext(), map.getNumDims(), map.getNumValues(),
                                        map.getResults(), map.getBoundExprs(), lows,
                                        map.getBoundHighs()));
      }
    }
  }
}

void Mutant::changeIdentity(Operation *op) {
  if (auto reindex = dyn_cast<ReindexOp>(op)) {
    TypedAttr fill = reindex.getFillAttr();
    TypedAttr next = fill ? nextNumber(fill) : TypedAttr();
    if (next && isHere("identity", "frit.reindex")) {
      reindex.setFillAttr(next);
    }
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    std::optional<ReduceKind> other = otherReduction(reduce.getKind());
    if (other && isHere("identity", "frit.reduce")) {
      reduce.setKind(*other);
    }
  } else if (auto gather = dyn_cast<GatherOp>(op)) {
    if (gather.getCheck() != IndexCheck::Unchecked && isHere("identity", "frit.gather")) {
      gather.setCheck(gather.getCheck() == IndexCheck::Wrap ? IndexCheck::NonNegative
                                                            : IndexCheck::Wrap);
    }
  }
}

void Mutant::changeNan(Operation *op) {
  if (isa<arith::MaximumFOp, arith::MinimumFOp>(op)) {
    if (isHere("nan", op->getName().getStringRef())) {
      OpBuilder builder(op);
      auto predicate =
          isa<arith::MaximumFOp>(op) ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
      Value first = op->getOperand(0), second = op->getOperand(1);
      Value isFirst = arith::CmpFOp::create(builder, op->getLoc(), predicate, first, second);
      op->replaceAllUsesWith(
          arith::SelectOp::create(builder, op->getLoc(), isFirst, first, second)->getResults());
    }
  } else if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    std::optional<arith::CmpFPredicate> other = withOtherNan(compare.getPredicate());
    if (other && isHere("nan", "arith.cmpf")) {
      compare.setPredicate(*other);
    }
  }
}
