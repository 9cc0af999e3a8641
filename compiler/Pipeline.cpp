// The pass pipelines of the compiler.

#include "compiler/Pipeline.h"

#include "passes/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace frit {
using namespace mlir::frit;

void buildCanonicalPipeline(mlir::OpPassManager &passes, const FusionOptions &options) {
  passes.addPass(createVerifyImportedFormPass());
  passes.addPass(createInlineCallsPass());

  // Legalises ATen operators to the vocabulary.
  passes.addNestedPass<GraphOp>(createFunctionalizePass());
  passes.addNestedPass<GraphOp>(createResolveAliasesPass({.firstKept = options.firstKept}));
  if (options.philox) {
    passes.addNestedPass<GraphOp>(createReplaceRandomPass(
        {.eagerNumerics = options.eagerNumerics, .markOperators = !options.merge}));
  }
  passes.addPass(createLegalizeAtenPass({.eagerNumerics = options.eagerNumerics,
                                         .markOperators = !options.merge,
                                         .gpu = options.gpu,
                                         .deterministic = options.deterministic,
                                         .mutant = options.mutant}));
  passes.addNestedPass<GraphOp>(createRequireErrorsPass({.gpu = options.gpu}));
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addNestedPass<GraphOp>(createRestoreConstantsPass());
  passes.addNestedPass<GraphOp>(createNarrowStoresPass());
  passes.addNestedPass<GraphOp>(createHostScalarsByValuePass());
}

void buildCallPipeline(mlir::OpPassManager &passes, const FusionOptions &options) {
  // Assigns buckets to sizes, and pads library calls to them.
  passes.addNestedPass<GraphOp>(createAssignBucketsPass({options.buckets, options.bucketPolicy}));
  MaterializePaddingPassOptions padding;
  padding.mode = options.padding;
  padding.gpu = options.gpu;
  passes.addNestedPass<GraphOp>(createMaterializePaddingPass(padding));
  passes.addNestedPass<GraphOp>(createLowerPaddingPass({.poison = options.poison}));
  passes.addNestedPass<GraphOp>(createPlaceOperandsPass());

  if (options.gpu && !options.eagerNumerics) {
    passes.addNestedPass<GraphOp>(createSinglePassVariancePass({.arch = options.arch}));
  }

  if (options.convolutions) {
    passes.addNestedPass<GraphOp>(createFuseConvolutionsPass());
  }
}

void buildFusionPipeline(mlir::OpPassManager &passes, const FusionOptions &options) {
  if (!options.eagerNumerics) {
    passes.addNestedPass<GraphOp>(createLimitContractionPass());
  }
  // Fuses operators into regions.
  passes.addNestedPass<GraphOp>(createFuseRegionsPass({.merge = options.merge}));
  if (!options.eagerNumerics) {
    passes.addNestedPass<GraphOp>(createElideHalfRoundingPass());
  }
  passes.addNestedPass<GraphOp>(createSeparateDtypesPass());
}

void buildTargetPipeline(mlir::OpPassManager &passes, TargetKind kind,
                         const LayoutOptions &options) {
  // Decides layouts, schedules and buffers.
  if (kind == TargetKind::Cpu) {
    PreferChannelsLastPassOptions order;
    order.relay = options.relay;
    order.weights = options.relayWeights;
    order.firstKept = options.firstKept;
    order.inputs.assign(options.channelsLastInputs.begin(), options.channelsLastInputs.end());
    passes.addNestedPass<GraphOp>(createPreferChannelsLastPass(std::move(order)));
  }
  passes.addNestedPass<GraphOp>(createAssignLayoutsPass({.inPlace = options.reuse}));
  passes.addNestedPass<GraphOp>(createOrderStoresPass());
  ChooseSchedulesPassOptions schedules;
  schedules.target = kind == TargetKind::Gpu ? "gpu" : "cpu";
  schedules.arch = options.arch;
  if (kind == TargetKind::Gpu) {
    schedules.choices = options.schedules;
  }
  passes.addNestedPass<GraphOp>(createChooseSchedulesPass(schedules));
  if (kind == TargetKind::Gpu) {
    passes.addNestedPass<GraphOp>(createMergeColumnsPass({.arch = options.arch}));
  }
  if (!options.ranges.empty()) {
    passes.addNestedPass<GraphOp>(createNarrowSizesPass({.ranges = options.ranges}));
  }
  passes.addNestedPass<GraphOp>(createGatherRegionsPass());
  passes.addNestedPass<GraphOp>(createInsertShapeGuardsPass({.target = schedules.target}));
  passes.addNestedPass<GraphOp>(createSimplifyShapeGuardsPass());
  passes.addNestedPass<GraphOp>(
      createPlanBuffersPass({.reuse = options.reuse, .gpu = kind == TargetKind::Gpu}));

  passes.addPass(createOutlineRegionsPass({.batchInvariant = options.batchInvariant}));
  buildSchedulePipeline(passes, kind, options);
  passes.addPass(createVerifyOutlinedFormPass());
}

void buildSchedulePipeline(mlir::OpPassManager &passes, TargetKind kind,
                           const LayoutOptions &options) {
  if (kind == TargetKind::Cpu) {
    passes.addPass(
        createScheduleCpuKernelsPass({.level = options.cpuLevel, .choices = options.schedules}));
  } else {
    passes.addPass(createScheduleGpuKernelsPass({.arch = options.arch}));
  }
}

namespace {
struct GraphPipelineOptions : mlir::PassPipelineOptions<GraphPipelineOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("whose schedules: cpu or gpu"),
                             llvm::cl::init("cpu")};
  Option<unsigned> arch{*this, "arch", llvm::cl::desc("the oldest GPU architecture: 80, 90 or 100"),
                        llvm::cl::init(80)};
  Option<bool> eagerNumerics{*this, "eager-numerics",
                             llvm::cl::desc("keep every rounding of eager"), llvm::cl::init(false)};
  Option<bool> philox{*this, "philox", llvm::cl::desc("kernels make their random numbers"),
                      llvm::cl::init(false)};
  Option<std::string> padding{*this, "padding", llvm::cl::desc("off, auto or force"),
                              llvm::cl::init("auto")};
  Option<std::string> buckets{*this, "buckets",
                              llvm::cl::desc("sizes to round up to, as assign-buckets takes them")};
  Option<std::string> bucketPolicy{*this, "bucket-policy", llvm::cl::desc("auto, ramp or off"),
                                   llvm::cl::init("auto")};
  Option<bool> fusion{*this, "fusion", llvm::cl::desc("let operators share kernels"),
                      llvm::cl::init(true)};
};
} // namespace

void registerPipelines() {
  mlir::PassPipelineRegistration<GraphPipelineOptions>(
      "frit-graph-pipeline", "imported form to outlined form, as the compiler runs it",
      [](mlir::OpPassManager &passes, const GraphPipelineOptions &options) {
        const FusionOptions fusion = {.eagerNumerics = options.eagerNumerics,
                                      .merge = options.fusion,
                                      .philox = options.philox,
                                      .padding = options.padding,
                                      .gpu = options.target == "gpu",
                                      .arch = options.arch,
                                      .buckets = options.buckets,
                                      .bucketPolicy = options.bucketPolicy,
                                      .convolutions = options.target != "gpu" &&
                                                      !options.eagerNumerics && options.fusion};
        buildCanonicalPipeline(passes, fusion);
        buildCallPipeline(passes, fusion);
        buildFusionPipeline(passes, fusion);
        buildTargetPipeline(passes, options.target == "gpu" ? TargetKind::Gpu : TargetKind::Cpu,
                            {.relay = !options.eagerNumerics, .arch = options.arch});
      });
}

} // namespace frit
