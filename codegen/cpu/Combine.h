#pragma once

#include "kernel/KernelProgram.h"
#include "kernel/ReductionAlgebra.h"

#include "mlir/IR/Builders.h"

/// One reduction of a CPU kernel: its algebra, and the types that it is accumulated in.
namespace mlir::frit {

class Combine {
public:
  using Values = SmallVector<Value>;

  Combine(const KernelProgram &program, unsigned node);

  unsigned getNode() const { return node; }
  /// The node whose value `lift` takes: the operand, or what it was extended from.
  unsigned getInput() const { return input; }
  /// Sums of booleans count in i32, half the vectors of i64, for at most
  /// `kNarrowSteps` elements a lane; call before anything else.
  bool canBeNarrow() const;
  void makeNarrow();
  bool isNarrow() const { return narrow; }
  static constexpr int64_t kNarrowSteps = int64_t(1) << 30;
  /// A narrow state in the type of the result.
  Value widen(OpBuilder &b, Value state) const;
  /// A sum of f32 adds its lanes and what follows in f64; for reductions whose ends do
  /// not matter to the time. Call before anything else.
  void makePrecise();
  /// Accumulators in the type that lanes and parts are added in.
  Values toPrecise(OpBuilder &b, ValueRange state) const;
  /// The state of a sum of f32 in f64, and back; what is precise stays in f64 until `result`. Other
  /// states are as they are.
  Values toWide(OpBuilder &b, ValueRange state) const;
  Values fromWide(OpBuilder &b, ValueRange state) const;
  bool isFloatSum() const { return kind == ReduceKind::Sum && isa<FloatType>(element); }
  bool needsPosition() const { return isArgReduction(kind); }
  unsigned stateSize() const { return countCarried(kind); }
  Type stateType(unsigned part) const;

  Values identity(OpBuilder &b, unsigned lanes) const;
  /// One element (and its position, if needed) as a state.
  Values lift(OpBuilder &b, Value element, Value position) const;
  Values combine(OpBuilder &b, ValueRange x, ValueRange y) const;
  /// `y` where `mask` holds, `x` elsewhere.
  Values select(OpBuilder &b, Value mask, ValueRange y, ValueRange x) const;
  /// All lanes into one, pairwise.
  Values horizontal(OpBuilder &b, ValueRange state, unsigned lanes) const;
  Value result(OpBuilder &b, ValueRange state) const;

private:
  unsigned input;
  bool narrow = false, precise = false;
  const KernelProgram *program;
  ReductionAlgebra getAlgebra() const { return {kind, element, isUnsigned}; }

  unsigned node;
  ReduceKind kind;
  bool isUnsigned;
  /// Element type of the operand.
  Type element;
  Location loc;
};

/// The values of all sets in one list, and back.
SmallVector<Value> flatten(ArrayRef<SmallVector<Value>> sets);
SmallVector<SmallVector<Value>> unflatten(ValueRange flat, unsigned width);

/// The states of several combines, as often as they are there: all in f64 where they are sums of
/// f32, back, and `y` combined into `x`.
SmallVector<Value> toWide(OpBuilder &b, ArrayRef<Combine> combines, ValueRange states);
SmallVector<Value> fromWide(OpBuilder &b, ArrayRef<Combine> combines, ValueRange states);
SmallVector<Value> combined(OpBuilder &b, ArrayRef<Combine> combines, ValueRange x, ValueRange y);

} // namespace mlir::frit
