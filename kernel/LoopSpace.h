#pragma once

#include "ir/FritOps.h"
#include "ir/SizeExpr.h"

#include "llvm/ADT/SmallVector.h"

/// The elements of a value that a loop nest reads.
///
/// A loop nest runs over the elements of one shape in row-major order; call its linear counter L. A
/// dimension of a value that the nest reads is a digit of L: it is `floordiv(L, stride) mod
/// extent`. Such a pair is a `Digit`, and a value read through broadcasts, permutes and reshapes is
/// a list of digits, one per dimension.
///
///   over [B, T, C]:   x[b, t, c]         (T*C, B) (C, T) (1, C)
///                     mean[b, t]         (T*C, B) (C, T)
///                     y.view(B*T, C)     (C, B*T) (1, C)
///                     w[c]               (1, C)
///
/// Digits that continue each other merge ((T*C, B) (C, T) is (C, B*T)), and digits of extent 1 are
/// dropped; what remains is the signature. Two values with equal signatures are read at the same
/// place whatever their shapes, so the question whether they may run in one loop is a comparison of
/// short lists. Slices, flips and data-dependent reads are not digits; they are `elsewhere`.
namespace mlir::frit {

struct Digit {
  SizeExpr stride, extent;
  bool operator==(const Digit &other) const {
    return stride == other.stride && extent == other.extent;
  }
};

using Signature = SmallVector<Digit, 3>;

/// Merges digits that continue each other and drops those of extent 1.
Signature mergeDigits(ArrayRef<Digit> digits);
/// Product of the extents.
SizeExpr countOf(ArrayRef<Digit> digits, MLIRContext *context);

class ReadPlace {
public:
  /// Every element of a shape at its own row-major place.
  static ReadPlace rowMajor(ArrayRef<SizeExpr> sizes, MLIRContext *context);
  static ReadPlace elsewhere() { return ReadPlace(); }

  bool isElsewhere() const { return !known; }
  ArrayRef<Digit> getDigits() const & { return digits; }
  /// The digits of a temporary would not outlive it.
  ArrayRef<Digit> getDigits() const && = delete;
  Signature getSignature() const { return mergeDigits(digits); }

  /// The place where the operand of a view is read if its result is read here.
  ReadPlace through(ReindexOp view) const;
  ReadPlace through(ReshapeOp view) const;
  /// The place where an operation that is computed here reads an operand.
  ReadPlace through(OpOperand &operand) const;

private:
  bool known = false;
  SmallVector<Digit, 4> digits;
};

/// The digits of a reshape to `sizes`. Fails if dims that have to merge do not continue each other.
/// Memory strides follow the same rule, as strides of digits.
FailureOr<SmallVector<Digit>> splitDigits(ArrayRef<Digit> digits, ArrayRef<SizeExpr> sizes,
                                          MLIRContext *context);

/// Splits two shapes of equal element count into the coarsest common one:
/// [B*T, C] and [B, T*C] give [B, T, C]. Fails where neither size divides the
/// other.
FailureOr<SmallVector<SizeExpr>> refineSizes(ArrayRef<SizeExpr> a, ArrayRef<SizeExpr> b,
                                             MLIRContext *context);

} // namespace mlir::frit
