// Registers the dialects that a graph can contain between import and kernel code, and the passes by
// flag.

#include "compiler/Registration.h"

#include "codegen/Passes.h"
#include "codegen/cpu/LowerToLlvm.h"
#include "codegen/gpu/ptx/LowerToNvvm.h"
#include "compiler/Pipeline.h"
#include "import/Importer.h"
#include "ir/FritDialect.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/SourceMgr.h"

namespace frit {

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::frit::FritDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                  mlir::tensor::TensorDialect>();
  mlir::frit::registerLlvmLowering(registry);
  mlir::frit::registerGpuTargetDialects(registry);
}

void registerPasses() {
  mlir::frit::registerFritPassesPasses();
  mlir::frit::registerFritCodegenPasses();
  mlir::registerCanonicalizer();
  mlir::registerCSEPass();
  registerPipelines();
}

void registerTranslations() {
  static mlir::TranslateToMLIRRegistration registration(
      "import-exported-program", "the JSON of torch.export to the imported form",
      [](llvm::SourceMgr &sources,
         mlir::MLIRContext *context) -> mlir::OwningOpRef<mlir::Operation *> {
        const llvm::MemoryBuffer *buffer = sources.getMemoryBuffer(sources.getMainFileID());
        mlir::frit::ImportOptions options;
        options.fileName = buffer->getBufferIdentifier().str();
        mlir::OwningOpRef<mlir::ModuleOp> module =
            mlir::frit::importExportedProgram(context, buffer->getBuffer(), options);
        return module ? module.release().getOperation() : nullptr;
      },
      registerDialects);
}

} // namespace frit
