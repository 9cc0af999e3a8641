// The choice of a family for each kernel, as its schedule says; the families adapt to what the program turns out to be (a full
// reduction with kept dims is a row reduction). Then what is decided for a kernel as a whole: how exact its math has to be.

#include "codegen/gpu/GpuKernels.h"

#include "codegen/gpu/LowerToNvvm.h"
#include "codegen/gpu/PtxEmitter.h"
#include "codegen/gpu/Schedules.h"
#include "codegen/simt/LowerToSimt.h"

#include "codegen/cpu/LowerToLlvm.h"
#include "codegen/cpu/ObjectImage.h"

using namespace mlir;
using namespace mlir::frit;

/// Where every float that a kernel writes is a half type, its math may be
/// approximate: the error disappears in the last rounding. tanh.approx (2^-11) is
/// good enough for bf16 only.
static void allowApproximateMath(KernelOp kernel, gpu::GPUModuleOp module,
                                 ArrayRef<LaunchDesc> launches) {
  bool half = true, bfloat = true, any = false;
  for (Type type : kernel.getResultTypes()) {
    Type element = getElementTypeOrSelf(type);
    if (isa<FloatType>(element)) {
      any = true;
      half &= element.isF16() || element.isBF16();
      bfloat &= element.isBF16();
    } else if (!element.isInteger(1)) {
      half = false;
    }
  }
  if (!any || !half) {
    return;
  }
  for (const LaunchDesc &launch : launches) {
    module.lookupSymbol(launch.entry)->walk([&](Operation *op) {
      if (!isa<math::ExpOp>(op) && !(bfloat && isa<math::TanhOp>(op))) {
        return;
      }
      auto flags = cast<arith::ArithFastMathInterface>(op);
      auto value = flags.getFastMathFlagsAttr().getValue();
      // Without `contract` every rounding of eager is asked for.
      if (bitEnumContainsAny(value, arith::FastMathFlags::contract)) {
        op->setAttr(flags.getFastMathAttrName(),
                    arith::FastMathFlagsAttr::get(op->getContext(),
                                                  value | arith::FastMathFlags::afn));
      }
    });
  }
}

LogicalResult mlir::frit::emitGpuKernels(ModuleOp source, gpu::GPUModuleOp destination,
                                         std::vector<KernelDesc> &kernels) {
  for (auto kernel : source.getOps<KernelOp>()) {
    auto program = KernelProgram::build(kernel);
    if (failed(program)) {
      return failure();
    }
    KernelDesc desc;
    desc.name = kernel.getName().str();
    desc.workspaceBytes = SizeExpr::constant(source.getContext(), 0);
    std::optional<unsigned> lane = program->getLaneDim();
    if (program->getReduces().empty() || !lane) {
      emitGpuPointwise(destination, *program, desc);
    } else if (program->numParallel() == 0) {
      emitGpuFullReduction(destination, *program, desc);
    } else if (*lane < program->numParallel()) {
      emitGpuColumnReduction(destination, *program, desc);
    } else {
      emitGpuRowReduction(destination, *program, desc);
    }
    allowApproximateMath(kernel, destination, desc.launches);
    kernels.push_back(std::move(desc));
  }
  return success();
}

static gpu::GPUModuleOp createGpuModule(ModuleOp parent) {
  DialectRegistry registry;
  registerGpuTargetDialects(registry);
  registerLlvmLowering(registry);
  parent.getContext()->appendDialectRegistry(registry);
  parent.getContext()->loadAllAvailableDialects();
  OpBuilder builder = OpBuilder::atBlockEnd(parent.getBody());
  return gpu::GPUModuleOp::create(builder, parent.getLoc(), "kernels");
}

LogicalResult mlir::frit::generatePtx(ModuleOp module, ArrayRef<unsigned> architectures,
                                      PtxImages &images) {
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(module.getLoc());
  gpu::GPUModuleOp kernels = createGpuModule(*scratch);
  if (failed(emitGpuKernels(module, kernels, images.kernels)) || failed(lowerToNvvm(kernels))) {
    return failure();
  }
  for (unsigned arch : architectures) {
    auto text = emitPtx(kernels, arch);
    if (failed(text)) {
      return failure();
    }
    images.texts.push_back({arch, std::move(*text)});
  }
  return success();
}

LogicalResult mlir::frit::generateSimtImage(ModuleOp module, CpuLevel level, CpuImage &image) {
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(module.getLoc());
  gpu::GPUModuleOp kernels = createGpuModule(*scratch);
  OwningOpRef<ModuleOp> host = ModuleOp::create(module.getLoc());
  if (failed(emitGpuKernels(module, kernels, image.kernels)) ||
      failed(lowerToSimt(kernels, *host))) {
    return failure();
  }
  ObjectImage object;
  if (failed(compileToImage(*host, level, object))) {
    return failure();
  }
  image.bytes = std::move(object.bytes);
  for (KernelDesc &kernel : image.kernels) {
    for (LaunchDesc &launch : kernel.launches) {
      launch.offset = object.entries.lookup(launch.entry);
    }
  }
  return success();
}
