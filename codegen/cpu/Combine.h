#pragma once

#include "codegen/KernelProgram.h"

#include "mlir/IR/Builders.h"

/// How one reduction combines: its state (one value, or value and position for
/// argmax and argmin), identity, and combination, on scalars and vectors alike.
namespace mlir::frit {

class Combine {
public:
  using Values = SmallVector<Value>;

  Combine(const KernelProgram &program, unsigned node);

  unsigned getNode() const { return node; }
  bool needsPosition() const { return positions; }
  unsigned stateSize() const { return positions ? 2 : 1; }
  Type stateType(unsigned part) const;

  Values identity(OpBuilder &b, unsigned lanes) const;
  /// One element (and its position, if needed) as a state.
  Values lift(OpBuilder &b, Value element, Value position) const;
  Values combine(OpBuilder &b, ValueRange x, ValueRange y) const;
  /// `y` where `mask` holds, `x` elsewhere.
  Values select(OpBuilder &b, Value mask, ValueRange y, ValueRange x) const;
  /// All lanes into one, pairwise.
  Values horizontal(OpBuilder &b, ValueRange state, unsigned lanes) const;
  Value result(ValueRange state) const { return state.back(); }

private:
  Value combineOne(OpBuilder &b, Value x, Value y) const;

  unsigned node;
  ReduceKind kind;
  bool isUnsigned, positions;
  /// Element type of the operand.
  Type element;
  Location loc;
};

} // namespace mlir::frit
