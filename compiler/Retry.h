// What frit itself fails at becomes calls of ATen: a compilation that a pass, a generator or the
// writer of the plan refuses is tried again with less of frit in it. `Attempt` is one try; the
// ladder of tries is `compileWithRetries`.

#pragma once

#include "compiler/Compiler.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace frit {

/// Operators by their place among those of an imported module, each with why it stays a call of
/// ATen.
using KeptOperators = std::map<unsigned, std::string>;

/// What a try does without.
struct Relaxation {
  /// Operators know their place, so that what fails can name them; it costs a little in every pass.
  bool marks = false;
  KeptOperators kept;
  /// Every operator, for this reason.
  std::string keptAll;
  /// Why there is another try, one text each, for the report: what was given up, and because of
  /// what.
  std::vector<std::pair<std::string, std::string>> history;
};

struct Attempt {
  CompileResult result;
  /// The program was read and made functional: what failed, failed in a stage that can do with
  /// less.
  bool isRead = false;
  /// The plan was written, and the validator found it wrong (PlanValidator.h).
  bool isPlanRefused = false;
  /// The operators that diagnostics speak of; empty without marks.
  KeptOperators blamed;
};

/// Compiles, and where that fails compiles again: where the plan was refused, with storage of its
/// own for every value; then with the operators of the failing kernels left to ATen, then also
/// without fusion, padding and layouts, last with every operator left to ATen. What the caller
/// asked to be refused (`fallback`, `requireStandalone`), malformed input, and every failure under
/// `CompileOptions::strict` is an error at once. If the last try fails, the result has the
/// diagnostics of the first.
CompileResult
compileWithRetries(const CompileOptions &options,
                   llvm::function_ref<Attempt(const CompileOptions &, const Relaxation &)> attempt);

/// Gives the operators of an imported module their places, and their reasons to those that stay
/// calls.
void relax(mlir::ModuleOp imported, const Relaxation &relaxation);

/// Adds the places of the operators that a location comes from.
void collectPlaces(mlir::Location location, std::set<unsigned> &places);

/// The places of the operators in kernels that codegen has refused (`kRefusedAttr`), by kernel.
std::vector<std::set<unsigned>> placesOfRefusedKernels(mlir::ModuleOp outlined);

} // namespace frit
