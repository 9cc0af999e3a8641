#pragma once

#include "llvm/ADT/StringRef.h"

namespace mlir::frit {

/// The bitcode of NVIDIA's device math library as it was found when the
/// compiler was built; empty if none was found then.
llvm::StringRef getLibdevice();

} // namespace mlir::frit
