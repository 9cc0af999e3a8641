// Runs any pass of the project on a file of IR, by flag; for inspecting and testing the compiler.

#include "compiler/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/raw_ostream.h"

/// Shows the debug lines (LDBG) of these passes. LLVM has the flag only where it is itself built
/// with assertions, which Debian's is not.
static void showDebugLines(llvm::StringRef passes) {
#ifdef NDEBUG
  llvm::errs()
      << "frit-opt: --debug-only has nothing to show: this build has no debug lines; build "
         "the preset asserts\n";
#else
  llvm::SmallVector<llvm::StringRef> names;
  passes.split(names, ',');
  std::vector<std::string> texts(names.begin(), names.end());
  std::vector<const char *> pointers;
  for (const std::string &text : texts) {
    pointers.push_back(text.c_str());
  }
  llvm::setCurrentDebugTypes(pointers.data(), pointers.size());
  llvm::DebugFlag = true;
#endif
}

int main(int argc, char **argv) {
  llvm::SmallVector<char *> words;
  for (char *word : llvm::ArrayRef(argv, argc)) {
    llvm::StringRef flag = llvm::StringRef(word).ltrim('-');
    if (!LLVM_ENABLE_STATS && flag.starts_with("mlir-pass-statistics")) {
      llvm::errs() << "frit-opt: --mlir-pass-statistics has nothing to show: this LLVM was built "
                      "without statistics; "
                      "frit-compile --report counts kernels, operators, calls, copies and steps\n";
    }
    if (flag.consume_front("debug-only=")) {
      showDebugLines(flag);
    } else {
      words.push_back(word);
    }
  }
  mlir::DialectRegistry registry;
  frit::registerDialects(registry);
  frit::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(words.size(), words.data(), "frit's passes\n", registry));
}
