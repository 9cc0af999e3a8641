#include "compiler/Retry.h"

#include "codegen/Codegen.h"
#include "ir/FritAttributes.h"
#include "ir/FritOps.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;

/// Tries per step of the ladder. Each may find another failing kernel after the previous ones are
/// gone.
static constexpr unsigned kRounds = 4;

void relax(ModuleOp imported, const Relaxation &relaxation) {
  if (!relaxation.marks && relaxation.kept.empty() && relaxation.keptAll.empty()) {
    return;
  }
  unsigned place = 0;
  Builder builder(imported.getContext());
  imported.walk([&](AtenOp op) {
    if (relaxation.marks) {
      op->setLoc(
          FusedLoc::get(builder.getContext(), {op.getLoc()}, builder.getI32IntegerAttr(place)));
    }
    auto kept = relaxation.kept.find(place++);
    if (op.getReason()) {
      return;
    }
    if (!relaxation.keptAll.empty()) {
      op.setReason(relaxation.keptAll);
    } else if (kept != relaxation.kept.end()) {
      op.setReason(kept->second);
    }
  });
}

void collectPlaces(Location location, std::set<unsigned> &places) {
  SmallVector<Location> open = {location};
  while (!open.empty()) {
    Location next = open.pop_back_val();
    if (auto fused = dyn_cast<FusedLoc>(next)) {
      if (auto place = dyn_cast_or_null<IntegerAttr>(fused.getMetadata())) {
        places.insert(place.getInt());
      }
      open.append(fused.getLocations().begin(), fused.getLocations().end());
    } else if (auto call = dyn_cast<CallSiteLoc>(next)) {
      open.push_back(call.getCallee());
    }
  }
}

std::vector<std::set<unsigned>> placesOfRefusedKernels(ModuleOp outlined) {
  std::vector<std::set<unsigned>> all;
  for (auto kernel : outlined.getOps<KernelOp>()) {
    if (!kRefusedAttr.isOn(kernel)) {
      continue;
    }
    std::set<unsigned> &places = all.emplace_back();
    kernel->walk([&](Operation *op) {
      // Constants are shared with other kernels, so their operators are not blamed.
      if (!op->hasTrait<OpTrait::ConstantLike>()) {
        collectPlaces(op->getLoc(), places);
      }
    });
    // Equal regions share the kernel.
    outlined.walk([&](LaunchOp launch) {
      if (launch.getKernel() == kernel.getSymName()) {
        collectPlaces(launch.getLoc(), places);
      }
    });
  }
  return all;
}

/// The options without optimisations.
static CompileOptions withoutOptimizations(CompileOptions options) {
  options.fusion = false;
  options.reuse = false;
  options.padding = "off";
  if (options.numerics == "default") {
    options.numerics = "eager";
  }
  options.bucketPolicy = "off";
  options.buckets.clear();
  options.symbolRanges.clear();
  options.scheduleChoices.clear();
  return options;
}

/// Whether there should be no retry: the caller wants the error, or another try would not change
/// it.
static bool isFinal(const CompileOptions &options, const Attempt &attempt) {
  return attempt.result.ok() || !attempt.isRead || options.strict || !options.stopAfter.empty() ||
         options.fallback == "error" || options.requireStandalone ||
         attempt.result.diagnostics.front().kind == DiagnosticKind::BadInput;
}

CompileResult compileWithRetries(
    const CompileOptions &options,
    llvm::function_ref<Attempt(const CompileOptions &, const Relaxation &)> attempt) {
  Attempt first = attempt(options, {});
  if (isFinal(options, first)) {
    return std::move(first.result);
  }
  const std::string why = first.result.diagnostics.front().message;
  CompileOptions asked = options;
  asked.isCached = nullptr; // it has already returned false
  Relaxation relaxation;
  if (first.isPlanRefused) {
    asked.reuse = false;
    relaxation.history.emplace_back("no reuse of memory", why);
    Attempt next = attempt(asked, relaxation);
    if (next.result.ok()) {
      return std::move(next.result);
    }
  }
  relaxation.marks = true;
  for (bool isOptimized : {true, false}) {
    if (!isOptimized) {
      asked = withoutOptimizations(asked);
      relaxation.history.emplace_back("no fusion, padding or layouts", why);
    }
    for (unsigned round = 0; round != kRounds; ++round) {
      Attempt next = attempt(asked, relaxation);
      if (next.result.ok()) {
        return std::move(next.result);
      }
      size_t before = relaxation.kept.size();
      relaxation.kept.insert(next.blamed.begin(), next.blamed.end());
      if (relaxation.kept.size() == before) {
        break;
      }
      relaxation.history.emplace_back(std::to_string(relaxation.kept.size() - before) +
                                          " operators left to ATen",
                                      next.result.diagnostics.front().message);
    }
  }
  asked.random = "torch";
  relaxation.keptAll = "frit failed at this graph: " + why;
  relaxation.history.emplace_back("every operator left to ATen", why);
  Attempt last = attempt(asked, relaxation);
  if (last.result.ok()) {
    return std::move(last.result);
  }
  first.result.diagnostics.front().notes.push_back("with every operator left to ATen: " +
                                                   last.result.diagnostics.front().message);
  return std::move(first.result);
}

} // namespace frit
