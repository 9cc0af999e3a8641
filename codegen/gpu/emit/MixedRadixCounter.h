#pragma once

#include "codegen/gpu/emit/GpuFunction.h"

/// A mixed-radix counter: a loop updates its position in several dims from step to step instead of
/// dividing the step number.
///
/// A place has a digit for each dim, outermost first, and a quotient and a remainder for each
/// division by an unknown size in the kernel's addresses: `floordiv(d0, p1)` of a flattened view,
/// or `floordiv(floordiv(d0, p1), p2)`. `find` and `getStep` divide, in front of the loop;
/// `advance`, inside it, adds and compares. A digit and its step are both below the dim's extent,
/// so their sum with a carry is less than twice the extent, and one comparison wraps it around. The
/// same holds for remainders and divisors. Where a digit wraps around, its extent is subtracted
/// from the quotients and remainders, with a borrow. The outermost digit may grow beyond the last
/// place.
///
/// Registers: one for each digit, two for each division, as many again for each step, and two more
/// for each division whose digit wraps around.
namespace mlir::frit {

class MixedRadixCounter {
public:
  struct Digit {
    /// The dim of the domain.
    unsigned dim;
    /// The extent in units; unused for the outermost digit.
    SizeExpr extent;
    /// By how much the index of the dim grows per unit.
    int64_t unit = 1;
  };
  MixedRadixCounter(GpuFunction &function, ArrayRef<Digit> digits);

  /// Whether finding a place divides by unknown sizes. Divisions by constants are multiplications,
  /// so such a place need not be carried through a loop.
  bool divides() const;

  using Place = SmallVector<Value>;
  /// The digits of a valid number, without quotients.
  Place split(Value number) const;

  /// A distance between places: what it adds to each digit, quotient and remainder, and what is
  /// subtracted from the latter when their digit wraps around.
  struct Step {
    Place digits;
    SmallVector<std::pair<Value, Value>> added, taken;
  };
  /// The place of a number, with quotients. `outer` must bind all other dims; quotients of those
  /// alone are stored in it. The number may be invalid: with a size of 0 the result is a place that
  /// must not be accessed.
  Place find(Frame &outer, Value number) const;
  /// The step between places whose numbers are `distance` apart.
  Step getStep(Value distance) const;
  /// The place one step later; emits only additions and comparisons.
  Place advance(ArrayRef<Value> place, const Step &step) const;
  /// Binds every dim but the innermost, and supplies the values of the quotients.
  void bind(Frame &frame, ArrayRef<Value> place) const;

private:
  struct Division {
    /// `floordiv(left, divisor)`; `rest` is `left` without the digit or, if there is one, without
    /// the quotient `inner`.
    SizeExpr quotient, left, divisor, rest;
    unsigned digit = 0;
    std::optional<unsigned> inner;
  };
  void addDivision(SizeExpr quotient, SizeExpr left, SizeExpr divisor);
  /// The size, or 1 if it may be 0.
  Value positive(SizeExpr size) const;
  std::pair<Value, Value> divide(Value number, SizeExpr divisor) const;
  Value unitsOf(Value digit, unsigned number) const;

  GpuFunction &function;
  const KernelProgram &program;
  SmallVector<Digit> digits;
  SmallVector<Division> divisions;
  /// Quotients of other dims alone.
  SmallVector<Division> shared;
};

} // namespace mlir::frit
