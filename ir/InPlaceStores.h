#pragma once

#include "ir/FritOps.h"

/// Stores of what lies in its target already.
///
/// Where a kernel or a call is given the argument to write to, the `frit.store` that follows it has
/// nothing left to do. It stays, marked, and says what the argument holds from there on: the
/// outlined graph means the same with and without.
namespace mlir::frit {

inline constexpr llvm::StringLiteral kInPlaceAttr = "frit.in_place";

inline bool isInPlace(StoreOp store) { return store->hasAttr(kInPlaceAttr); }
inline void markInPlace(StoreOp store) {
  store->setAttr(kInPlaceAttr, UnitAttr::get(store.getContext()));
}

} // namespace mlir::frit
