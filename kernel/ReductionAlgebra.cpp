#include "kernel/ReductionAlgebra.h"

#include "ir/Planted.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;
using namespace mlir::frit;

TypedAttr ReductionAlgebra::identity(unsigned part) const {
  Builder b(element.getContext());
  if (part == 1) {
    // No position yet: greater than any.
    return b.getI64IntegerAttr(std::numeric_limits<int64_t>::max());
  }
  bool isLowest = kind == ReduceKind::Max || kind == ReduceKind::ArgMax;
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Any:
  case ReduceKind::Deviations:
    return b.getZeroAttr(element);
  case ReduceKind::Prod:
  case ReduceKind::All:
    return b.getOneAttr(element);
  default:
    break;
  }
  if (auto type = dyn_cast<FloatType>(element)) {
    return FloatAttr::get(element, APFloat::getInf(type.getFloatSemantics(), isLowest));
  }
  unsigned width = element.getIntOrFloatBitWidth();
  APInt value = isUnsigned ? (isLowest ? APInt::getZero(width) : APInt::getAllOnes(width))
                : isLowest ? APInt::getSignedMinValue(width)
                           : APInt::getSignedMaxValue(width);
  return IntegerAttr::get(element, value);
}

Value ReductionAlgebra::combineValues(OpBuilder &b, Location loc, Value x, Value y,
                                      Maximum maximum) const {
  bool isFloat = isa<FloatType>(element);
  switch (kind) {
  case ReduceKind::Sum:
    return isFloat ? Value(arith::AddFOp::create(b, loc, x, y))
                   : Value(arith::AddIOp::create(b, loc, x, y));
  case ReduceKind::Prod:
    return isFloat ? Value(arith::MulFOp::create(b, loc, x, y))
                   : Value(arith::MulIOp::create(b, loc, x, y));
  case ReduceKind::Any:
    return arith::OrIOp::create(b, loc, x, y);
  case ReduceKind::All:
    return arith::AndIOp::create(b, loc, x, y);
  case ReduceKind::Max:
    return isFloat      ? maximum(x, y, false)
           : isUnsigned ? Value(arith::MaxUIOp::create(b, loc, x, y))
                        : Value(arith::MaxSIOp::create(b, loc, x, y));
  case ReduceKind::Min:
    return isFloat      ? maximum(x, y, true)
           : isUnsigned ? Value(arith::MinUIOp::create(b, loc, x, y))
                        : Value(arith::MinSIOp::create(b, loc, x, y));
  default:
    break;
  }
  llvm_unreachable("arg-reductions and deviations carry several values");
}

SmallVector<Value> ReductionAlgebra::combine(OpBuilder &b, Location loc, ValueRange x, ValueRange y,
                                             Maximum maximum) const {
  if (!isArgReduction(kind)) {
    return {combineValues(b, loc, x[0], y[0], maximum)};
  }
  bool most = kind == ReduceKind::ArgMax;
  Value better, tie;
  if (isa<FloatType>(element)) {
    auto compare = [&](arith::CmpFPredicate predicate, Value left, Value right) -> Value {
      return arith::CmpFOp::create(b, loc, predicate, left, right);
    };
    using P = arith::CmpFPredicate;
    Value beats = compare(most ? P::OGT : P::OLT, y[0], x[0]);
    Value equal = compare(P::OEQ, y[0], x[0]);
    Value yNan = compare(P::UNO, y[0], y[0]), xNan = compare(P::UNO, x[0], x[0]);
    Value firstNan = arith::AndIOp::create(b, loc, yNan, compare(P::ORD, x[0], x[0]));
    better = arith::OrIOp::create(b, loc, beats, firstNan);
    tie = arith::OrIOp::create(b, loc, equal, arith::AndIOp::create(b, loc, yNan, xNan));
  } else {
    using P = arith::CmpIPredicate;
    P order = isUnsigned ? (most ? P::ugt : P::ult) : (most ? P::sgt : P::slt);
    better = arith::CmpIOp::create(b, loc, order, y[0], x[0]);
    tie = arith::CmpIOp::create(b, loc, P::eq, y[0], x[0]);
  }
  auto before =
      isPlanted(Mistake::LastOfTies) ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt;
  Value earlier = arith::CmpIOp::create(b, loc, before, y[1], x[1]);
  Value take = arith::OrIOp::create(b, loc, better, arith::AndIOp::create(b, loc, tie, earlier));
  return {arith::SelectOp::create(b, loc, take, y[0], x[0]),
          arith::SelectOp::create(b, loc, take, y[1], x[1])};
}
