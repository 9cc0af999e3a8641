// One try at compiling one module. The stages and their order are in Compilation.cpp, the stages
// that depend on a target in CompilationTargets.cpp, the handling of errors in
// CompilationErrors.cpp, and dumps of stages in CompilationDumps.cpp. The object has the state that
// the stages share.

#pragma once

#include "compiler/Archive.h"
#include "compiler/ArtifactWriter.h"
#include "compiler/Pipeline.h"
#include "compiler/Retry.h"
#include "compiler/StageDump.h"
#include "compiler/Subgraphs.h"
#include "compiler/TargetCode.h"
#include "compiler/Weights.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>

namespace frit {

class Compilation {
public:
  Compilation(mlir::MLIRContext &context, const CompileOptions &options,
              const Relaxation &relaxation);

  /// Compiles the JSON of a torch.export program. `archive` has its weights; null if the caller
  /// passes them. `file` is for error messages.
  Attempt fromJson(llvm::StringRef json, Archive *archive, llvm::StringRef file);
  /// Compiles IR in the imported or the outlined form.
  Attempt fromIr(llvm::StringRef text);

private:
  /// What follows a stage: the next one, or the end, if the result is complete or an error was
  /// reported.
  enum class Next { Stage, End };

  /// Runs all stages on `module`.
  CompileResult run();

  // The stages in their order.
  Next bindArchive();
  Next keepImported();
  Next takeSubgraphs();
  Next relaxOperators();
  Next canonicalize();
  Next searchCache();
  Next compileSubgraphs();
  Next fuse();
  Next compileTargets();
  Next writePlans();
  Next validatePlans();
  Next packFile();

  // CompilationTargets.cpp: the parts of compileTargets.
  Next outline(TargetKind kind);
  Next checkCalls(mlir::ModuleOp form);
  Next generate(const PlanTarget &target);
  void addCubins(TargetCode &target);
  LayoutOptions layoutOptions() const;
  void countCalls(mlir::ModuleOp form);
  void failKernels(mlir::ModuleOp form);

  // CompilationErrors.cpp.
  /// Adds an error to the result, as the context's diagnostic handler.
  mlir::LogicalResult take(mlir::Diagnostic &diagnostic);
  void report(DiagnosticKind kind, std::string message);
  /// Sets the kind of all errors so far.
  void setKind(DiagnosticKind kind);
  /// Blames the operators of kernels at which codegen failed, so that the next try leaves them to
  /// ATen.
  void blameKernels(mlir::ModuleOp form);
  /// Runs the passes that `build` adds.
  Next runPasses(mlir::ModuleOp form, llvm::function_ref<void(mlir::OpPassManager &)> build);

  FusionOptions fusionOptions() const;
  /// Returns the IR of a module as the result.
  Next print(mlir::ModuleOp module);
  // CompilationDumps.cpp: files for the option dumpFolder. All return false after an error.
  bool dumpCaptured(llvm::StringRef json);
  bool dumpStage(mlir::ModuleOp module, const char *name);
  bool dumpKernelPrograms(mlir::ModuleOp module);
  bool dumpCode(const TargetCode &code);
  /// The artifact with its plans and report as text.
  void dumpArtifact(mlir::ModuleOp module);
  /// Measures a phase; the times of several targets are added up.
  void time(const char *phase, llvm::function_ref<void()> body);
  CompileResult finish();

  const CompileOptions &options;
  const Relaxation &relaxation;
  mlir::MLIRContext &context;
  Attempt attempt;
  CompileResult result;
  mlir::ScopedDiagnosticHandler handler;
  StageDump dump;

  /// Null when compiling without an archive.
  Archive *archive = nullptr;
  Weights weights;
  /// The module until it is outlined for the last kind of target.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The graphs that control flow calls.
  Subgraphs subgraphs;
  /// The input has kernels, so it is in the outlined form already.
  bool isOutlined = false;
  std::vector<PlanTarget> targets;
  std::map<TargetKind, mlir::OwningOpRef<mlir::ModuleOp>> outlined;
  std::vector<TargetCode> code;
  std::unique_ptr<format::ArtifactT> artifact;
  /// The graph of each plan of the artifact.
  std::vector<mlir::frit::GraphOp> graphs;
};

/// CPUs and GPUs have different schedules; the emulation runs the kernels of a GPU.
TargetKind kindOf(const PlanTarget &target);

} // namespace frit
