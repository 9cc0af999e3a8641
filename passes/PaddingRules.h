#pragma once

#include "ir/FritOps.h"
#include "ir/SizeExpr.h"

#include <optional>
#include <string>

/// The rules of padding: which dimensions of a library call may be enlarged, what their padded
/// lanes must hold, and what is known about the padded lanes of a value that was computed on padded
/// operands.
///
/// A call is safe to pad if its result within the logical sizes does not depend on the padded
/// lanes. A free dimension of a matrix product (rows of the left, columns of the right operand)
/// never mixes with others: its lanes may hold anything. The contracted one is summed, so both
/// sides must hold zeros there: zero on one side is not enough, because the other may hold an
/// infinity and 0 * inf is NaN.
namespace mlir::frit {

/// An operand and a number for each of its dimensions: equal numbers mean equal sizes. The padded
/// lanes of the contracted dimension must be zero, those of free dimensions may hold anything.
struct PaddableOperand {
  unsigned operand;
  SmallVector<unsigned> dims;
};

struct PaddableCall {
  static constexpr unsigned contracted = 0;
  SmallVector<PaddableOperand> operands;
  /// The result's dimensions.
  SmallVector<unsigned> result;
  /// By dimension number: its size, and whether it is a batch dimension.
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

/// Whether an operation may run on junk: it is elementwise and cannot raise an error.
bool mayRunOnJunk(Operation *op);
/// The padded lanes of an elementwise operation's result, given those of its operands. Only
/// operations that kernels compute exactly are folded.
PadLanes foldPadLanes(Operation *op, ArrayRef<PadLanes> operands);

} // namespace mlir::frit
