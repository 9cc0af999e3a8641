#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::frit {

/// Precedes each kernel in a joined text. Kernels do not depend on each other, only on the text
/// before the first mark. The runtime searches for it (runtime/artifact/GpuCode.h), and the
/// compiler room checks that both constants are equal.
inline constexpr llvm::StringLiteral kPtxKernelMark = "\n// frit: another kernel\n";

/// Joins the texts of PTX modules for one architecture to one module: the highest of their
/// versions, each declaration once, then the definitions in order, each after a mark. Returns an
/// empty string, or the reason why they cannot be joined.
std::string joinPtx(llvm::ArrayRef<llvm::StringRef> texts, std::string &joined);

} // namespace mlir::frit
