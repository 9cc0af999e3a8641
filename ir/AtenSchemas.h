#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

/// What torch's schemas say about operators, without torch. The table is
/// AtenSchemas.def, written by scripts/generate-aten-schemas.py.
namespace mlir::frit {

/// What a call does besides computing its results.
struct AtenEffects {
  /// Draws from the random number generator.
  bool random = false;
  /// Must stay in order for another reason: collectives, assertions, hidden
  /// mutation. Unknown operators are ordered.
  bool ordered = false;
  /// Writes to an argument (`Tensor(a!)`).
  bool mutates = false;
  /// Returns a view of an argument (`Tensor(a)`).
  bool view = false;

  bool isPure() const { return !random && !ordered && !mutates; }
};

struct AtenArgument {
  llvm::StringRef name;
  /// Without the alias annotation: `Tensor`, `Tensor?[]`, `SymInt[2]`, ...
  llvm::StringRef type;
  /// `a` of `Tensor(a!)`; empty without annotation.
  llvm::StringRef alias;
  std::optional<llvm::StringRef> defaultValue;
  bool isWrite = false;
  bool keywordOnly = false;

  bool isList() const { return type.contains('['); }
  bool isOptional() const { return type.ends_with("?"); }
  /// The type of one element, without list and optional marks.
  llvm::StringRef getElementType() const {
    return type.take_until([](char c) { return c == '[' || c == '?'; });
  }
};

/// One operator. All text points into the table.
struct AtenSchema {
  llvm::SmallVector<AtenArgument, 8> arguments;
  /// Returns have types and aliases only.
  llvm::SmallVector<AtenArgument, 2> returns;
  AtenEffects effects;

  /// The schema of `aten.add.Tensor`; nullopt if the table does not have it.
  static std::optional<AtenSchema> lookup(llvm::StringRef name);
  /// The effects alone: no parsing, a few string comparisons.
  static AtenEffects lookupEffects(llvm::StringRef name);
};

} // namespace mlir::frit
