#pragma once

#include "codegen/Emitter.h"
#include "kernel/ReductionAlgebra.h"

/// Single-pass variance (Welford), combined by the formula of Chan, Golub and LeVeque.
///
/// A thread holds a tile of rows in registers. It computes the mean of the tile and the squared
/// deviations from it, as a two-pass variance would, and combines them with its running values;
/// threads, lanes and blocks are combined in the same way afterwards. A mean is stored as two
/// numbers, the first finite value that the thread read and the distance from it, so that a large
/// mean over a small variance loses no digits. If the mean itself is a result, it is computed by a
/// separate sum, which is more accurate for small means. The caller determines the order, and every
/// multiply-add is explicit, so vectors and single elements give the same bits.
///
/// The count is one scalar for all lanes if no lane is masked, and one per lane otherwise.
namespace mlir::frit {

class Welford {
public:
  /// During a sweep `Distance` holds the sum of the distances; `leave` turns it into their mean.
  enum { Squares, Count, Distance, First, NumValues };
  static_assert(NumValues == kDeviationValues);

  Welford(Emitter &emitter, Location loc, Type element)
      : emitter(emitter), builder(emitter.getBuilder()), loc(loc), element(element) {}

  /// Adds a tile: `rows` are elements or vectors, of which those count whose mask (null: always)
  /// holds.
  SmallVector<Value> addTile(ValueRange running, ArrayRef<Value> rows, ArrayRef<Value> masks);
  /// Replaces the sum of the distances by their mean, at the end of a sweep.
  SmallVector<Value> leave(ValueRange running);
  /// Combines two results of `leave` by Chan's formula.
  SmallVector<Value> combine(ValueRange a, ValueRange b);

  /// The squared deviations, from the values that `leave` returned; NaN if the mean is not finite.
  Value squares(ValueRange values);

private:
  Value constant(double value);
  template <typename Op> Value make(Value a, Value b);
  Value reciprocal(Value count);
  Value isFinite(Value value);
  Value isEmpty(Value count);
  Value select(Value mask, Value value, Value otherwise);
  Value addProduct(Value a, Value b, Value c);
  Value addSquares(Value squares, Value distance, Value countA, Value countB, Value count);

  Emitter &emitter;
  OpBuilder &builder;
  Location loc;
  Type element;
};

} // namespace mlir::frit
