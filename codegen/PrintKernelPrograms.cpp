// Prints kernel programs, the input of the code generators, as text.
#include "codegen/Passes.h"

#include "kernel/KernelProgram.h"

#include "mlir/Support/FileUtilities.h"

#include "llvm/Support/ToolOutputFile.h"

namespace mlir::frit {

#define GEN_PASS_DEF_PRINTKERNELPROGRAMSPASS
#include "codegen/Passes.h.inc"

namespace {

struct PrintKernelProgramsPass : impl::PrintKernelProgramsPassBase<PrintKernelProgramsPass> {
  using PrintKernelProgramsPassBase::PrintKernelProgramsPassBase;

  void runOnOperation() override {
    std::string error;
    std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(output, &error);
    if (!file) {
      getOperation().emitError(error);
      return signalPassFailure();
    }
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      FailureOr<KernelProgram> program = KernelProgram::build(kernel);
      if (failed(program)) {
        return signalPassFailure();
      }
      file->os() << "kernel " << kernel.getSymName() << "\n";
      program->print(file->os());
      ++numKernels;
    }
    file->keep();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace mlir::frit
