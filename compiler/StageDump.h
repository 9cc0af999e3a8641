// frit-compile --dump and FRIT_DUMP: writes every stage of a compilation to numbered files, for
// reading in order or as input of frit-opt.

#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <memory>
#include <string>

namespace frit {

/// The folder of one compilation and the number of files written so far.
class StageDump {
public:
  /// With an empty folder nothing is written. Otherwise the files are in a new folder inside of it:
  /// `name`, or `name-2`, `name-3` ... where earlier compilations have left those.
  StageDump(std::string folder, std::string name)
      : parent(std::move(folder)), name(std::move(name)) {}
  bool isOn() const { return !parent.empty(); }

  /// Later files are those of this family of targets, and are named after it. Empty: of all.
  void setFamily(llvm::StringRef name) { family = name.empty() ? "" : name.str() + "-"; }

  /// Writes the next file, "NN-stage.suffix". Fails with an error at the module.
  mlir::LogicalResult write(mlir::ModuleOp module, llvm::StringRef stage);
  mlir::LogicalResult write(mlir::ModuleOp module, llvm::StringRef stage, llvm::StringRef suffix,
                            llvm::StringRef text);

  /// An instrumentation that writes a file after every pass, "passes/NN-argument.mlir", and the
  /// stage "scheduled" before regions are outlined.
  std::unique_ptr<mlir::PassInstrumentation> ofPasses();

private:
  class Writer;
  std::error_code makeFolder();
  mlir::LogicalResult writeFile(mlir::ModuleOp module, const std::string &path,
                                llvm::StringRef text);

  std::string parent, name, family;
  /// `parent`/`name`, once it is made.
  std::string folder;
  unsigned stages = 0, passes = 0;
};

} // namespace frit
