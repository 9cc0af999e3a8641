#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace mlir::frit {

/// llvm::json::parse for untrusted text. Because it recurses, text that is nested deeper than 64
/// levels is an error before it is called.
llvm::Expected<llvm::json::Value> parseBoundedJson(llvm::StringRef text);

} // namespace mlir::frit
