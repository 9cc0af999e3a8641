// Translates to the imported form: `--import-exported-program` reads the JSON of torch.export,
// which a `.pt2` contains and which python/frit writes under torch.compile.

#include "compiler/Registration.h"

#include "mlir/Support/LLVM.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  frit::registerTranslations();
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "frit's importer\n"));
}
