// Selects the code generator for each target.

#include "compiler/TargetCode.h"

#include "codegen/gpu/ptx/JoinPtx.h"
#include "codegen/simt/SimtLayout.h"
#include "runtime/artifact/GpuCode.h"
#include "runtime/artifact/SimtAbi.h"

namespace frit {

namespace layout = mlir::frit::simt_layout;
static_assert(offsetof(SimtContext, pointers) == layout::kPointers &&
              offsetof(SimtContext, ints) == layout::kInts &&
              offsetof(SimtContext, floats) == layout::kFloats &&
              offsetof(SimtContext, workspace) == layout::kWorkspace &&
              offsetof(SimtContext, shared) == layout::kShared &&
              offsetof(SimtContext, operations) == layout::kOperations &&
              offsetof(SimtContext, callbacks) == layout::kCallbacks &&
              offsetof(SimtContext, threadId) == layout::kThreadId &&
              offsetof(SimtContext, blockId) == layout::kBlockId &&
              offsetof(SimtContext, blockDim) == layout::kBlockDim &&
              offsetof(SimtContext, gridDim) == layout::kGridDim);
static_assert(offsetof(SimtOperations, access) == layout::kAccess &&
              offsetof(SimtOperations, barrier) == layout::kBarrier &&
              offsetof(SimtOperations, shuffle) == layout::kShuffle &&
              offsetof(SimtOperations, fail) == layout::kFail &&
              offsetof(SimtOperations, clusterBarrier) == layout::kClusterBarrier &&
              offsetof(SimtOperations, mapShared) == layout::kMapShared &&
              offsetof(SimtOperations, approximate) == layout::kApproximate &&
              offsetof(SimtOperations, expect) == layout::kExpect &&
              offsetof(SimtOperations, send) == layout::kSend &&
              offsetof(SimtOperations, await) == layout::kAwait);
static_assert(std::size(layout::kApproximations) ==
              static_cast<size_t>(SimtApproximation::Exp2Flushed) + 1);
static_assert(::frit::kPtxKernelMark == std::string_view(mlir::frit::kPtxKernelMark.data(),
                                                         mlir::frit::kPtxKernelMark.size()));
static_assert(kSimtStore == layout::kStoreFlag && kSimtShared == layout::kSharedFlag);
static_assert(std::size(layout::kUnary) == kUnaryCallbackCount &&
              std::size(layout::kBinary) == kBinaryCallbackCount);

using namespace mlir;
using namespace mlir::frit;

/// The CPUs among the targets, the best first: a reader takes the first that it can run.
static std::vector<CpuTarget> cpusOf(const CompileOptions &options) {
  std::vector<CpuTarget> cpus;
  for (StringRef target : options.targets) {
    if (target == "cpu" || target.consume_front("cpu:")) {
      CpuTarget cpu;
      // The options are already checked.
      (void)CpuTarget::parse(target == "cpu" ? StringRef(options.cpu) : target, cpu);
      if (llvm::none_of(cpus, [&](const CpuTarget &other) { return other.text() == cpu.text(); })) {
        cpus.push_back(std::move(cpu));
      }
    }
  }
  auto rank = [](const CpuTarget &cpu) {
    return std::tuple(cpu.level, cpu.features.size(), cpu.features);
  };
  llvm::sort(cpus, [&](const CpuTarget &a, const CpuTarget &b) { return rank(b) < rank(a); });
  return cpus;
}

std::string lowestCpuLevel(const CompileOptions &options) {
  std::vector<CpuTarget> cpus = cpusOf(options);
  return (cpus.empty() ? CpuTarget() : cpus.back()).levelName().str();
}

/// Host code: kernels for the CPU itself, or GPU kernels for the emulator.
static LogicalResult addHostCode(ModuleOp module, const CpuTarget &target, format::ImageKind kind,
                                 bool keepsLlvmIr, TargetCode &code) {
  CpuImage image;
  bool isSimt = kind == format::ImageKind::Simt;
  if (failed(isSimt ? generateSimtImage(module, target.level, image, keepsLlvmIr)
                    : generateCpuImage(module, target, image, keepsLlvmIr))) {
    return failure();
  }
  if (keepsLlvmIr) {
    code.llvmIr.emplace_back(isSimt ? "simt" : target.text(), std::move(image.llvmIr));
  }
  auto entry = std::make_unique<format::CodeImageT>();
  entry->kind = kind;
  entry->level = target.levelName().str();
  entry->features = target.features;
  entry->bytes.assign(image.bytes.begin(), image.bytes.end());
  for (const KernelDesc &kernel : image.kernels) {
    kernel.forEachLaunch([&](const LaunchDesc &launch) {
      if (llvm::any_of(entry->entries,
                       [&](const auto &known) { return known->name == launch.entry; })) {
        return; // variants share it
      }
      auto one = std::make_unique<format::EntryT>();
      one->name = launch.entry;
      one->offset = launch.offset;
      entry->entries.push_back(std::move(one));
    });
  }
  code.kernels = std::move(image.kernels);
  code.counts = image.counts;
  code.images.push_back(std::move(entry));
  return success();
}

/// The GPU architectures, oldest first.
static std::vector<unsigned> architecturesOf(const CompileOptions &options) {
  std::vector<unsigned> architectures;
  for (StringRef target : options.targets) {
    unsigned number;
    if (target.consume_front("sm_") && !target.getAsInteger(10, number) &&
        !llvm::is_contained(architectures, number)) {
      architectures.push_back(number);
    }
  }
  llvm::sort(architectures);
  return architectures;
}

unsigned oldestArchitecture(const CompileOptions &options) {
  std::vector<unsigned> architectures = architecturesOf(options);
  return architectures.empty() ? 90 : architectures.front();
}

/// Adds PTX for each architecture, oldest first: a device takes the newest that it can run. Cold
/// code is separate and is loaded when it is first needed.
static LogicalResult addGpuCode(ModuleOp module, const CompileOptions &options, TargetCode &code) {
  std::vector<unsigned> architectures = architecturesOf(options);
  PtxImages images;
  bool keepsLlvmIr = !options.dumpFolder.empty();
  if (failed(generatePtx(module, architectures, images, keepsLlvmIr))) {
    return failure();
  }
  for (PtxImages::Text &text : images.texts) {
    if (keepsLlvmIr && !text.isCold) {
      code.llvmIr.emplace_back("sm_" + std::to_string(text.arch), std::move(text.llvmIr));
    }
    auto one = std::make_unique<format::GpuModuleT>();
    one->kind = format::GpuCodeKind::Ptx;
    one->arch = text.arch;
    one->bytes.assign(text.ptx.begin(), text.ptx.end());
    for (const KernelDesc &kernel : images.kernels) {
      kernel.forEachLaunch([&](const LaunchDesc &launch) {
        bool isHot = llvm::any_of(kernel.getHot(),
                                  [&](const LaunchDesc &hot) { return hot.entry == launch.entry; });
        if (isHot != text.isCold && !llvm::is_contained(one->entries, launch.entry)) {
          one->entries.push_back(launch.entry);
        }
      });
    }
    code.modules.push_back(std::move(one));
  }
  code.kernels = std::move(images.kernels);
  code.counts = images.counts;
  return success();
}

std::vector<PlanTarget> targetsOf(const CompileOptions &options) {
  std::vector<PlanTarget> targets;
  std::vector<CpuTarget> cpus = cpusOf(options);
  for (const std::string &name : options.targets) {
    auto target = StringRef(name).starts_with("cpu") ? format::Target::Cpu
                  : name == "simt"                   ? format::Target::Simt
                                                     : format::Target::Gpu;
    if (llvm::any_of(targets, [&](const PlanTarget &other) { return other.target == target; })) {
      continue;
    }
    if (target == format::Target::Cpu) {
      for (const CpuTarget &cpu : cpus) {
        targets.push_back({target, cpu});
      }
      continue;
    }
    // The emulation must run on every machine that the file supports.
    CpuTarget cpu;
    (void)CpuTarget::parse(cpus.empty() ? options.cpu : cpus.back().text(), cpu);
    targets.push_back({target, cpu});
  }
  return targets;
}

FailureOr<TargetCode> generateCode(ModuleOp module, const CompileOptions &options,
                                   const PlanTarget &target) {
  TargetCode code;
  code.target = target.target;
  code.module = module;
  if (module.getOps<KernelOp>().empty()) {
    return code;
  }
  LogicalResult made =
      target.target == format::Target::Gpu
          ? addGpuCode(module, options, code)
          : addHostCode(module, target.cpu,
                        target.target == format::Target::Cpu ? format::ImageKind::Cpu
                                                             : format::ImageKind::Simt,
                        !options.dumpFolder.empty(), code);
  if (failed(made)) {
    return failure();
  }
  return code;
}

} // namespace frit
