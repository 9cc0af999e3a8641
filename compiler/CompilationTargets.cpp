// The stages that depend on the target: one outlined module per kind of target, code for each
// target.

#include "compiler/Compilation.h"
#include "compiler/Cubins.h"
#include "ir/FritAttributes.h"

namespace frit {
using namespace mlir;

TargetKind kindOf(const PlanTarget &target) {
  return target.target == format::Target::Cpu ? TargetKind::Cpu : TargetKind::Gpu;
}

LayoutOptions Compilation::layoutOptions() const {
  // The weights may be laid out anew only if all plans of the file are for CPUs: plans share them.
  bool allCpu = llvm::all_of(
      targets, [](const PlanTarget &target) { return target.target == format::Target::Cpu; });
  return {.relay = options.relay && options.numerics == "default",
          .relayWeights = allCpu,
          .firstKept = options.firstKept,
          .channelsLastInputs = options.channelsLastInputs,
          .arch = oldestArchitecture(options),
          .cpuLevel = lowestCpuLevel(options),
          .schedules = options.scheduleChoices,
          .ranges = options.symbolRanges,
          .reuse = options.reuse,
          .batchInvariant = options.numerics == "batch-invariant"};
}

/// Makes the outlined module of a kind of target, at the first of them.
Compilation::Next Compilation::outline(TargetKind kind) {
  dump.setFamily(kind == TargetKind::Cpu ? "cpu" : "gpu");
  OwningOpRef<ModuleOp> &form = outlined[kind];
  bool isLast =
      llvm::all_of(targets, [&](const PlanTarget &other) { return outlined.count(kindOf(other)); });
  form = isLast ? std::move(module) : OwningOpRef<ModuleOp>(module->clone());
  const LayoutOptions layouts = layoutOptions();
  Next next = runPasses(*form, [&](OpPassManager &passes) {
    if (!isOutlined) {
      buildTargetPipeline(passes, kind, layouts);
    } else {
      buildSchedulePipeline(passes, kind, layouts);
    }
  });
  if (next == Next::End || !dumpStage(*form, "outlined") || !dumpKernelPrograms(*form)) {
    return Next::End;
  }
  relayWeights(*form, weights);
  if (!options.stopAfter.empty()) {
    return print(*form);
  }
  if (checkCalls(*form) == Next::End) {
    return Next::End;
  }
  failKernels(*form);
  return Next::Stage;
}

/// Counts the calls of ATen, and refuses those that the options forbid.
Compilation::Next Compilation::checkCalls(ModuleOp form) {
  countCalls(form);
  if (options.requireStandalone && !result.calls.empty()) {
    report(DiagnosticKind::Unsupported,
           "graph '" + options.name + "' needs libtorch, for " + result.callsText() +
               "; without --require-standalone it is compiled to run over libtorch");
    return Next::End;
  }
  if (options.fallback == "error") {
    form.walk([&](mlir::frit::AtenOp call) {
      if (call.getGraphs()) {
        return;
      }
      call.emitError() << "'" << call.getOpName()
                       << "' is left to ATen: " << call.getReason().value_or("it has no kernel")
                       << "; allow it with fallback='aten'";
    });
    return result.diagnostics.empty() ? Next::Stage : Next::End;
  }
  return Next::Stage;
}

void Compilation::countCalls(ModuleOp form) {
  form.walk([&](mlir::frit::AtenOp call) {
    if (call.getGraphs()) {
      return;
    }
    std::string name =
        (call.getOpName() + (call.getReason() ? " (" + *call.getReason() + ")" : "")).str();
    result.addCalls(name, 1);
  });
}

/// Marks the kernels that should fail (option `failAt`).
void Compilation::failKernels(ModuleOp form) {
  if (llvm::StringRef text = options.failAt; text.consume_front("kernel:")) {
    for (auto kernel : form.getOps<mlir::frit::KernelOp>()) {
      if (kernel.getSymName().contains(text)) {
        mlir::frit::kRefusedAttr.mark(kernel);
      }
    }
  }
}

/// Cubins are only faster to load than the PTX, so without them the file is complete.
void Compilation::addCubins(TargetCode &target) {
  std::vector<std::unique_ptr<format::GpuModuleT>> all;
  for (const auto &ptx : target.modules) {
    Cubins made = assemble(*ptx, options.ptxas);
    if (!made.failure.empty()) {
      result.notes.emplace_back("ptxas", "the kernels for sm_" + std::to_string(ptx->arch) +
                                             " stay PTX: " + made.failure);
    }
    llvm::move(made.modules, std::back_inserter(all));
  }
  llvm::move(all, std::back_inserter(target.modules));
}

/// Generates the code of one target.
Compilation::Next Compilation::generate(const PlanTarget &target) {
  ModuleOp form = *outlined[kindOf(target)];
  FailureOr<TargetCode> generated = failure();
  time("codegen", [&] { generated = generateCode(form, options, target); });
  if (failed(generated)) {
    setKind(DiagnosticKind::Internal);
    blameKernels(form);
    return Next::End;
  }
  if (!dumpCode(*generated)) {
    return Next::End;
  }
  if (!options.ptxas.empty()) {
    time("cubins", [&] { addCubins(*generated); });
  }
  result.kernelsCompiled += generated->counts.compiled;
  result.kernelsReused += generated->counts.reused;
  result.kernelsForgotten += generated->counts.forgotten;
  code.push_back(std::move(*generated));
  return Next::Stage;
}

} // namespace frit
