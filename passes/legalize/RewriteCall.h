#pragma once

#include "ir/FritAttributes.h"
#include "passes/legalize/AtenCall.h"

#include <map>

/// Rewrites one operator call to the vocabulary by a rule. The rule builds in front of the call;
/// what a refused rule has built is erased again, so that a refusal leaves nothing but its reason.
namespace mlir::frit {

class Mutant;

struct RewriteOptions {
  /// A multiply and an add may be contracted.
  bool contract = true;
  /// If it is not 0, `frit.operator` of everything that is built: operators with different numbers
  /// share no kernel.
  int64_t number = 0;
  /// The graph runs on GPUs only, whose ATen kernels accumulate f32 in f32; those of a CPU do in
  /// f64.
  bool gpu = false;
  /// Every call gives the same bits.
  bool deterministic = false;
  /// The mistake to plant in the rule; null for none.
  Mutant *mutant = nullptr;
};

/// Returns the reason why the call was not rewritten; empty once all uses of its results are
/// replaced.
std::string rewriteCall(AtenOp op, const SizeFacts &facts, RewriteOptions options,
                        llvm::function_ref<Values(AtenCall &)> rule);

/// How often each operator was rewritten.
using OperatorCounts = std::map<std::string, int64_t>;

/// Records the counts in an attribute of the graph, for the report; no attribute if there are none.
void writeCounts(GraphOp graph, OperationAttr<DictionaryAttr> attribute,
                 const OperatorCounts &counts);

} // namespace mlir::frit
