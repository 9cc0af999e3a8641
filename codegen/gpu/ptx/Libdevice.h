#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace mlir::frit {

/// The bitcode of NVIDIA's device math library that was found when the compiler was built; empty if
/// none was found.
llvm::StringRef getLibdevice();

/// Bitcode of the given functions of libdevice, which must not be empty, and of the functions they
/// call. Results are cached by the list of names, in order: extracting the bodies of 4 of 600
/// functions takes a millisecond. Thread-safe.
llvm::Expected<std::shared_ptr<const std::string>>
takeFromLibdevice(llvm::ArrayRef<llvm::StringRef> functions);

} // namespace mlir::frit
