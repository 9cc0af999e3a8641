// Compiles all kernels of a module to one image. They are analysed, emitted, lowered, optimised and
// written in parallel, on as many threads as the machine has; kernels that the process has compiled
// before are reused.
#include "codegen/Codegen.h"
#include "codegen/cpu/CpuSchedules.h"
#include "codegen/cpu/EmitCpuKernels.h"
#include "codegen/cpu/JoinImages.h"
#include "codegen/cpu/LowerToLlvm.h"
#include "codegen/cpu/ObjectImage.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::frit;

static void emitKernel(const CpuKernel &kernel, Attribute schedule) {
  llvm::TypeSwitch<Attribute>(schedule)
      .Case([&](CpuPointwiseAttr pointwise) { emitPointwise(kernel, pointwise); })
      .Case([&](CpuRowsAttr rows) {
        rows.getSplitElements() > 0 ? emitSplitReduction(kernel, rows)
                                    : emitRowReduction(kernel, rows);
      })
      .Case([&](CpuColumnsAttr columns) { emitColumnReduction(kernel, columns); });
}

static bool unrollsMembers(Attribute schedule) {
  return schedule && llvm::TypeSwitch<Attribute, bool>(schedule)
                         .Case<CpuPointwiseAttr, CpuRowsAttr, CpuColumnsAttr>(
                             [](auto one) { return one.getUnrollMembers(); });
}

static LogicalResult emitKernel(KernelOp kernel, const CpuTarget &target, ModuleOp out,
                                KernelDesc &desc) {
  auto program = KernelProgram::build(kernel);
  if (failed(program)) {
    return failure();
  }
  if (!program->getAcross().empty()) {
    return kernel.emitError("kernel '")
           << kernel.getSymName()
           << "' reduces over its rows beside its own reductions; on a CPU those are two kernels";
  }
  for (unsigned id : program->getReduces()) {
    if (cast<ReduceOp>((*program)[id].op).getKind() == ReduceKind::Deviations) {
      return kernel.emitError("kernel '")
             << kernel.getSymName() << "' uses a single-pass variance, which only the GPU supports";
    }
  }
  Attribute schedule = kernel.getCpuScheduleAttr();
  program->splitDims();
  if (unrollsMembers(schedule) && program->numParallel() > 0) {
    program->unrollDim(program->numParallel() - 1);
  }
  program->assumeRanges();
  if (failed(checkSchedule(*program, target, schedule))) {
    return failure();
  }
  desc.name = kernel.getSymName().str();
  desc.workspaceBytes = SizeExpr::constant(kernel.getContext(), 0);
  emitKernel({out, *program, target, desc}, schedule);
  return success();
}

LogicalResult mlir::frit::emitCpuKernels(ModuleOp module, const CpuTarget &target, ModuleOp out,
                                         std::vector<KernelDesc> &kernels) {
  for (auto kernel : module.getOps<KernelOp>()) {
    if (failed(emitKernel(kernel, target, out, kernels.emplace_back()))) {
      return failure();
    }
  }
  return success();
}

LogicalResult mlir::frit::generateCpuImage(ModuleOp module, const CpuTarget &target,
                                           CpuImage &image, bool keepsLlvmIr) {
  SmallVector<KernelOp> kernels(module.getOps<KernelOp>());
  std::vector<std::shared_ptr<const KernelCode>> codes(kernels.size());
  image.kernels.resize(kernels.size());
  KernelRequests requests(keepsLlvmIr);
  LlvmLowering lowering;
  std::string text = target.text();
  auto compile = [&](size_t number) -> LogicalResult {
    // Descriptors belong to the context, so they are built even if the code is reused.
    OwningOpRef<ModuleOp> out = ModuleOp::create(kernels[number].getLoc());
    if (failed(emitKernel(kernels[number], target, *out, image.kernels[number]))) {
      return failure();
    }
    return requests.get(text, kernels[number], codes[number], [&](KernelCode &made) {
      return compileToImage(*out, lowering, target, made);
    });
  };
  if (failed(forEachKernel(kernels, compile))) {
    return failure();
  }
  image.counts = requests.counts();
  return joinImages(module, codes, image);
}
