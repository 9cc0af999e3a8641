#pragma once

#include "codegen/Emitter.h"

/// The sum of squares around a mean in one sweep.
///
/// A thread takes a tile of rows at a time, which it has in registers: mean of the tile, then squares around it, as two sweeps would. What
/// it has so far and the tile become one by the formula of Chan, Golub and LeVeque, from the distance of the two means, and so do
/// threads, lanes and blocks behind the sweep. Means are two numbers: the first finite value that a thread saw and the distance from it. So
/// a large mean over a small variance costs no digits; for its own sake a mean is a sum beside this, which knows a small one better. The order is that of whoever combines, and every product that becomes one with a
/// sum is written as such, so vectors and single elements give the same bits.
///
/// The count is one scalar for all lanes where none is masked, else one of each lane.
namespace mlir::frit {

class Deviations {
public:
  /// Of `Distance` a sweep carries the sum over the elements, and leaves the mean.
  enum { Squares, Count, Distance, First, NumValues };

  Deviations(Emitter &emitter, Location loc, Type element) : emitter(emitter), builder(emitter.getBuilder()), loc(loc), element(element) {}

  /// `rows`: elements or vectors, of which those count whose mask (null: always) holds.
  SmallVector<Value> addTile(ValueRange running, ArrayRef<Value> rows, ArrayRef<Value> masks);
  SmallVector<Value> leave(ValueRange running);
  SmallVector<Value> combine(ValueRange a, ValueRange b);

  /// Of what was left; no number where the mean is none.
  Value squares(ValueRange values) { return make<arith::AddFOp>(values[Squares], make<arith::SubFOp>(values[Distance], values[Distance])); }

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
