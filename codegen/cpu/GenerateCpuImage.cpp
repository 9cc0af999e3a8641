// All kernels of a module become one image: analysed and emitted one by one,
// lowered, optimised and written out together.
#include "codegen/Codegen.h"
#include "codegen/cpu/CpuSchedules.h"
#include "codegen/cpu/EmitCpuKernels.h"
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
      (!program.numReduced() || program.getLaneDim() == last)) {
    program.unrollDim(last);
  }
}

static void emitKernel(const CpuKernel &kernel) {
  const KernelProgram &program = kernel.program;
  if (!program.numReduced()) {
    emitPointwise(kernel);
  } else if (isSplitReduction(program)) {
    emitSplitReduction(kernel);
  } else if (*program.getLaneDim() >= program.numParallel()) {
    emitRowReduction(kernel);
  } else {
    emitColumnReduction(kernel);
  }
}

/// What a kernel proposes for sizes it may rely on: the same schedule, which keeps more of a row in scratch when it is known to be
/// short. Sums are added in the same order.
static void emitVariants(ModuleOp out, const KernelProgram &program, const CpuTarget &target, KernelDesc &desc) {
  auto proposed = program.getKernel()->getAttrOfType<ArrayAttr>("frit.variants");
  if (!proposed) {
    return;
  }
  for (auto [number, variant] : llvm::enumerate(proposed.getAsRange<VariantAttr>())) {
    KernelProgram bounded = program;
    bounded.assume(variant.getAssumptions());
    KernelDesc one;
    one.name = desc.name + "_v" + std::to_string(number);
    one.workspaceBytes = desc.workspaceBytes;
    emitKernel({out, bounded, target, one});
    desc.variants.push_back({static_cast<unsigned>(number), std::move(one.launches), one.workspaceBytes});
  }
}

LogicalResult mlir::frit::emitCpuKernels(ModuleOp module, const CpuTarget &target, ModuleOp out,
                                         std::vector<KernelDesc> &kernels) {
  SizeExpr none = SizeExpr::constant(module.getContext(), 0);
  for (auto kernel : module.getOps<KernelOp>()) {
    auto program = KernelProgram::build(kernel);
    if (failed(program)) {
      return failure();
    }
    takeMembersApart(*program);
    program->assumeRanges();
    KernelDesc desc;
    desc.name = kernel.getSymName().str();
    desc.workspaceBytes = none;
    emitKernel({out, *program, target, desc});
    emitVariants(out, *program, target, desc);
    kernels.push_back(std::move(desc));
  }
  return success();
}

LogicalResult mlir::frit::generateCpuImage(ModuleOp module, const CpuTarget &target,
                                           CpuImage &image) {
  OwningOpRef<ModuleOp> out = ModuleOp::create(module.getLoc());
  if (failed(emitCpuKernels(module, target, *out, image.kernels))) {
    return failure();
  }
  ObjectImage object;
  if (failed(compileToImage(*out, target.level, object))) {
    return failure();
  }
  image.bytes = std::move(object.bytes);
  for (KernelDesc &kernel : image.kernels) {
    std::string missing;
    kernel.forEachLaunch([&](LaunchDesc &launch) {
      auto entry = object.entries.find(launch.entry);
      if (entry == object.entries.end()) {
        missing = launch.entry;
        return;
      }
      launch.offset = entry->second;
    });
    if (!missing.empty()) {
      return module.emitError("image lacks the entry '") << missing << "'";
    }
  }
  return success();
}
