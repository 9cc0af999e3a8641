#pragma once

#include "import/ExportedProgram.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

/// The importer: torch.export's JSON in, a module of `frit.graph`s out (the
/// imported form). It reads both what python/frit captures under torch.compile and
/// the model inside a `.pt2`.
///
/// There are three steps, so that no IR is built from unchecked data: the text becomes plain
/// structs (ExportedProgram.h), names and kinds are checked while values are
/// looked up, and IR is built (GraphImporter.h). The text is untrusted: counts,
/// depth and sizes are limited, and a failure is one diagnostic that names the
/// node, the field and the reason.
namespace mlir::frit {

struct ImportOptions {
  /// Symbol of the main graph.
  std::string graphName = "main";
  /// The name of the text in diagnostics.
  std::string fileName = "<json>";
};

/// Returns null after emitting one error through the context. `error`, if given, gets its kind:
/// only `Unsupported` is a reason to run the program without frit.
OwningOpRef<ModuleOp> importExportedProgram(MLIRContext *context, llvm::StringRef json,
                                            const ImportOptions &options = {},
                                            exported::Error *error = nullptr);

} // namespace mlir::frit
