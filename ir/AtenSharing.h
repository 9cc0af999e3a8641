#pragma once

#include "ir/FritOps.h"

#include <optional>

/// What an operator call of ATen does to the memory of its operands: by the alias annotations of
/// its schema, by its arguments and the traced layouts, and by what is known of operators whose
/// schemas do not say it. Importer, passes and the check of plans all ask here.
namespace mlir::frit {

/// The layouts with which the call was traced; null if they are not known.
LayoutAttr getTracedOperandLayout(AtenOp op, unsigned operand);
LayoutAttr getTracedResultLayout(AtenOp op, unsigned result);

struct Access {
  SmallVector<unsigned> writes;  // operand numbers
  bool writesList = false;       // from a tensor list, as of `_foreach_add_`
  std::optional<unsigned> views; // the operand whose storage the results may share
};

/// Which operands the call writes, and which one its results are views of, if getSharing says so.
/// Nothing for operators without a schema.
Access getAccess(AtenOp op);

/// Whether the results share the storage of what they are views of.
enum class Sharing { Always, Never, Unknown };

/// Whether the result is a view of operand `viewed` or a copy of it: some operators decide this by
/// layout, dtype or a flag.
Sharing getSharing(AtenOp op, unsigned viewed);

/// Whether results may be any of the operands, or views of them, although the schema does not say
/// so.
bool mayReturnOperands(AtenOp op);

} // namespace mlir::frit
