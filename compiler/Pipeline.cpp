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
}

void registerPipelines() {
  mlir::PassPipelineRegistration<>("frit-graph-pipeline", "imported form to outlined form, as the compiler runs it",
                                   buildGraphPipeline);
}

} // namespace frit
