#pragma once

#include "codegen/Emitter.h"
#include "kernel/KernelProgram.h"
#include "kernel/ReductionAlgebra.h"

#include "mlir/IR/Builders.h"

/// One reduction of a CPU kernel: its algebra, and the types in which it is accumulated.
namespace mlir::frit {

class Combine {
public:
  using Values = SmallVector<Value>;

  Combine(const KernelProgram &program, unsigned node);

  unsigned getNode() const { return node; }
  /// The node whose value `lift` takes: the operand, or the value from which it was extended.
  unsigned getInput() const { return input; }
  /// Sums of booleans count in i32, which takes half the vectors of i64, for at most `kNarrowSteps`
  /// elements a lane. Call this before anything else.
  bool canBeNarrow() const;
  void makeNarrow();
  bool isNarrow() const { return narrow; }
  static constexpr int64_t kNarrowSteps = int64_t(1) << 30;
  /// Converts a narrow state to the type of the result.
  Value widen(OpBuilder &b, Value state) const;
  /// Makes a sum of f32 add its lanes, and all that follows, in f64; for reductions in which this
  /// takes no noticeable time. Call it before anything else.
  void makePrecise();
  /// Converts accumulators to the type in which lanes and parts are added.
  Values toPrecise(OpBuilder &b, ValueRange state) const;
  /// Convert the state of a sum of f32 to f64, and back; a precise state stays in f64 until
  /// `result`. Other states are unchanged.
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
  /// `state` with the element of a frame. A sum of products that nothing else reads multiplies and
  /// adds with one rounding, in whole vectors and in masked ones alike.
  Values accumulate(Emitter &emitter, Frame &frame, ValueRange state, Value position) const;
  /// `y` where `mask` holds, `x` elsewhere.
  Values select(OpBuilder &b, Value mask, ValueRange y, ValueRange x) const;
  /// Combines all lanes into one, pairwise.
  Values horizontal(OpBuilder &b, ValueRange state, unsigned lanes) const;
  Value result(OpBuilder &b, ValueRange state) const;

private:
  bool isSumOfProducts() const;

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

/// Converts sets of values to one list, and back.
SmallVector<Value> flatten(ArrayRef<SmallVector<Value>> sets);
SmallVector<SmallVector<Value>> unflatten(ValueRange flat, unsigned width);

/// The same operations on the states of several combines, which may be repeated: conversion to f64
/// of the sums of f32, conversion back, and `y` combined into `x`.
SmallVector<Value> toWide(OpBuilder &b, ArrayRef<Combine> combines, ValueRange states);
SmallVector<Value> fromWide(OpBuilder &b, ArrayRef<Combine> combines, ValueRange states);
SmallVector<Value> combined(OpBuilder &b, ArrayRef<Combine> combines, ValueRange x, ValueRange y);

} // namespace mlir::frit
