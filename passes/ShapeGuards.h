#pragma once

#include "ir/FritOps.h"
#include "ir/SizeExpr.h"

#include <optional>
#include <string>

/// Assumptions as formulas: when they hold, what decides them before any call, which one
/// makes another superfluous, and how a person reads them.
namespace mlir::frit {

/// Whether an assumption over sizes holds under an assignment; nullopt for one over addresses
/// or strides, and where a size has no value.
std::optional<bool> holds(AssumptionAttr assumption,
                          llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> lookup);

/// "s1 must equal s0"; tensors are named by `nameOf`.
std::string describe(AssumptionAttr assumption, llvm::function_ref<std::string(int64_t)> nameOf);

/// The same assumption with its sizes replaced.
AssumptionAttr withSizes(AssumptionAttr assumption, llvm::function_ref<SizeExpr(SizeExpr)> replace);
/// The same from another origin.
AssumptionAttr withOrigin(AssumptionAttr assumption, llvm::StringRef origin);

/// A graph as guards see it: what its symbol table says, and the equalities that were
/// already found to be needed.
class GuardFacts {
public:
  explicit GuardFacts(GraphOp graph);

  /// The plainest form: sizes after what ranges decide, and `divisor` for an equality of a
  /// size with a multiple of its quotient.
  AssumptionAttr simplify(AssumptionAttr assumption) const;
  /// True or false where the symbol table alone decides.
  std::optional<bool> decide(AssumptionAttr assumption) const;
  /// Whether `other` holds only where `assumption` does.
  bool implies(AssumptionAttr other, AssumptionAttr assumption) const;
  /// From here on one size of an equality stands for the other.
  void learn(AssumptionAttr assumption);
  bool isUnbacked(AssumptionAttr assumption) const;

private:
  SizeExpr reduced(SizeExpr size) const;
  /// Symbols as multiples of their divisors.
  SizeExpr inMultiples(SizeExpr size) const;

  SizeFacts facts;
  llvm::StringMap<SizeExpr> equal, multiples;
  llvm::StringMap<bool> unbacked;
};

} // namespace mlir::frit
