// All kernels of a module become one image. They are analysed, emitted, lowered, optimised and
// written out side by side, on as many threads as the machine has; those that the process has
// compiled before are taken as they are.
#include "codegen/Codegen.h"
#include "codegen/cpu/CpuSchedules.h"
#include "codegen/cpu/EmitCpuKernels.h"
#include "codegen/cpu/JoinImages.h"
#include "codegen/cpu/ObjectImage.h"

using namespace mlir;
using namespace mlir::frit;

/// The largest innermost dim that is taken apart, and the most nodes it may make.
static constexpr int64_t kMembers = 4;
static constexpr size_t kUnrolledNodes = 1200;

/// Boxes, colours, complex numbers: a vector along the few members would be mostly empty
/// or, if the members are computed apart, compute each for all. With the dim taken apart
/// the lanes run over whole structures, whose members come and go in groups.
static void takeMembersApart(KernelProgram &program) {
  program.splitDims();
  if (!program.numParallel() || program.getRank() < 2) {
    return;
  }
  unsigned last = program.numParallel() - 1;
  auto size = program.getDomain()[last].getConstant();
  if (size && *size <= kMembers && program.getNodes().size() * *size <= kUnrolledNodes &&
      (!program.numReduced() || chooseLaneDim(program) == last)) {
    program.unrollDim(last);
  }
}

static void emitKernel(const CpuKernel &kernel) {
  const KernelProgram &program = kernel.program;
  if (!program.numReduced()) {
    emitPointwise(kernel);
  } else if (isSplitReduction(program)) {
    emitSplitReduction(kernel);
  } else if (*chooseLaneDim(program) >= program.numParallel()) {
    emitRowReduction(kernel);
  } else {
    emitColumnReduction(kernel);
  }
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
  takeMembersApart(*program);
  program->assumeRanges();
  desc.name = kernel.getSymName().str();
  desc.workspaceBytes = SizeExpr::constant(kernel.getContext(), 0);
  emitKernel({out, *program, target, desc});
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
                                           CpuImage &image) {
  SmallVector<KernelOp> kernels(module.getOps<KernelOp>());
  std::vector<std::shared_ptr<const KernelCode>> codes(kernels.size());
  image.kernels.resize(kernels.size());
  KernelRequests requests;
  std::string text = target.text();
  auto compile = [&](size_t number) -> LogicalResult {
    // Descriptors belong to the context, so they are made again.
    OwningOpRef<ModuleOp> out = ModuleOp::create(kernels[number].getLoc());
    if (failed(emitKernel(kernels[number], target, *out, image.kernels[number]))) {
      return failure();
    }
    return requests.get(text, kernels[number], codes[number],
                        [&](KernelCode &made) { return compileToImage(*out, target, made); });
  };
  if (failed(forEachKernel(kernels, compile))) {
    return failure();
  }
  image.counts = requests.counts();
  return joinImages(module, codes, image);
}
