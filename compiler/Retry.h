// Retries after failures of frit itself: a compilation that fails in a pass, a generator or the
// plan writer is repeated with more and more of frit switched off, until all operators are calls of
// ATen. `Attempt` is the result of one try; `compileWithRetries` makes the tries.

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

/// Operators by their number in an imported module, with the reason why each stays a call of ATen.
using KeptOperators = std::map<unsigned, std::string>;

/// What is switched off in a try.
struct Relaxation {
  /// Marks operators with their number, so that failures can name them; costs a little in every
  /// pass.
  bool marks = false;
  KeptOperators kept;
  /// If not empty, the reason for leaving every operator to ATen.
  std::string keptAll;
  /// For the report: what was switched off for each further try, and why.
  std::vector<std::pair<std::string, std::string>> history;
};

struct Attempt {
  CompileResult result;
  /// The program was read and functionalised, so parts of the failing stage can be switched off.
  bool isRead = false;
  /// The plan was written, and the validator refused it (PlanValidator.h).
  bool isPlanRefused = false;
  /// The operators that diagnostics refer to; empty without marks.
  KeptOperators blamed;
};

/// Compiles, and after a failure compiles again: if the plan was refused, with a separate storage
/// for every value; then with the operators of the failing kernels left to ATen; then also without
/// fusion, padding and layouts; last with every operator left to ATen. There is no retry for errors
/// that the caller requested (`fallback`, `requireStandalone`), for malformed input, and under
/// `CompileOptions::strict`. If the last try fails, the result has the diagnostics of the first.
CompileResult
compileWithRetries(const CompileOptions &options,
                   llvm::function_ref<Attempt(const CompileOptions &, const Relaxation &)> attempt);

/// Marks the operators of an imported module with their numbers, and sets the reason of those that
/// stay calls.
void relax(mlir::ModuleOp imported, const Relaxation &relaxation);

/// Adds the numbers of the operators that a location comes from.
void collectPlaces(mlir::Location location, std::set<unsigned> &places);

/// The numbers of the operators in each kernel that codegen refused (`kRefusedAttr`).
std::vector<std::set<unsigned>> placesOfRefusedKernels(mlir::ModuleOp outlined);

} // namespace frit
