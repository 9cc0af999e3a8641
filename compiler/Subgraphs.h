// The graphs that control flow calls (torch.cond, while_loop, scan). They leave the module before
// any pass, and each is compiled by itself to a file inside of the artifact: the graph that calls
// them sees an operator with operands and fresh results, and fusion ends there.

#pragma once

#include "compiler/Compiler.h"
#include "compiler/Retry.h"
#include "runtime/artifact/ArtifactBuilder.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace frit {

class Subgraphs {
public:
  /// Moves the graphs that control flow calls out of `module`. The calls then name them by the
  /// SHA-256 of their texts, so that a key of the module depends on them.
  void take(mlir::ModuleOp module);

  /// Compiles each graph with the options of the graph that calls them. Returns false after
  /// an error, with the diagnostics in `result`; otherwise adds counts and calls there.
  bool compile(
      const CompileOptions &options,
      llvm::function_ref<Attempt(llvm::StringRef text, const CompileOptions &, const Relaxation &)>
          attempt,
      CompileResult &result);

  /// Adds the compiled files to the artifact, and returns a call's graph that is not among them;
  /// empty if all are there.
  std::string addTo(format::ArtifactT &artifact);

  /// Name and report (JSON, without times) of each.
  std::vector<std::pair<std::string, std::string>> reports() const;

private:
  struct One {
    std::string name, digest, text, report;
    CompileResult result;
  };
  std::vector<One> graphs;
};

} // namespace frit
