#pragma once

#include "ir/FritOps.h"
#include "ir/SizeExpr.h"

#include <optional>
#include <string>

/// Queries of assumptions: whether one holds, whether it is decided before any call, whether
/// another one implies it, and its text for messages.
namespace mlir::frit {

/// Whether an assumption over sizes holds under an assignment; nullopt for one over addresses
/// or strides, and where a size has no value.
std::optional<bool> holds(AssumptionAttr assumption,
                          llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> lookup);

/// The assumption as text, such as "s1 must equal s0"; tensors are named by `nameOf`.
std::string describe(AssumptionAttr assumption, llvm::function_ref<std::string(int64_t)> nameOf);

/// The same assumption with its sizes replaced.
AssumptionAttr withSizes(AssumptionAttr assumption, llvm::function_ref<SizeExpr(SizeExpr)> replace);
/// The same assumption with another origin.
AssumptionAttr withOrigin(AssumptionAttr assumption, llvm::StringRef origin);

/// What guards may use about a graph: its symbol table, and the equalities that earlier guards
/// establish.
class GuardFacts {
public:
  explicit GuardFacts(GraphOp graph);

  /// The simplest form: sizes simplified by their ranges; an equality between a size and a multiple
  /// of its quotient becomes a `divisor` assumption.
  AssumptionAttr simplify(AssumptionAttr assumption) const;
  /// True or false where the symbol table alone decides.
  std::optional<bool> decide(AssumptionAttr assumption) const;
  /// Whether `assumption` follows from `other`.
  bool implies(AssumptionAttr other, AssumptionAttr assumption) const;
  /// Uses an equality from now on: one of its sizes replaces the other.
  void learn(AssumptionAttr assumption);
  bool isUnbacked(AssumptionAttr assumption) const;

private:
  SizeExpr reduced(SizeExpr size) const;
  /// Replaces symbols by multiples of their divisors.
  SizeExpr inMultiples(SizeExpr size) const;

  SizeFacts facts;
  llvm::StringMap<SizeExpr> equal, multiples;
  llvm::StringMap<bool> unbacked;
};

} // namespace mlir::frit
