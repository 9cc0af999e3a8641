// Any pass of the project on a file of IR, by flag: the compiler's microscope.

#include "compiler/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  frit::registerDialects(registry);
  frit::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "frit's passes\n", registry));
}
