// Prints kernel programs, the input of the code generators, as text.
#include "codegen/Codegen.h"
#include "codegen/Passes.h"

#include "kernel/KernelProgram.h"

#include "mlir/Support/FileUtilities.h"

#include "llvm/Support/ToolOutputFile.h"

namespace mlir::frit {

FailureOr<unsigned> printKernelPrograms(ModuleOp module, llvm::raw_ostream &os) {
  unsigned count = 0;
  for (auto kernel : module.getOps<KernelOp>()) {
    FailureOr<KernelProgram> program = KernelProgram::build(kernel);
    if (failed(program)) {
      return failure();
    }
    os << "kernel " << kernel.getSymName() << "\n";
    program->print(os);
    ++count;
  }
  return count;
}

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
    FailureOr<unsigned> count = printKernelPrograms(getOperation(), file->os());
    if (failed(count)) {
      return signalPassFailure();
    }
    numKernels += *count;
    file->keep();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace mlir::frit
