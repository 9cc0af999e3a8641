#pragma once

#include "mlir/IR/Location.h"

#include "llvm/ADT/SmallVector.h"

#include <string>

/// Locations back to the user's lines. The importer names a location after the
/// line ("file.py:12 in fn: code"); IR read from a file has positions instead.
namespace mlir::frit {

/// Collects all lines that a location names, each once: fused locations name several.
void collectSourceLines(Location location, llvm::SmallVectorImpl<std::string> &lines);

/// How messages name an operation: "aten.mm.default (model.py:7 in f: a @ b)". A region is named
/// after its first operation that is neither a view nor a constant; without a line there is only
/// the name.
std::string originOf(Operation *op);

} // namespace mlir::frit
