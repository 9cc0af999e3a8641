#pragma once

#include "ir/ReduceKinds.h"

#include "mlir/IR/Builders.h"

/// The state that a reduction carries from element to element, its identity, and how two states
/// combine: the same for every target, on scalars and on vectors.
namespace mlir::frit {

/// Values that a reduction carries: one; value and position for argmax and argmin; four for squared
/// deviations from the mean (codegen/gpu/kernels/Welford.h).
constexpr unsigned kDeviationValues = 4;
inline unsigned countCarried(ReduceKind kind) {
  return kind == ReduceKind::Deviations ? kDeviationValues : isArgReduction(kind) ? 2 : 1;
}

/// The algebra of every kind but Deviations, whose combination depends on counts.
class ReductionAlgebra {
public:
  /// The maximum or minimum of two floats or vectors of them; NaN if one is NaN, and +0.0 is
  /// greater than -0.0. Targets have different instructions for it.
  using Maximum = llvm::function_ref<Value(Value x, Value y, bool isMinimum)>;

  /// `element`: the type that values are accumulated in. Booleans compare as unsigned.
  ReductionAlgebra(ReduceKind kind, Type element, bool isUnsigned)
      : kind(kind), element(element), isUnsigned(isUnsigned || element.isInteger(1)) {}

  /// The neutral value of part `part` of the state. The identity of a sum is +0.0, as in eager: a
  /// sum of negative zeros is +0.0 there too.
  TypedAttr identity(unsigned part) const;
  /// In arg-reductions NaN precedes numbers, then the greater (smaller) value, then the earlier
  /// position.
  SmallVector<Value> combine(OpBuilder &b, Location loc, ValueRange x, ValueRange y,
                             Maximum maximum) const;

private:
  Value combineValues(OpBuilder &b, Location loc, Value x, Value y, Maximum maximum) const;

  ReduceKind kind;
  Type element;
  bool isUnsigned;
};

} // namespace mlir::frit
