#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::frit {

/// The texts of several PTX modules for one architecture as one module: the highest of their versions, what they declare once, then
/// what they define, in order. Returns an empty string, or why they cannot stand in one module.
std::string joinPtx(llvm::ArrayRef<llvm::StringRef> texts, std::string &joined);

} // namespace mlir::frit
