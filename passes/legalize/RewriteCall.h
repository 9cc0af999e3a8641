#pragma once

#include "passes/legalize/AtenCall.h"

#include <map>

/// One operator call in the vocabulary, by a rule. The rule builds in front of the call; what a
/// refused rule has built is erased again, so a refusal leaves no trace but its reason.
namespace mlir::frit {

class Mutant;

struct RewriteOptions {
  /// A multiply and an add may become one.
  bool contract = true;
  /// Goes into `frit.operator` of everything that is built, if it is not 0: operators that share no
  /// kernel.
  int64_t number = 0;
  /// For GPUs alone, whose ATen kernels accumulate f32 in f32 where those of a CPU do in f64.
  bool gpu = false;
  /// What is wrong with the rule on purpose; null for nothing.
  Mutant *mutant = nullptr;
};

/// Returns why not, or nothing once all uses of the call's results are replaced.
std::string rewriteCall(AtenOp op, const SizeFacts &facts, RewriteOptions options,
                        llvm::function_ref<Values(AtenCall &)> rule);

/// How often each operator was rewritten.
using OperatorCounts = std::map<std::string, int64_t>;

/// Says so in the graph, for the report; nothing where there is nothing to say.
void writeCounts(GraphOp graph, StringRef attribute, const OperatorCounts &counts);

} // namespace mlir::frit
