// The one place that knows which generators exist.

#include "compiler/TargetCode.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;

FailureOr<std::vector<TargetCode>> generateCode(ModuleOp module, const CompileOptions &options) {
  std::vector<TargetCode> code;
  bool hasKernels = !module.getOps<KernelOp>().empty();
  for (const std::string &target : options.targets) {
    TargetCode one;
    one.target = target == "cpu" ? format::Target::Cpu : target == "simt" ? format::Target::Simt : format::Target::Gpu;
    if (hasKernels) {
      return module.emitError() << "no generator for target '" << target << "'";
    }
    if (llvm::none_of(code, [&](const TargetCode &other) { return other.target == one.target; })) {
      code.push_back(std::move(one));
    }
  }
  return code;
}

} // namespace frit
