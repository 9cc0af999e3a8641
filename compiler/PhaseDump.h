// frit-compile --dump-phases-to: writes the IR after each pass to a numbered file, for reading in
// order or as input of frit-opt.

#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <memory>
#include <string>

namespace frit {

/// The folder and the number of files written so far.
class PhaseDump {
public:
  /// With an empty folder nothing is written.
  explicit PhaseDump(std::string folder) : folder(std::move(folder)) {}
  bool isOn() const { return !folder.empty(); }

  /// Writes the next file, "NN-name.mlir"; emits an error at the module if that fails.
  mlir::LogicalResult write(mlir::ModuleOp module, llvm::StringRef name);
  /// Writes any text.
  mlir::LogicalResult write(mlir::ModuleOp module, llvm::StringRef name, llvm::StringRef suffix,
                            llvm::StringRef text);

  /// An instrumentation that writes a file after every pass.
  std::unique_ptr<mlir::PassInstrumentation> afterPasses();

private:
  std::string folder;
  unsigned count = 0;
};

} // namespace frit
