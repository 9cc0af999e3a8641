// The dialects a graph can contain between import and kernel code, and the passes by flag.

#include "compiler/Registration.h"

#include "codegen/Passes.h"
#include "codegen/gpu/LowerToNvvm.h"
#include "compiler/Pipeline.h"
#include "ir/FritDialect.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace frit {

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::frit::FritDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                  mlir::tensor::TensorDialect>();
  mlir::frit::registerGpuTargetDialects(registry);
}

void registerPasses() {
  mlir::frit::registerFritPassesPasses();
  mlir::frit::registerFritCodegenPasses();
  mlir::registerCanonicalizer();
  mlir::registerCSEPass();
  registerPipelines();
}

} // namespace frit
