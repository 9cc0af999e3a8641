#pragma once

#include "ir/AtenSharing.h"

#include "mlir/IR/Builders.h"

#include <optional>

/// The places of tensors in memory, from the trace.
namespace mlir::frit {

/// Whether the operator sets or clears a lazy conjugate or negative bit, which the memory of its
/// result does not show.
bool isLazyView(AtenOp op);

/// The memory of a value according to the trace: a part of the storage of `root`, which is not a
/// view.
struct Place {
  Value root;
  /// The value's layout; its offset counts from the start of the storage, in elements of `dtype`.
  LayoutAttr layout;
  DTypeAttr dtype;
};

/// The places of a graph's tensors in the imported form. A value whose place does not follow from
/// the annotations has none, and neither have views of it.
class TracedPlaces {
public:
  /// Begins with the places of the arguments.
  explicit TracedPlaces(GraphOp graph);
  /// Records the places of a call's results. Calls must be added in the order of the graph.
  void add(AtenOp op);
  void note(Value value, const Place &place) { places[value] = place; }
  void forget(mlir::Value value) { places.erase(value); }
  std::optional<Place> find(Value value) const;

private:
  llvm::DenseMap<Value, Place> places;
};

/// Creates an alias of `root` that lies at `place`. Null if the dtypes differ and `root` does not
/// begin at offset 0, since the distance may then not be a whole number of elements.
Value createAlias(OpBuilder &builder, Location loc, const Place &root, const Place &place,
                  RankedTensorType type);

/// The operand whose whole storage the operator clones before it changes a part of the clone
/// (`copy`, `slice_scatter` ...). The result lies in the clone as the operand lies in its own
/// storage. Null for any other operator.
Value copiesStorageOf(AtenOp op);

/// Replaces a `placed` `as_strided` by an alias of its operand. False for any other
/// call.
bool readAsAlias(AtenOp op);

} // namespace mlir::frit
