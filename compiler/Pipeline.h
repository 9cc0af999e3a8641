// The order of things: which passes run between the imported and the outlined form. Nobody else knows an order.

#pragma once

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace frit {

/// Whose schedules a module carries. The emulation runs what a GPU would.
enum class Family { Cpu, Gpu };

/// Imported form to fused regions: the same for every target.
void buildFusionPipeline(mlir::OpPassManager &passes);

/// Fused regions to outlined form: layouts, schedules, buffers and kernels of one family.
void buildTargetPipeline(mlir::OpPassManager &passes, Family family);

/// `--frit-graph-pipeline[=target=gpu]` for frit-opt: both.
void registerPipelines();

} // namespace frit
