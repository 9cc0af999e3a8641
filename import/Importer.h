#pragma once

#include "import/ExportedProgram.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

/// The one importer: torch.export's JSON in, a module of `frit.graph`s out (the
/// imported form). Both sources come this way: what python/frit captures under
/// torch.compile, and the model inside a `.pt2`.
///
/// Three steps, so that nothing builds IR from unchecked data: text to plain
/// structs (ExportedProgram.h), names and kinds checked while values are
/// looked up, IR built (GraphImporter.h). Text is data from outside: counts,
/// depth and sizes are capped, and a failure is one diagnostic that names the
/// node, the field and the reason.
namespace mlir::frit {

struct ImportOptions {
  /// Symbol of the main graph.
  std::string graphName = "main";
  /// The name of the text in diagnostics.
  std::string fileName = "<json>";
};

/// Returns null after emitting one error through the context. `error`, if given, tells what kind it
/// was: only `Unsupported` is a reason to run the program without frit.
OwningOpRef<ModuleOp> importExportedProgram(MLIRContext *context, llvm::StringRef json,
                                            const ImportOptions &options = {},
                                            exported::Error *error = nullptr);

} // namespace mlir::frit
