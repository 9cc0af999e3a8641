// The table of contents of the compiler.

#include "compiler/Pipeline.h"

#include "passes/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace frit {
using namespace mlir::frit;

void buildGraphPipeline(mlir::OpPassManager &passes) {
  passes.addPass(createVerifyImportedFormPass());
  passes.addPass(createInlineCallsPass());

  // ATen to the vocabulary.
  passes.addNestedPass<GraphOp>(createFunctionalizePass());
  passes.addPass(createLegalizeAtenPass());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addNestedPass<GraphOp>(createRestoreConstantsPass());

  // What runs together, and where it lies.
  passes.addNestedPass<GraphOp>(createFuseRegionsPass());
  passes.addNestedPass<GraphOp>(createElideHalfRoundingPass());
  passes.addNestedPass<GraphOp>(createAssignLayoutsPass());
  passes.addNestedPass<GraphOp>(createChooseSchedulesPass());
  passes.addNestedPass<GraphOp>(createPlanBuffersPass());

  passes.addPass(createOutlineRegionsPass());
  passes.addPass(createVerifyOutlinedFormPass());
}

void registerPipelines() {
  mlir::PassPipelineRegistration<>("frit-graph-pipeline", "imported form to outlined form, as the compiler runs it",
                                   buildGraphPipeline);
}

} // namespace frit
