// Compiles from text to artifact, phase by phase. The diagnostics of all phases are collected in
// the result; nothing is printed.

#include "compiler/Compiler.h"

#include "compiler/Archive.h"
#include "compiler/ArtifactWriter.h"
#include "compiler/CanonicalKey.h"
#include "compiler/Pipeline.h"
#include "compiler/PlanText.h"
#include "compiler/Registration.h"
#include "compiler/Retry.h"
#include "compiler/StageDump.h"
#include "compiler/TargetCode.h"
#include "compiler/Weights.h"
#include "import/Importer.h"
#include "ir/SourceLines.h"

#include "compiler/PlanValidator.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <chrono>
#include <map>
#include <memory>

namespace frit {
using namespace mlir;

/// The number of compiles after which a context is replaced, because it keeps every attribute it
/// ever made.
static constexpr unsigned kCompilesPerContext = 256;

static MLIRContext &threadContext() {
  thread_local std::unique_ptr<MLIRContext> context;
  thread_local unsigned compiles = 0;
  if (!context || ++compiles == kCompilesPerContext) {
    DialectRegistry registry;
    registerDialects(registry);
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    // An error is a line for the user, so the IR is not printed with it.
    context->printOpOnDiagnostic(false);
    compiles = 0;
  }
  return *context;
}

/// Whether kernels generate their random numbers. A file for several targets has the same operator
/// calls in all plans, and on CPUs the numbers must be eager's.
static bool makesRandomNumbers(const CompileOptions &options) {
  bool onlyGpus = llvm::all_of(options.targets,
                               [](llvm::StringRef target) { return target.starts_with("sm_"); });
  return options.random == "philox" || (options.random == "auto" && onlyGpus);
}

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

class Compilation {
public:
  Compilation(const CompileOptions &options, const Relaxation &relaxation)
      : options(options), relaxation(relaxation), context(threadContext()),
        handler(&context, [this](mlir::Diagnostic &diagnostic) { return take(diagnostic); }),
        dump(options.dumpFolder, options.name) {}

  Attempt fromJson(llvm::StringRef json, Archive *archive, llvm::StringRef file) {
    OwningOpRef<ModuleOp> module;
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
    bool isReady =
        module && (!dump.isOn() || succeeded(dump.write(*module, "captured", "json", json)));
    attempt.result = isReady ? run(std::move(module), archive) : finish();
    return std::move(attempt);
  }

  CompileResult fromIr(llvm::StringRef text) {
    OwningOpRef<ModuleOp> module;
    time("parse", [&] { module = parseSourceString<ModuleOp>(text, &context); });
    if (!module) {
      blame(DiagnosticKind::BadInput);
    }
    return module ? run(std::move(module), nullptr) : finish();
  }

private:
  LogicalResult take(mlir::Diagnostic &diagnostic) {
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

  /// Measures a phase; the times of several targets are added up.
  template <typename F> void time(const char *phase, F &&body) {
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

  /// Sets the kind of all diagnostics so far.
  void blame(DiagnosticKind kind) {
    for (Diagnostic &one : result.diagnostics) {
      one.kind = kind;
    }
  }

  /// Marks the kernels that should fail (option `failAt`).
  void failKernels(ModuleOp module) {
    if (llvm::StringRef text = options.failAt; text.consume_front("kernel:")) {
      for (auto kernel : module.getOps<mlir::frit::KernelOp>()) {
        if (kernel.getSymName().contains(text)) {
          kernel->setAttr(mlir::frit::kRefusedAttr, UnitAttr::get(&context));
        }
      }
    }
  }

  /// Blames the operators of kernels that codegen failed at, so that the next try leaves them to
  /// ATen.
  void blameKernels(ModuleOp module) {
    KeptOperators named = std::move(attempt.blamed);
    attempt.blamed.clear();
    for (const std::set<unsigned> &places : placesOfRefusedKernels(module)) {
      auto known = llvm::find_if(places, [&](unsigned place) { return named.count(place); });
      const std::string &why =
          known == places.end() ? result.diagnostics.front().message : named[*known];
      for (unsigned place : places) {
        attempt.blamed.emplace(place, "codegen failed: " + why);
      }
    }
  }

  void countCalls(ModuleOp module) {
    module.walk([&](mlir::frit::AtenOp call) {
      std::string name =
          (call.getOpName() + (call.getReason() ? " (" + *call.getReason() + ")" : "")).str();
      auto known = llvm::find_if(result.calls, [&](const auto &one) { return one.first == name; });
      if (known == result.calls.end()) {
        result.calls.emplace_back(std::move(name), 1);
      } else {
        ++known->second;
      }
    });
  }

  void refuseCalls(ModuleOp module) {
    module.walk([&](mlir::frit::AtenOp call) {
      call.emitError() << "'" << call.getOpName()
                       << "' is left to ATen: " << call.getReason().value_or("it has no kernel")
                       << "; allow it with fallback='aten'";
    });
  }

  bool dumpStage(ModuleOp module, const char *name) {
    return !dump.isOn() || succeeded(dump.write(module, name));
  }

  bool dumpKernelPrograms(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    return !dump.isOn() || (succeeded(mlir::frit::printKernelPrograms(module, stream)) &&
                            succeeded(dump.write(module, "kernel-programs", "txt", text)));
  }

  bool dumpCode(const TargetCode &code) {
    for (const auto &[name, text] : code.llvmIr) {
      if (failed(dump.write(code.module, name, "ll", text))) {
        return false;
      }
    }
    std::set<uint32_t> seen;
    for (const auto &gpu : code.modules) {
      // The second module of an architecture has the launches that hardly ever run.
      std::string name =
          "sm_" + std::to_string(gpu->arch) + (seen.insert(gpu->arch).second ? "" : "-cold");
      llvm::StringRef text(reinterpret_cast<const char *>(gpu->bytes.data()), gpu->bytes.size());
      if (dump.isOn() && failed(dump.write(code.module, name, "ptx", text))) {
        return false;
      }
    }
    return true;
  }

  /// The artifact with its plans and report as text.
  void dumpArtifact(ModuleOp module, const format::ArtifactT &artifact) {
    if (dump.isOn()) {
      dump.setFamily("");
      (void)(succeeded(dump.write(module, "plan", "txt", printPlans(artifact))) &&
             succeeded(dump.write(module, "report", "json", result.report + "\n")) &&
             succeeded(dump.write(module, "artifact", "frit", result.artifact)));
    }
  }

  CompileResult run(OwningOpRef<ModuleOp> module, Archive *archive) {
    Weights weights;
    if (archive && failed(bindWeights(*module, *archive, options.weights == "none", weights))) {
      blame(DiagnosticKind::BadInput);
      return finish();
    }
    if (archive) {
      archive->forgetStorages();
    }
    if (options.keptIr) {
      llvm::raw_string_ostream stream(*options.keptIr);
      module->print(stream);
    }
    if (!dumpStage(*module, "imported")) {
      return finish();
    }
    if (options.stopAfter == "imported") {
      return print(*module);
    }
    relax(*module, relaxation);
    attempt.isRead = true;
    if (options.failAt == "always") {
      module->emitError("compilation fails, as was asked");
      return finish();
    }
    // A module with kernels is in the outlined form already.
    bool isOutlined = !module->getOps<mlir::frit::KernelOp>().empty();
    const FusionOptions fusion = {
        .eagerNumerics = options.numerics == "eager",
        .merge = options.fusion,
        .philox = makesRandomNumbers(options),
        .padding = options.padding,
        .gpu = llvm::none_of(options.targets,
                             [](llvm::StringRef target) { return target.starts_with("cpu"); }),
        .arch = oldestArchitecture(options),
        .poison = options.poison,
        .mutant = options.mutant,
        .firstKept = options.firstKept,
        .buckets = options.buckets,
        .bucketPolicy = options.bucketPolicy};
    if (!isOutlined && !runPasses(*module, [&](OpPassManager &passes) {
          buildCanonicalPipeline(passes, fusion);
        })) {
      return finish();
    }
    if (!isOutlined && !dumpStage(*module, "legalized")) {
      return finish();
    }
    if (!isOutlined && options.isKept) {
      CanonicalForm form;
      time("key", [&] { form = canonicalForm(*module, options.buckets); });
      result.isKept = options.isKept(form);
      if (result.isKept) {
        return finish();
      }
    }
    if (!isOutlined &&
        !runPasses(*module, [&](OpPassManager &passes) { buildFusionPipeline(passes, fusion); })) {
      return finish();
    }
    if (!isOutlined && !dumpStage(*module, "fused")) {
      return finish();
    }
    std::vector<TargetCode> code;
    std::map<Family, OwningOpRef<ModuleOp>> outlined;
    std::vector<PlanTarget> targets = targetsOf(options);
    // The weights may be laid out anew only if all plans of the file are for CPUs: plans share
    // them.
    bool allCpu = llvm::all_of(
        targets, [](const PlanTarget &target) { return target.target == format::Target::Cpu; });
    auto familyOf = [](const PlanTarget &target) {
      return target.target == format::Target::Cpu ? Family::Cpu : Family::Gpu;
    };
    for (const PlanTarget &target : targets) {
      Family family = familyOf(target);
      auto [form, isNew] = outlined.try_emplace(family);
      if (isNew) {
        dump.setFamily(family == Family::Cpu ? "cpu" : "gpu");
        bool isLast = llvm::all_of(
            targets, [&](const PlanTarget &other) { return outlined.count(familyOf(other)); });
        // NOLINTNEXTLINE(bugprone-use-after-move): the last family is new only once
        form->second = isLast ? std::move(module) : OwningOpRef<ModuleOp>(module->clone());
        const LayoutOptions layouts = {.relay = options.relay && options.numerics != "eager",
                                       .relayWeights = allCpu,
                                       .firstKept = options.firstKept,
                                       .channelsLastInputs = options.channelsLastInputs,
                                       .arch = oldestArchitecture(options),
                                       .cpuLevel = lowestCpuLevel(options),
                                       .schedules = options.scheduleChoices,
                                       .ranges = options.symbolRanges,
                                       .reuse = options.reuse};
        if (!runPasses(*form->second, [&](OpPassManager &passes) {
              if (!isOutlined) {
                buildTargetPipeline(passes, family, layouts);
              } else if (family == Family::Cpu) {
                buildCpuSchedulePipeline(passes, layouts);
              }
            })) {
          return finish();
        }
        if (!dumpStage(*form->second, "outlined") || !dumpKernelPrograms(*form->second)) {
          return finish();
        }
        relayWeights(*form->second, weights);
      }
      if (!options.stopAfter.empty()) {
        return print(*form->second);
      }
      if (isNew) {
        countCalls(*form->second);
      }
      if (options.requireStandalone && !result.calls.empty()) {
        result.diagnostics.push_back(
            {DiagnosticKind::Unsupported,
             "graph '" + options.name + "' needs libtorch, for " + result.callsText() +
                 "; without --require-standalone it is compiled to run over libtorch",
             "",
             {}});
        return finish();
      }
      if (options.fallback == "error") {
        refuseCalls(*form->second);
        if (!result.diagnostics.empty()) {
          return finish();
        }
      }
      failKernels(*form->second);
      FailureOr<TargetCode> one = failure();
      time("codegen", [&] { one = generateCode(*form->second, options, target); });
      if (failed(one)) {
        blame(DiagnosticKind::Internal);
        blameKernels(*form->second);
        return finish();
      }
      if (!dumpCode(*one)) {
        return finish();
      }
      result.kernelsCompiled += one->counts.compiled;
      result.kernelsReused += one->counts.reused;
      result.kernelsForgotten += one->counts.forgotten;
      code.push_back(std::move(*one));
    }
    std::unique_ptr<format::ArtifactT> artifact;
    std::vector<mlir::frit::GraphOp> graphs;
    if (options.failAt == "plan" && relaxation.keptAll.empty()) {
      code.front().module->emitError("the plan fails, as was asked");
      return finish();
    }
    time("artifact", [&] { artifact = writeArtifact(std::move(code), options.firstKept, graphs); });
    if (artifact) {
      time("validation", [&] { validate(*artifact, graphs); });
      if (attempt.isPlanRefused) {
        return finish();
      }
    }
    time("artifact", [&] {
      if (artifact) {
        artifact->weights = std::move(weights.entries);
        artifact->report =
            writeReport(*artifact, *outlined[familyOf(targets.front())], relaxation.history);
        // The report in a file is the same for every run of the compiler, so it has no times.
        result.report = addPhases(artifact->report, result.phases);
        bool apart = options.weights == "external" && !weights.bytes.empty();
        if (apart) {
          Digest digest = sha256(
              {reinterpret_cast<const uint8_t *>(weights.bytes.data()), weights.bytes.size()});
          artifact->weights_file = std::make_unique<format::WeightsFileT>();
          artifact->weights_file->bytes = weights.bytes.size();
          artifact->weights_file->sha256.assign(digest.begin(), digest.end());
          result.weightsName = weightsFileName(digest);
        }
        result.artifact = packArtifact(*artifact, apart ? std::string_view() : weights.bytes);
        if (apart) {
          result.weights = std::move(weights.bytes);
        }
        dumpArtifact(*outlined[familyOf(targets.front())], *artifact);
      }
    });
    return finish();
  }

  /// Checks each plan, and reports an internal error if the validator refuses it.
  void validate(const format::ArtifactT &artifact, llvm::ArrayRef<mlir::frit::GraphOp> graphs) {
    for (auto [plan, graph] : llvm::zip(artifact.plans, graphs)) {
      if (std::optional<std::string> wrong = validatePlan(graph, *plan, options.firstKept)) {
        attempt.isPlanRefused = true;
        result.diagnostics.push_back(
            {DiagnosticKind::Internal,
             "the plan of graph '" + options.name + "' is wrong: " + *wrong,
             "",
             {}});
        return;
      }
    }
  }

  bool runPasses(ModuleOp module, llvm::function_ref<void(OpPassManager &)> build) {
    bool passed = false;
    time("passes", [&] {
      PassManager passes(&context);
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
      passed = succeeded(passes.run(module)) && result.diagnostics.empty();
      attempt.isRead &= !watched.inFront && !watched.badRequest;
      if (!passed && watched.ownContract) {
        blame(DiagnosticKind::Internal);
      }
    });
    return passed;
  }

  CompileResult print(ModuleOp module) {
    llvm::raw_string_ostream stream(result.ir);
    module->print(stream);
    return finish();
  }

  CompileResult finish() {
    if (result.artifact.empty() && result.ir.empty() && result.diagnostics.empty() &&
        !result.isKept) {
      result.diagnostics.push_back(
          {DiagnosticKind::Internal, "compilation stopped without saying why", "", {}});
    }
    return std::move(result);
  }

  const CompileOptions &options;
  const Relaxation &relaxation;
  Attempt attempt;
  MLIRContext &context;
  CompileResult result;
  ScopedDiagnosticHandler handler;
  StageDump dump;
};
} // namespace

CompileResult compile(std::string_view json, const CompileOptions &options) {
  return compileWithRetries(
      options, [&](const CompileOptions &asked, const Relaxation &relaxation) {
        return Compilation(asked, relaxation).fromJson(json, nullptr, "<json>");
      });
}

CompileResult compileIr(std::string_view text, const CompileOptions &options) {
  return Compilation(options, {}).fromIr(text);
}

CompileResult compileArchive(const std::string &path, const CompileOptions &options) {
  return compileWithRetries(
      options, [&](const CompileOptions &asked, const Relaxation &relaxation) -> Attempt {
        // Opened again for each try, since a compilation consumes the weights.
        std::string error;
        std::optional<Archive> archive = Archive::open(path, asked.model, error);
        if (!archive) {
          CompileResult result;
          result.diagnostics.push_back({DiagnosticKind::BadInput, path + " " + error, "", {}});
          return {std::move(result)};
        }
        return Compilation(asked, relaxation).fromJson(archive->model(), &*archive, path);
      });
}

void forgetKernels() { mlir::frit::forgetKernels(); }

std::string CompileResult::callsText() const {
  std::string text;
  for (const auto &[name, count] : calls) {
    text += (text.empty() ? "" : ", ") + name +
            (count > 1 ? " " + std::to_string(count) + " times" : "");
  }
  return text;
}

std::string CompileResult::errorText() const {
  std::string text;
  for (const Diagnostic &one : diagnostics) {
    text += (text.empty() ? "" : "\n") + one.message +
            (one.source.empty() ? "" : " (" + one.source + ")");
    for (const std::string &note : one.notes) {
      text += "\n  " + note;
    }
  }
  return text;
}

} // namespace frit
