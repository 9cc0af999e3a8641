#pragma once

#include "ir/FritOps.h"
#include "ir/SizeExpr.h"

#include <optional>
#include <string>

/// What padding means to operators: which dimensions of a library call may be larger than the
/// program says, what must lie there, and what is known about the lanes beyond the program's sizes
/// of a value computed on padded operands.
///
/// A call is safe to pad if its result inside of the logical sizes does not depend on what lies
/// outside. A free dimension of a matrix product (rows of the left, columns of the right) never
/// mixes with others: anything may lie there. The contracted one is summed: there both sides hold
/// zeros (zero on one side is not enough, the other may hold an infinity, and 0 * inf is no 0).
namespace mlir::frit {

/// The dimensions of a call that have one size: equal numbers are equal sizes. Free dimensions may
/// hold anything, the contracted one holds zeros.
struct PaddableOperand {
  unsigned operand;
  SmallVector<unsigned> dims;
};

struct PaddableCall {
  static constexpr unsigned contracted = 0;
  SmallVector<PaddableOperand> operands;
  /// The result's dimensions.
  SmallVector<unsigned> result;
  /// By dimension: its size; and whether it counts matrices and not rows of one.
  SmallVector<SizeExpr> sizes;
  SmallVector<bool> isBatch;
};

/// How a call may be padded, or nullopt and why not.
std::optional<PaddableCall> describePaddableCall(AtenOp call, std::string &whyNot);

/// The lanes of one dimension beyond its logical size.
struct PadLanes {
  /// What all of them hold; null if they hold junk.
  TypedAttr known;
  bool isZero() const;
};

/// Whether an operation may run on junk: elementwise, and without an error to raise.
bool mayRunOnJunk(Operation *op);
/// What the lanes of an elementwise operation hold over operands whose lanes hold `operands`; only
/// exact operations are folded.
PadLanes foldPadLanes(Operation *op, ArrayRef<PadLanes> operands);

} // namespace mlir::frit
