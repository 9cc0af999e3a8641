#include "compiler/Compilation.h"

#include "compiler/CanonicalKey.h"
#include "compiler/FoldWeights.h"
#include "compiler/PlanProducts.h"
#include "compiler/PlanValidator.h"
#include "import/Importer.h"
#include "mlir/Parser/Parser.h"

#include <chrono>

namespace frit {
using namespace mlir;

Compilation::Compilation(MLIRContext &context, const CompileOptions &options,
                         const Relaxation &relaxation)
    : options(options), relaxation(relaxation), context(context),
      handler(&context, [this](mlir::Diagnostic &diagnostic) { return take(diagnostic); }),
      dump(options.dumpFolder, options.name) {}

Attempt Compilation::fromJson(llvm::StringRef json, Archive *ofProgram, llvm::StringRef file) {
  archive = ofProgram;
  time("import", [&] {
    mlir::frit::ImportOptions importing;
    importing.graphName = options.name;
    importing.fileName = file.str();
    mlir::frit::exported::Error error;
    module = mlir::frit::importExportedProgram(&context, json, importing, &error);
    if (!module && !result.diagnostics.empty()) {
      bool unsupported = error.kind == mlir::frit::exported::ErrorKind::Unsupported;
      result.diagnostics.front().kind =
          unsupported ? DiagnosticKind::Unsupported : DiagnosticKind::BadInput;
    }
  });
  attempt.result = module && dumpCaptured(json) ? run() : finish();
  return std::move(attempt);
}

Attempt Compilation::fromIr(llvm::StringRef text) {
  time("parse", [&] { module = parseSourceString<ModuleOp>(text, &context); });
  if (!module) {
    setKind(DiagnosticKind::BadInput);
  }
  attempt.result = module ? run() : finish();
  return std::move(attempt);
}

CompileResult Compilation::run() {
  using Stage = Next (Compilation::*)();
  constexpr Stage kStages[] = {
      &Compilation::bindArchive,    &Compilation::keepImported,   &Compilation::takeSubgraphs,
      &Compilation::relaxOperators, &Compilation::canonicalize,   &Compilation::searchCache,
      &Compilation::fuse,           &Compilation::compileTargets, &Compilation::compileSubgraphs,
      &Compilation::writePlans,     &Compilation::validatePlans,  &Compilation::packFile,
  };
  for (Stage stage : kStages) {
    if ((this->*stage)() == Next::End) {
      break;
    }
  }
  return finish();
}

Compilation::Next Compilation::bindArchive() {
  if (!archive) {
    return Next::Stage;
  }
  if (failed(bindWeights(*module, *archive, options.weights == "none", weights))) {
    setKind(DiagnosticKind::BadInput);
    return Next::End;
  }
  archive->forgetStorages();
  return Next::Stage;
}

/// Stores the imported form if the caller requested it.
Compilation::Next Compilation::keepImported() {
  if (options.importedIr) {
    llvm::raw_string_ostream stream(*options.importedIr);
    module->print(stream);
  }
  if (!dumpStage(*module, "imported")) {
    return Next::End;
  }
  return options.stopAfter == "imported" ? print(*module) : Next::Stage;
}

Compilation::Next Compilation::takeSubgraphs() {
  subgraphs.take(*module);
  return Next::Stage;
}

/// Leaves to ATen the operators at which earlier tries failed.
Compilation::Next Compilation::relaxOperators() {
  relax(*module, relaxation);
  attempt.isRead = true;
  if (options.failAt == "always") {
    module->emitError("compilation fails, as was asked");
    return Next::End;
  }
  isOutlined = !module->getOps<mlir::frit::KernelOp>().empty();
  return Next::Stage;
}

Compilation::Next Compilation::canonicalize() {
  if (isOutlined) {
    return Next::Stage;
  }
  Next next = runPasses(
      *module, [&](OpPassManager &passes) { buildCanonicalPipeline(passes, fusionOptions()); });
  if (next == Next::Stage && failed(checkWrittenWeights(*module, weights))) {
    setKind(DiagnosticKind::BadInput);
    return Next::End;
  }
  return dumpStage(*module, "legalized") ? next : Next::End;
}

/// Asks the caller whether an equivalent graph has been compiled.
Compilation::Next Compilation::searchCache() {
  if (isOutlined || !options.isCached) {
    return Next::Stage;
  }
  CanonicalForm form;
  time("key", [&] { form = canonicalForm(*module, options.buckets); });
  result.isCached = options.isCached(form);
  return result.isCached ? Next::End : Next::Stage;
}

Compilation::Next Compilation::fuse() {
  if (isOutlined) {
    return Next::Stage;
  }
  Next next = runPasses(*module,
                        [&](OpPassManager &passes) { buildCallPipeline(passes, fusionOptions()); });
  if (next == Next::Stage && options.fusion && !weights.entries.empty()) {
    for (auto graph : module->getOps<mlir::frit::GraphOp>()) {
      foldWeights(graph, weights, {.onlyExact = options.numerics != "default"});
    }
  }
  if (next == Next::Stage) {
    next = runPasses(*module,
                     [&](OpPassManager &passes) { buildFusionPipeline(passes, fusionOptions()); });
  }
  return dumpStage(*module, "fused") ? next : Next::End;
}

Compilation::Next Compilation::compileTargets() {
  targets = targetsOf(options);
  for (const PlanTarget &target : targets) {
    TargetKind kind = kindOf(target);
    if (!outlined.count(kind) && outline(kind) == Next::End) {
      return Next::End;
    }
    if (generate(target) == Next::End) {
      return Next::End;
    }
  }
  return Next::Stage;
}

/// Comes late, so that a graph from the cache or at which a stage fails costs no other.
Compilation::Next Compilation::compileSubgraphs() {
  bool good = true;
  time("subgraphs", [&] {
    good = subgraphs.compile(
        options,
        [&](llvm::StringRef text, const CompileOptions &asked, const Relaxation &relaxed) {
          return Compilation(context, asked, relaxed).fromIr(text);
        },
        result);
  });
  return good ? Next::Stage : Next::End;
}

Compilation::Next Compilation::writePlans() {
  if (options.failAt == "plan" && relaxation.keptAll.empty()) {
    code.front().module->emitError("the plan fails, as was asked");
    return Next::End;
  }
  time("artifact", [&] { artifact = writeArtifact(std::move(code), options.firstKept, graphs); });
  if (artifact && options.products && options.numerics == "default") {
    markProducts(*artifact);
  }
  if (std::string missing = artifact ? subgraphs.addTo(*artifact) : ""; !missing.empty()) {
    report(DiagnosticKind::BadInput, "graph '" + options.name + "' calls the graph '" + missing +
                                         "', which its text does not have; compile the imported "
                                         "form, which has all graphs");
    return Next::End;
  }
  return artifact ? Next::Stage : Next::End;
}

Compilation::Next Compilation::validatePlans() {
  time("validation", [&] {
    for (auto [plan, graph] : llvm::zip(artifact->plans, graphs)) {
      if (std::optional<std::string> wrong = validatePlan(graph, *plan, options.firstKept)) {
        attempt.isPlanRefused = true;
        report(DiagnosticKind::Internal,
               "the plan of graph '" + options.name + "' is wrong: " + *wrong);
        return;
      }
    }
  });
  return attempt.isPlanRefused ? Next::End : Next::Stage;
}

Compilation::Next Compilation::packFile() {
  time("artifact", [&] {
    artifact->weights = std::move(weights.entries);
    artifact->report = writeReport(*artifact, graphs, relaxation.history, subgraphs.reports());
    // The report in a file is the same for every run of the compiler, so it has no times.
    result.report = addPhases(artifact->report, result.phases);
    bool apart = options.weights == "external" && !weights.bytes.empty();
    if (apart) {
      Digest digest =
          sha256({reinterpret_cast<const uint8_t *>(weights.bytes.data()), weights.bytes.size()});
      artifact->weights_file = std::make_unique<format::WeightsFileT>();
      artifact->weights_file->bytes = weights.bytes.size();
      artifact->weights_file->sha256.assign(digest.begin(), digest.end());
      result.weightsName = weightsFileName(digest);
    }
    result.artifact = packArtifact(*artifact, apart ? std::string_view() : weights.bytes);
    if (apart) {
      result.weights = std::move(weights.bytes);
    }
    dumpArtifact(*outlined[kindOf(targets.front())]);
  });
  return Next::End;
}

/// Whether kernels generate their random numbers. A file for several targets has the same operator
/// calls in all plans, and on CPUs the numbers must be eager's.
static bool makesRandomNumbers(const CompileOptions &options) {
  bool onlyGpus = llvm::all_of(options.targets,
                               [](llvm::StringRef target) { return target.starts_with("sm_"); });
  return options.random == "philox" || (options.random == "auto" && onlyGpus);
}

/// Whether the runtime's kernel may run convolutions. It adds in another order than ATen's and runs
/// channels-last, so values that a backward reads come from ATen.
static bool runsOwnConvolutions(const CompileOptions &options) {
  bool onlyCpus = llvm::all_of(options.targets,
                               [](llvm::StringRef target) { return target.starts_with("cpu"); });
  return options.convolutions && options.relay && options.fusion && onlyCpus &&
         options.numerics == "default" && options.firstKept < 0;
}

FusionOptions Compilation::fusionOptions() const {
  return {.eagerNumerics = options.numerics != "default",
          .deterministic = options.deterministic,
          // Which operators share a kernel depends on all sizes, and the order of sums on the
          // domain that they have in common.
          .merge = options.fusion && options.numerics != "batch-invariant",
          .philox = makesRandomNumbers(options),
          .padding = options.padding,
          .gpu = llvm::none_of(options.targets,
                               [](llvm::StringRef target) { return target.starts_with("cpu"); }),
          .arch = oldestArchitecture(options),
          .poison = options.poison,
          .mutant = options.mutant,
          .firstKept = options.firstKept,
          .buckets = options.buckets,
          .bucketPolicy = options.bucketPolicy,
          .convolutions = runsOwnConvolutions(options)};
}

Compilation::Next Compilation::print(ModuleOp ir) {
  llvm::raw_string_ostream stream(result.ir);
  ir->print(stream);
  return Next::End;
}

void Compilation::time(const char *phase, llvm::function_ref<void()> body) {
  if (options.crashIn == phase) {
    __builtin_trap();
  }
  auto start = std::chrono::steady_clock::now();
  body();
  std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  for (auto &[name, milliseconds] : result.phases) {
    if (name == phase) {
      milliseconds += spent.count();
      return;
    }
  }
  result.phases.emplace_back(phase, spent.count());
}

CompileResult Compilation::finish() {
  if (result.artifact.empty() && result.ir.empty() && result.diagnostics.empty() &&
      !result.isCached) {
    report(DiagnosticKind::Internal, "compilation stopped without saying why");
  }
  return std::move(result);
}

} // namespace frit
