// The order of things: which passes run between the imported and the outlined form. Nobody else knows an order.

#pragma once

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace frit {

/// Imported form to outlined form.
void buildGraphPipeline(mlir::OpPassManager &passes);

/// `--frit-graph-pipeline` for frit-opt.
void registerPipelines();

} // namespace frit
