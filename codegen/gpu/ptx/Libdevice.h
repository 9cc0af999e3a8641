#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace mlir::frit {

/// The bitcode of NVIDIA's device math library as it was found when the
/// compiler was built; empty if none was found then.
llvm::StringRef getLibdevice();

/// Bitcode of these functions of libdevice, which must not be empty, and of what they call. To find
/// out where the bodies of 4 of 600 functions are takes a millisecond, which a process spends once
/// for the same functions, in the same order. Any thread may ask.
llvm::Expected<std::shared_ptr<const std::string>>
takeFromLibdevice(llvm::ArrayRef<llvm::StringRef> functions);

} // namespace mlir::frit
