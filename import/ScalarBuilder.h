// Builds operations on host scalars (i64, f64 and i1) with Python's promotion: bool to int to
// float.

#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace mlir::frit::exported {

class ScalarBuilder {
public:
  ScalarBuilder(OpBuilder &builder, Location location) : b(builder), loc(location) {}

  /// Calls a function by the name that it has in Python ("add", "floordiv", "sqrt"); null if it is
  /// not known with so many operands.
  Value call(StringRef function, ArrayRef<Value> operands);
  Value toInt(Value x);
  Value to(Type type, Value x);

private:
  using Unary = Value (ScalarBuilder::*)(Value);
  using Binary = Value (ScalarBuilder::*)(Value, Value);
  struct Functions;

  static bool isFloat(Value x) { return x.getType().isF64(); }
  static bool isBool(Value x) { return x.getType().isInteger(1); }
  Value toFloat(Value x);
  Value toBool(Value x);

  Value negate(Value x);
  Value identity(Value x) { return x; }
  Value invert(Value x);
  Value absolute(Value x);
  template <typename FloatOp> Value function(Value x);
  /// A function of floats with an integer as its result.
  template <typename FloatOp> Value round(Value x);
  template <typename IntOp, typename FloatOp> Value arithmetic(Value x, Value y);
  template <arith::CmpIPredicate integers, arith::CmpFPredicate floats>
  Value compare(Value x, Value y);
  template <typename Op> Value bitwise(Value x, Value y);
  template <typename Op> Value shift(Value x, Value y);
  Value divide(Value x, Value y);
  Value floorDivide(Value x, Value y);
  Value modulo(Value x, Value y);
  Value select(Value condition, Value x, Value y);

  OpBuilder &b;
  Location loc;
};

} // namespace mlir::frit::exported
