// The one place that knows which generators exist.

#include "compiler/TargetCode.h"

namespace frit {
using namespace mlir;
using namespace mlir::frit;

static CpuTarget cpuTarget(const std::string &name) {
  CpuTarget target = CpuTarget::host();
  if (name != "host") {
    target.level = name == "x86-64-v4" ? CpuLevel::X86_64_V4 : CpuLevel::X86_64_V3;
  }
  return target;
}

static LogicalResult addCpuCode(ModuleOp module, const CompileOptions &options, TargetCode &code) {
  CpuTarget target = cpuTarget(options.cpu);
  CpuImage image;
  if (failed(generateCpuImage(module, target, image))) {
    return failure();
  }
  auto entry = std::make_unique<format::CodeImageT>();
  entry->kind = format::ImageKind::Cpu;
  entry->level = target.level == CpuLevel::X86_64_V4 ? "x86-64-v4" : "x86-64-v3";
  entry->bytes.assign(image.bytes.begin(), image.bytes.end());
  for (const KernelDesc &kernel : image.kernels) {
    for (const LaunchDesc &launch : kernel.launches) {
      auto one = std::make_unique<format::EntryT>();
      one->name = launch.entry;
      one->offset = launch.offset;
      entry->entries.push_back(std::move(one));
    }
  }
  code.kernels = std::move(image.kernels);
  code.images.push_back(std::move(entry));
  return success();
}

FailureOr<std::vector<TargetCode>> generateCode(ModuleOp module, const CompileOptions &options) {
  std::vector<TargetCode> code;
  bool hasKernels = !module.getOps<KernelOp>().empty();
  for (const std::string &target : options.targets) {
    TargetCode one;
    one.target = target == "cpu" ? format::Target::Cpu : target == "simt" ? format::Target::Simt : format::Target::Gpu;
    if (hasKernels && one.target == format::Target::Cpu) {
      if (failed(addCpuCode(module, options, one))) {
        return failure();
      }
    } else if (hasKernels) {
      return module.emitError() << "no generator for target '" << target << "'";
    }
    if (llvm::none_of(code, [&](const TargetCode &other) { return other.target == one.target; })) {
      code.push_back(std::move(one));
    }
  }
  return code;
}

} // namespace frit
