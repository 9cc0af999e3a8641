// Errors of a compilation: the diagnostics of all stages become lines of the result, and the
// failing pass or kernel decides whether another try, with parts of frit switched off, may succeed.

#include "compiler/Compilation.h"

#include "ir/SourceLines.h"
#include "mlir/Pass/PassManager.h"

namespace frit {
using namespace mlir;

namespace {
/// Records the kind of pass that failed.
struct FailureWatch : PassInstrumentation {
  /// The pass that should fail, for tests.
  std::string failAt;
  /// A stage broke its contract, which is a bug in frit.
  bool ownContract = false;
  /// The failing pass runs before operators become kernels or calls, so leaving more of them to
  /// ATen does not help.
  bool inFront = false;
  /// The caller's options do not fit the graph.
  bool badRequest = false;
  explicit FailureWatch(llvm::StringRef failAt) : failAt(failAt) {}
  void runBeforePass(Pass *pass, Operation *op) override {
    if (!failAt.empty() && pass->getArgument() == failAt) {
      op->emitError("pass ") << failAt << " fails, as was asked";
    }
  }
  void runAfterPassFailed(Pass *pass, Operation *) override {
    ownContract |= pass->getArgument().starts_with("frit-verify-outlined");
    badRequest |= pass->getArgument() == "frit-assign-buckets";
    inFront |=
        llvm::is_contained({"frit-verify-imported-form", "frit-inline-calls", "frit-functionalize"},
                           pass->getArgument());
  }
};
} // namespace

Compilation::Next Compilation::runPasses(ModuleOp form,
                                         llvm::function_ref<void(OpPassManager &)> build) {
  bool passed = false;
  time("passes", [&] {
    PassManager passes(&context);
    // verify-imported-form and verify-outlined-form check what later stages rely on; frit-opt, and
    // therefore every test of a pass, verifies after each pass.
    passes.enableVerifier(false);
    llvm::StringRef failAt = options.failAt;
    bool isAsked = failAt.consume_front("pass:") && relaxation.keptAll.empty();
    auto watch = std::make_unique<FailureWatch>(isAsked ? failAt : "");
    const FailureWatch &watched = *watch;
    passes.addInstrumentation(std::move(watch));
    if (dump.isOn()) {
      passes.addInstrumentation(dump.ofPasses());
    }
    build(passes);
    // A pass that emits an error has failed, whatever it returns.
    passed = succeeded(passes.run(form)) && result.diagnostics.empty();
    attempt.isRead &= !watched.inFront && !watched.badRequest;
    if (!passed && watched.ownContract) {
      setKind(DiagnosticKind::Internal);
    }
  });
  return passed ? Next::Stage : Next::End;
}

LogicalResult Compilation::take(mlir::Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error) {
    return success();
  }
  Diagnostic one;
  one.kind = DiagnosticKind::Unsupported;
  one.message = diagnostic.str();
  llvm::SmallVector<std::string> lines;
  mlir::frit::collectSourceLines(diagnostic.getLocation(), lines);
  one.source = lines.empty() ? "" : lines.front();
  for (mlir::Diagnostic &note : diagnostic.getNotes()) {
    one.notes.push_back(note.str());
  }
  if (relaxation.marks) {
    std::set<unsigned> places;
    collectPlaces(diagnostic.getLocation(), places);
    for (unsigned place : places) {
      attempt.blamed.emplace(place, one.message);
    }
  }
  result.diagnostics.push_back(std::move(one));
  return success();
}

void Compilation::report(DiagnosticKind kind, std::string message) {
  result.diagnostics.push_back({kind, std::move(message), "", {}});
}

void Compilation::setKind(DiagnosticKind kind) {
  for (Diagnostic &one : result.diagnostics) {
    one.kind = kind;
  }
}

void Compilation::blameKernels(ModuleOp form) {
  KeptOperators named = std::move(attempt.blamed);
  attempt.blamed.clear();
  for (const std::set<unsigned> &places : placesOfRefusedKernels(form)) {
    auto known = llvm::find_if(places, [&](unsigned place) { return named.count(place); });
    const std::string &why =
        known == places.end() ? result.diagnostics.front().message : named[*known];
    for (unsigned place : places) {
      attempt.blamed.emplace(place, "codegen failed: " + why);
    }
  }
}

} // namespace frit
