// The table of contents of the compiler.

#include "compiler/Pipeline.h"

#include "passes/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace frit {
using namespace mlir::frit;

void buildFusionPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createVerifyImportedFormPass());
  passes.addPass(createInlineCallsPass());

  // ATen to the vocabulary.
  passes.addNestedPass<GraphOp>(createFunctionalizePass());
  passes.addPass(createLegalizeAtenPass());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addNestedPass<GraphOp>(createRestoreConstantsPass());
  passes.addNestedPass<GraphOp>(createHostScalarsByValuePass());

  // What runs together.
  passes.addNestedPass<GraphOp>(createFuseRegionsPass());
  passes.addNestedPass<GraphOp>(createElideHalfRoundingPass());
}

void buildTargetPipeline(mlir::OpPassManager &passes, Family family) {
  // Where it lies, how it runs.
  passes.addNestedPass<GraphOp>(createAssignLayoutsPass());
  ChooseSchedulesPassOptions schedules;
  schedules.target = family == Family::Gpu ? "gpu" : "cpu";
  passes.addNestedPass<GraphOp>(createChooseSchedulesPass(schedules));
  passes.addNestedPass<GraphOp>(createPlanBuffersPass());

  passes.addPass(createOutlineRegionsPass());
  passes.addPass(createVerifyOutlinedFormPass());
}

namespace {
struct GraphPipelineOptions : mlir::PassPipelineOptions<GraphPipelineOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("whose schedules: cpu or gpu"), llvm::cl::init("cpu")};
};
} // namespace

void registerPipelines() {
  mlir::PassPipelineRegistration<GraphPipelineOptions>(
      "frit-graph-pipeline", "imported form to outlined form, as the compiler runs it",
      [](mlir::OpPassManager &passes, const GraphPipelineOptions &options) {
        buildFusionPipeline(passes);
        buildTargetPipeline(passes, options.target == "gpu" ? Family::Gpu : Family::Cpu);
      });
}

} // namespace frit
