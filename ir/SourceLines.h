#pragma once

#include "mlir/IR/Location.h"

#include "llvm/ADT/SmallVector.h"

#include <string>

/// Locations back to the user's lines. The importer names a location after the
/// line ("file.py:12 in fn: code"); IR read from a file has positions instead.
namespace mlir::frit {

/// All lines a location names, each once: fused locations name several.
void collectSourceLines(Location location, llvm::SmallVectorImpl<std::string> &lines);

/// Who an operation is to the user: "aten.mm.default (model.py:7 in f: a @ b)". A region is its
/// first operation that is no view; an operation without a line is its name alone.
std::string originOf(Operation *op);

} // namespace mlir::frit
