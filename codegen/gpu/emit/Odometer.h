#pragma once

#include "codegen/gpu/emit/GpuFunction.h"

/// A place in several dims that a loop carries from one step to the next instead of dividing the
/// number of the step for it.
///
/// A place has a digit for each dim, outermost first, and a counter for each division by a size
/// that is not known in what the kernel reads and writes (`floordiv(d0, p1)`, a view that was
/// flattened; `floordiv(floordiv(d0, p1), p2)`): its quotient and its remainder. `find` and
/// `getStep` divide, in front of the loop; `advance`, in it, adds and compares. A digit and its
/// step are both below the dim's extent, so that their sum with a carry is less than twice it, and
/// one comparison takes it back; a remainder and its step are as much below the divisor. Where a
/// digit is taken back, its extent is taken from the counters above it, with a borrow. The
/// outermost digit is left to grow beyond the last place.
///
/// Registers: a digit, two numbers a counter, the same again for each step, and two more for each
/// counter whose digit is taken back.
namespace mlir::frit {

class Odometer {
public:
  struct Digit {
    /// Of the domain.
    unsigned dim;
    /// In units; the outermost's is not asked for.
    SizeExpr extent;
    /// What an index of the dim grows by from one to the next.
    int64_t unit = 1;
  };
  Odometer(GpuFunction &function, ArrayRef<Digit> digits);

  /// Whether finding a place divides by sizes that are not known: by others it is a multiplication,
  /// and no place need be carried.
  bool divides() const;

  using Place = SmallVector<Value>;
  /// The digits of a number that exists.
  Place split(Value number) const;

  /// A distance, as what it adds to each digit and counter, and what taking a digit back takes from
  /// each counter.
  struct Step {
    Place digits;
    SmallVector<std::pair<Value, Value>> added, taken;
  };
  /// The place of a number, counters included. `outer` binds all other dims, and gets the quotients
  /// of those alone. Numbers need not exist: a size of 0 makes a place that nothing may be done at.
  Place find(Frame &outer, Value number) const;
  Step getStep(Value distance) const;
  Place advance(ArrayRef<Value> place, const Step &step) const;
  /// Binds every dim but the innermost, and supplies what the counters know.
  void bind(Frame &frame, ArrayRef<Value> place) const;

private:
  struct Counter {
    /// `floordiv(left, divisor)`; `rest` is what `left` has beside the digit or, if there is one,
    /// the counter `inner`.
    SizeExpr quotient, left, divisor, rest;
    unsigned digit = 0;
    std::optional<unsigned> inner;
  };
  void addCounter(SizeExpr quotient, SizeExpr left, SizeExpr divisor);
  /// The size, or 1 if it may be 0.
  Value positive(SizeExpr size) const;
  std::pair<Value, Value> divide(Value number, SizeExpr divisor) const;
  Value unitsOf(Value digit, unsigned number) const;

  GpuFunction &function;
  const KernelProgram &program;
  SmallVector<Digit> digits;
  SmallVector<Counter> counters;
  /// Quotients of other dims.
  SmallVector<Counter> shared;
};

} // namespace mlir::frit
