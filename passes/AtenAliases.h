#pragma once

#include "ir/FritOps.h"

#include "mlir/IR/Builders.h"

#include <optional>

/// What an operator call does to the memory of its operands, from the alias annotations of its
/// schema and what the trace saw.
namespace mlir::frit {

/// On a call that counts from the start of the storage of its first operand: the trace saw storage
/// of the graph's own there, so it may not be an argument's, and begins where the trace saw it.
inline constexpr llvm::StringLiteral kPlacedAttr = "frit.placed";

struct Access {
  SmallVector<unsigned> writes;  // operand numbers
  bool writesList = false;       // as `_foreach_add_` does
  std::optional<unsigned> views; // the operand whose storage the results share
};

Access getAccess(AtenOp op);

/// Whether the results share the storage of what they are views of.
enum class Sharing { Always, Never, Unknown };

/// Some operators return operand `viewed` or a copy of it, depending on layout and dtype.
Sharing getSharing(AtenOp op, unsigned viewed);

/// Where a value lies as the trace saw it: in the storage of `root`, which no view made.
struct Place {
  Value root;
  /// Of the value; its offset counts from the start of the storage, in elements of `dtype`.
  LayoutAttr layout;
  DTypeAttr dtype;
};

/// The places of a graph's tensors in the imported form. What the annotations leave open has none,
/// nor has a view of it.
class TracedPlaces {
public:
  /// Knows the arguments.
  explicit TracedPlaces(GraphOp graph);
  /// Takes note of a call's results, after those of all calls that it reads.
  void add(AtenOp op);
  void note(Value value, const Place &place) { places[value] = place; }
  void forget(mlir::Value value) { places.erase(value); }
  std::optional<Place> find(Value value) const;

private:
  llvm::DenseMap<Value, Place> places;
};

/// The alias of `root` that lies as `place` says; null where that is no number of its elements from
/// the start of `root`.
Value createAlias(OpBuilder &builder, Location loc, const Place &root, const Place &place,
                  RankedTensorType type);

/// The operand whose whole storage the operator copies, to change the copy: its result lies in it
/// as the operand does in its own. Null for any other operator.
Value copiesStorageOf(AtenOp op);

/// Puts an alias of the operand into the place of an `as_strided` of storage of the graph's own.
/// False for any other call.
bool readAsAlias(AtenOp op);

} // namespace mlir::frit
