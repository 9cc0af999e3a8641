#pragma once

#include "ir/FritOps.h"
#include "ir/SizeExpr.h"

#include "llvm/ADT/MapVector.h"

#include <optional>

/// Memory layouts outside of kernels: the layout that a value has, the layout that its
/// reader demands, and whether a view of it can be expressed by strides.
///
/// There are three demands. A kernel reads any strides, and so does frit.convolution of an
/// argument or a view. A matrix operand of mm, bmm, addmm, baddbmm may have any layout with one
/// unit stride among its matrix dims. Every other operator gets the traced layout, and a graph
/// result has the layout that the graph promises, unless it is `frit.kept` for a backward graph.
namespace mlir::frit {

enum class DemandKind { Any, Matrix, Exact };

struct LayoutDemand {
  DemandKind kind = DemandKind::Any;
  /// Exact: the strides.
  LayoutAttr layout;
};

LayoutAttr getContiguousLayout(RankedTensorType type);

/// The order (batch, rows, columns, channels) of a tensor (batch, channels, rows, columns).
LayoutAttr getChannelsLastLayout(RankedTensorType type);

/// The layout that the user of an operand requires.
LayoutDemand getLayoutDemand(OpOperand &use);

/// Whether a tensor of this type and layout satisfies the demand. Strides of dims
/// of size 1 do not count.
bool satisfies(LayoutAttr layout, RankedTensorType type, const LayoutDemand &demand);

/// The layout of a view's result over the layout of its operand; nullopt if the
/// elements are not evenly spaced in it (or the view has a fill).
std::optional<LayoutAttr> getViewLayout(ReindexOp view, LayoutAttr operand);
std::optional<LayoutAttr> getViewLayout(ReshapeOp view, LayoutAttr operand);
/// The same for a reindex or a reshape; nullopt for any other operation.
std::optional<LayoutAttr> getViewLayout(Operation *view, LayoutAttr operand);

/// The layout that an argument of a graph or a result of an operator call arrives with (contiguous
/// if none is declared).
LayoutAttr getArgumentLayout(GraphOp graph, unsigned argument);
LayoutAttr getCallResultLayout(Operation *call, unsigned result);

/// The operand whose storage a result of a call lives in after the call has
/// written to it (`mutated_operands`); null for any other value.
Value getMutatedOperand(Value result);

/// The arguments of a graph that it writes to, by stores and by calls, themselves or through views,
/// each with the first operation that does.
llvm::MapVector<BlockArgument, Operation *> getWrittenArguments(Block &body);

/// Whether results of a call may lie in the storage of its operands.
bool mayAliasOperands(AtenOp call);

/// The layout of a tensor outside of regions as assign-layouts recorded it; an argument's own, and
/// contiguous where nothing is recorded.
LayoutAttr getAssignedLayout(Value value);

/// The result dimension of each operand dimension if the view is a permutation, else nullopt. (A
/// slice from 0 has the same map but other sizes.)
std::optional<SmallVector<unsigned>> getPermutation(ReindexOp view);

/// The same strides from another start.
inline LayoutAttr withOffset(LayoutAttr layout, SizeExpr offset) {
  return LayoutAttr::get(layout.getContext(), layout.getStrides(), offset);
}

/// Bytes of an element of a tensor type; a boolean has one.
unsigned getStoredBytes(Type tensor);

/// The stretch of storage in which the elements of a tensor lie.
struct StorageSpan {
  /// From the first element to behind the last one.
  int64_t elements = 1;
  /// Whether several elements lie in one place.
  bool overlaps = false;
};

/// nullopt if a size or a stride varies.
std::optional<StorageSpan> getStorageSpan(LayoutAttr layout, RankedTensorType type);

/// The dims from the largest stride to the smallest, if the strides are a permutation of row-major
/// ones, so that every element has a place of its own and there are no gaps.
std::optional<SmallVector<int64_t>> getDenseOrder(LayoutAttr layout, RankedTensorType type);
inline bool isDense(LayoutAttr layout, RankedTensorType type) {
  return getDenseOrder(layout, type).has_value();
}

} // namespace mlir::frit
