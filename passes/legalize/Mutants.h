#pragma once

#include "ir/FritOps.h"

#include <map>

/// Mutation testing (DeMillo, Lipton and Sayward, 1978): a legalisation rule with one small
/// mistake, to check that a test fails. A mutant is named `kind/where/number`: the number-th place
/// of its kind in the operations that the rule builds, in order. Kinds:
///
///   operands    two operands change places
///   operation   another operation of the same types
///   off-by-one  a constant, a bound, an index or a comparison's edge
///   argument    a literal argument of the operator is not the one that was given
///   identity    the fill outside of a padded operand, or the kind of a reduction
///   nan         a NaN is treated as a number would be, or the other way round
///
/// Only `frit-legalize-aten` with its option `mutant` calls this; `scripts/mutants` runs all of
/// them.
namespace mlir::frit {

class Mutant {
public:
  /// `text` names one mutant, or is `list`: then nothing changes and all places are collected.
  explicit Mutant(StringRef text) : wanted(text) {}

  /// Before the rule runs: changes a literal argument. The caller puts the arguments back if the
  /// rule refuses them.
  void changeArguments(AtenOp op);
  /// After the rule ran.
  void changeResult(ArrayRef<Operation *> built);
  /// What was changed; with `list`, every place that could be.
  ArrayRef<std::string> getPlaces() const { return places; }

private:
  /// Whether the place that is visited now is the one to change.
  bool isHere(StringRef kind, StringRef where);
  void changeOperands(Operation *op);
  void changeOperation(Operation *op);
  void changeByOne(Operation *op);
  void changeIdentity(Operation *op);
  void changeNan(Operation *op);

  std::string wanted;
  std::map<std::string, unsigned> numbers;
  SmallVector<std::string> places;
};

} // namespace mlir::frit
