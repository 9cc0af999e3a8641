#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::frit {

/// Stands in front of each of several kernels; they need nothing of each other, only what stands in
/// front of the first. The runtime looks for it (runtime/artifact/GpuCode.h); the compiler room
/// compares the two.
inline constexpr llvm::StringLiteral kPtxKernelMark = "\n// frit: another kernel\n";

/// The texts of several PTX modules for one architecture as one module: the highest of their
/// versions, what they declare once, then what each defines, in order and behind a mark. Returns an
/// empty string, or why they cannot stand in one module.
std::string joinPtx(llvm::ArrayRef<llvm::StringRef> texts, std::string &joined);

} // namespace mlir::frit
