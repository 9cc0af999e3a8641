// frit-compile --dump-phases-to: the IR after each pass, a numbered file each, to be read in order
// or given to frit-opt.

#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <memory>
#include <string>

namespace frit {

/// The folder and how many files it has.
class PhaseDump {
public:
  /// Into no folder: writes nothing.
  explicit PhaseDump(std::string folder) : folder(std::move(folder)) {}
  bool isOn() const { return !folder.empty(); }

  /// Writes the next file, "NN-name.mlir"; an error at the module when that fails.
  mlir::LogicalResult write(mlir::ModuleOp module, llvm::StringRef name);
  /// Any text.
  mlir::LogicalResult write(mlir::ModuleOp module, llvm::StringRef name, llvm::StringRef suffix,
                            llvm::StringRef text);

  /// Writes after every pass.
  std::unique_ptr<mlir::PassInstrumentation> afterPasses();

private:
  std::string folder;
  unsigned count = 0;
};

} // namespace frit
