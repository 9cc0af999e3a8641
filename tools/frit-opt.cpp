// Runs any pass of the project on a file of IR, by flag; for inspecting and testing the compiler.

#include "compiler/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    if (!LLVM_ENABLE_STATS &&
        llvm::StringRef(argv[i]).ltrim('-').starts_with("mlir-pass-statistics")) {
      llvm::errs() << "frit-opt: --mlir-pass-statistics has nothing to show: this LLVM was built "
                      "without statistics; "
                      "frit-compile --report counts kernels, operators, calls, copies and steps\n";
    }
  }
  mlir::DialectRegistry registry;
  frit::registerDialects(registry);
  frit::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "frit's passes\n", registry));
}
