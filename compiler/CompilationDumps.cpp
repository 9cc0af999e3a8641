// Writes the stages of a compilation, for the option dumpFolder.
#include "compiler/Compilation.h"
#include "compiler/PlanText.h"

#include <set>

namespace frit {
using namespace mlir;

bool Compilation::dumpCaptured(llvm::StringRef json) {
  return !dump.isOn() || succeeded(dump.write(*module, "captured", "json", json));
}

bool Compilation::dumpStage(ModuleOp ir, const char *name) {
  return !dump.isOn() || succeeded(dump.write(ir, name));
}

bool Compilation::dumpKernelPrograms(ModuleOp ir) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  return !dump.isOn() || (succeeded(mlir::frit::printKernelPrograms(ir, stream)) &&
                          succeeded(dump.write(ir, "kernel-programs", "txt", text)));
}

bool Compilation::dumpCode(const TargetCode &generated) {
  for (const auto &[name, text] : generated.llvmIr) {
    if (failed(dump.write(generated.module, name, "ll", text))) {
      return false;
    }
  }
  std::set<uint32_t> seen;
  for (const auto &gpu : generated.modules) {
    // The second module of an architecture has the cold launches.
    std::string name =
        "sm_" + std::to_string(gpu->arch) + (seen.insert(gpu->arch).second ? "" : "-cold");
    llvm::StringRef text(reinterpret_cast<const char *>(gpu->bytes.data()), gpu->bytes.size());
    if (dump.isOn() && failed(dump.write(generated.module, name, "ptx", text))) {
      return false;
    }
  }
  return true;
}

void Compilation::dumpArtifact(ModuleOp ir) {
  if (dump.isOn()) {
    dump.setFamily("");
    (void)(succeeded(dump.write(ir, "plan", "txt", printPlans(*artifact))) &&
           succeeded(dump.write(ir, "report", "json", result.report + "\n")) &&
           succeeded(dump.write(ir, "artifact", "frit", result.artifact)));
  }
}

} // namespace frit
