#pragma once

#include "ir/FritOps.h"

/// Stores whose value lies in its target already.
///
/// A kernel or a call may write directly into an argument. The `frit.store` behind it then has
/// nothing left to do, but it stays, marked, to say what the argument holds from there on. The
/// outlined graph means the same with and without the mark.
namespace mlir::frit {

inline constexpr llvm::StringLiteral kInPlaceAttr = "frit.in_place";

inline bool isInPlace(StoreOp store) { return store->hasAttr(kInPlaceAttr); }
inline void markInPlace(StoreOp store) {
  store->setAttr(kInPlaceAttr, UnitAttr::get(store.getContext()));
}

} // namespace mlir::frit
