#include "compiler/StageDump.h"

#include "mlir/Pass/Pass.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace frit {
using namespace mlir;

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text + "\n";
}

static std::string numbered(unsigned number, llvm::StringRef name, llvm::StringRef suffix) {
  return llvm::formatv("{0}{1}-{2}.{3}", number < 10 ? "0" : "", number, name, suffix);
}

std::error_code StageDump::makeFolder() {
  if (!folder.empty()) {
    return {};
  }
  if (std::error_code error = llvm::sys::fs::create_directories(parent)) {
    return error;
  }
  // Another process may make folders at the same time, so only a folder made here is used.
  for (unsigned number = 1;; ++number) {
    std::string path = parent + "/" + name + (number > 1 ? "-" + std::to_string(number) : "");
    std::error_code error = llvm::sys::fs::create_directory(path, /*IgnoreExisting=*/false);
    if (!error) {
      folder = path;
    }
    if (error != std::errc::file_exists) {
      return error;
    }
  }
}

LogicalResult StageDump::writeFile(ModuleOp module, const std::string &path, llvm::StringRef text) {
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  file << text;
  file.close();
  error = error ? error : file.error();
  file.clear_error();
  return error ? emitError(UnknownLoc::get(module.getContext())) << path << ": " << error.message()
               : success();
}

LogicalResult StageDump::write(ModuleOp module, llvm::StringRef stage) {
  return write(module, stage, "mlir", print(module));
}

LogicalResult StageDump::write(ModuleOp module, llvm::StringRef stage, llvm::StringRef suffix,
                               llvm::StringRef text) {
  if (std::error_code error = makeFolder()) {
    return emitError(UnknownLoc::get(module.getContext()))
           << "nothing can be dumped into " << parent << ": " << error.message();
  }
  return writeFile(module, folder + "/" + numbered(++stages, family + stage.str(), suffix), text);
}

class StageDump::Writer : public PassInstrumentation {
public:
  explicit Writer(StageDump &dump) : dump(dump) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    // Outlining begins with all decisions about regions made.
    if (pass->getArgument() == "frit-outline-regions") {
      (void)dump.write(cast<ModuleOp>(op), "scheduled");
    }
  }

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
    std::string passes = dump.folder + "/passes";
    if (module && !dump.folder.empty() && !llvm::sys::fs::create_directories(passes)) {
      std::string name = dump.family + pass->getArgument().str();
      (void)dump.writeFile(module, passes + "/" + numbered(++dump.passes, name, "mlir"),
                           print(module));
    }
  }

private:
  StageDump &dump;
};

std::unique_ptr<PassInstrumentation> StageDump::ofPasses() {
  return std::make_unique<Writer>(*this);
}

} // namespace frit
