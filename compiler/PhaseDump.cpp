#include "compiler/PhaseDump.h"

#include "mlir/Pass/Pass.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace frit {
using namespace mlir;

LogicalResult PhaseDump::write(ModuleOp module, llvm::StringRef name) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return write(module, name, "mlir", text);
}

LogicalResult PhaseDump::write(ModuleOp module, llvm::StringRef name, llvm::StringRef suffix,
                               llvm::StringRef text) {
  std::string path =
      llvm::formatv("{0}/{1}{2}-{3}.{4}", folder, count < 10 ? "0" : "", count, name, suffix);
  ++count;
  std::error_code error = llvm::sys::fs::create_directories(folder);
  if (!error) {
    llvm::raw_fd_ostream file(path, error);
    file << text << "\n";
    file.close();
    error = error ? error : file.error();
    file.clear_error();
  }
  return error ? emitError(UnknownLoc::get(module.getContext())) << path << ": " << error.message()
               : success();
}

namespace {
class Writer : public PassInstrumentation {
public:
  explicit Writer(PhaseDump &dump) : dump(dump) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    // Passes that only run other passes have no name.
    if (pass->getArgument().empty()) {
      return;
    }
    auto module = dyn_cast<ModuleOp>(op);
    while (!module && op->getParentOp()) {
      op = op->getParentOp();
      module = dyn_cast<ModuleOp>(op);
    }
    if (module) {
      (void)dump.write(module, pass->getArgument());
    }
  }

private:
  PhaseDump &dump;
};
} // namespace

std::unique_ptr<PassInstrumentation> PhaseDump::afterPasses() {
  return std::make_unique<Writer>(*this);
}

} // namespace frit
