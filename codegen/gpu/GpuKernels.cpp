// Emits each kernel as its schedule says, in its variants. Each kernel becomes code in modules of
// its own, so its code depends on nothing else in its graph.

#include "codegen/gpu/GpuKernels.h"

#include "codegen/CompiledKernels.h"
#include "codegen/gpu/kernels/Schedules.h"
#include "codegen/gpu/ptx/JoinPtx.h"
#include "codegen/gpu/ptx/LowerToNvvm.h"
#include "codegen/gpu/ptx/PtxEmitter.h"
#include "codegen/simt/LowerToSimt.h"

#include "codegen/cpu/JoinImages.h"
#include "codegen/cpu/LowerToLlvm.h"
#include "codegen/cpu/ObjectImage.h"
#include "ir/FritAttributes.h"
#include "ir/KernelLists.h"
#include "kernel/GpuProgram.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Threading.h"

using namespace mlir;
using namespace mlir::frit;

namespace {
/// The modules for the hot and the cold entries of a kernel. Both may be the same module.
struct Destination {
  gpu::GPUModuleOp hot, cold;

  gpu::GPUFuncOp find(StringRef entry) const {
    gpu::GPUModuleOp first = hot, second = cold;
    auto function = first.lookupSymbol<gpu::GPUFuncOp>(entry);
    return function ? function : second.lookupSymbol<gpu::GPUFuncOp>(entry);
  }
};
} // namespace

/// Reports a kernel that no GPU can launch. The shared memory limit is the smallest per-block
/// maximum of sm_80 to sm_120.
static LogicalResult checkLimits(KernelOp kernel, const Destination &destination,
                                 const KernelDesc &desc) {
  constexpr uint32_t mostSharedBytes = 99 << 10, mostParameterBytes = 4096;
  for (const LaunchDesc &launch : desc.launches) {
    // Variants use no more than the generic kernel.
    if (launch.sharedBytes > mostSharedBytes) {
      return kernel.emitError("kernel '")
             << desc.name << "' needs " << launch.sharedBytes
             << " bytes of shared memory a block, a GPU has " << mostSharedBytes
             << "; compile with fewer reductions in one kernel (fusion=False)";
    }
    gpu::GPUFuncOp function = destination.find(launch.entry);
    IntegerAttr table = kTableAttr.get(function);
    int64_t bytes = table ? table.getInt() : 8 * static_cast<int64_t>(function.getNumArguments());
    int64_t most = launch.listItems ? kMostListBytes : mostParameterBytes;
    if (bytes > most) {
      return kernel.emitError("kernel '")
             << desc.name << "' takes " << bytes << " bytes of parameters, a GPU allows " << most
             << "; compile with fewer tensors in one kernel (fusion=False)";
    }
  }
  return success();
}

std::string mlir::frit::addLaunch(KernelDesc &desc, std::string entry, SizeExpr grid,
                                  uint32_t threads, uint32_t sharedBytes) {
  LaunchDesc launch;
  launch.entry = std::move(entry);
  launch.block[0] = threads;
  launch.grid[0] = grid;
  launch.grid[1] = launch.grid[2] = SizeExpr::constant(SizeAttr(grid).getContext(), 1);
  launch.sharedBytes = sharedBytes;
  desc.launches.push_back(launch);
  return launch.entry;
}

std::string mlir::frit::getNumberedEntry(const KernelDesc &desc) {
  return desc.name + "_" + std::to_string(desc.launches.size());
}

static void emitFamily(gpu::GPUModuleOp module, const KernelProgram &program, KernelDesc &desc,
                       bool isInPlace) {
  desc.workspaceBytes = SizeExpr::constant(program.getContext(), 0);
  (void)visitGpuSchedule(KernelOp(program.getKernel()).getGpuScheduleAttr(), [&](auto as) {
    emitGpuKernel(module, program, as, desc, isInPlace);
    return success();
  });
}

namespace {
/// Emits the variants of one kernel.
class VariantEmitter {
public:
  VariantEmitter(Destination to, bool isInPlace) : to(to), isInPlace(isInPlace) {}

  /// In the order in which they are tried; the last one is generic and always applies.
  std::vector<VariantDesc> variants;

  /// Emits the kernel for the sizes and pointers that `program` assumes. The first goes to the hot
  /// module.
  void emit(const KernelProgram &program, std::string name, std::optional<unsigned> number) {
    gpu::GPUModuleOp module = variants.empty() ? to.hot : to.cold;
    KernelDesc one;
    one.name = std::move(name);
    emitFamily(module, program, one, isInPlace);
    variants.push_back({number, {}, std::move(one.launches), one.workspaceBytes});
    for (const LaunchDesc &launch : variants.back().launches) {
      noteAlignment(module.lookupSymbol<gpu::GPUFuncOp>(launch.entry), variants.back().aligned);
    }
  }

  /// Emits a variant for pointers aligned for vector accesses and one for any pointers. Where
  /// run-time sizes decide whether vectors can be used, one kernel contains both paths and tests
  /// the pointers too: sizes change from call to call, and loading the cold module would delay a
  /// call.
  void emitByPointers(KernelProgram program, const std::string &name,
                      std::optional<unsigned> number) {
    program.setPointers(PointerAlignment::Aligned);
    emit(program, name, number);
    if (variants.back().aligned.empty()) {
      return;
    }
    auto hasSizePaths = [&](const LaunchDesc &launch) {
      return kSizePathsAttr.isOn(to.find(launch.entry));
    };
    if (llvm::any_of(variants.back().launches, hasSizePaths)) {
      for (const LaunchDesc &launch : variants.back().launches) {
        to.find(launch.entry).erase();
      }
      variants.pop_back();
      program.setPointers(PointerAlignment::Tested);
      return emit(program, name, number);
    }
    program.setPointers(PointerAlignment::Any);
    emit(program, name + "_u", number);
    // Launches without vector accesses (folds of partial results in the workspace) are the same in
    // both variants.
    for (auto [vectors, any] :
         llvm::zip_equal(variants[variants.size() - 2].launches, variants.back().launches)) {
      std::vector<AlignedTensor> aligned;
      noteAlignment(to.find(vectors.entry), aligned);
      if (aligned.empty()) {
        to.find(any.entry).erase();
        any.entry = vectors.entry;
      }
    }
  }

private:
  /// Reads the `llvm.align` attributes of the pointers, which are the first arguments.
  static void noteAlignment(gpu::GPUFuncOp function, std::vector<AlignedTensor> &aligned) {
    for (unsigned number = 0; number < function.getNumArguments(); ++number) {
      auto bytes =
          function.getArgAttrOfType<IntegerAttr>(number, LLVM::LLVMDialect::getAlignAttrName());
      if (!bytes) {
        continue;
      }
      auto known =
          llvm::find_if(aligned, [&](const AlignedTensor &one) { return one.number == number; });
      AlignedTensor &one =
          known == aligned.end() ? aligned.emplace_back(AlignedTensor{number, 1}) : *known;
      one.bytes = std::max(one.bytes, static_cast<uint32_t>(bytes.getInt()));
    }
  }

  Destination to;
  bool isInPlace;
};
} // namespace

/// Variants have the same schedule, so the same order of additions, and 32-bit indices. A variant
/// whose addresses do not provably fit under its assumptions is left out.
static void emitVariants(VariantEmitter &emitter, const KernelProgram &program,
                         const std::string &name) {
  if (program.getKernel().getList()) {
    return emitter.emit(program, name, std::nullopt);
  }
  ArrayAttr proposed = program.getKernel().getVariantsAttr();
  if (!proposed || fitsIn32Bits(program)) {
    return emitter.emitByPointers(program, name, std::nullopt);
  }
  for (auto [number, variant] : llvm::enumerate(proposed.getAsRange<VariantAttr>())) {
    KernelProgram narrow = program;
    narrow.assume(variant.getAssumptions());
    if (fitsIn32Bits(narrow)) {
      emitter.emitByPointers(narrow, name + "_v" + std::to_string(number), number);
    }
  }
  emitter.variants.empty() ? emitter.emitByPointers(program, name, std::nullopt)
                           : emitter.emit(program, name, std::nullopt);
}

static LogicalResult emitKernel(KernelOp kernel, const SharedPointers &sharedPointers,
                                Destination destination, KernelDesc &desc) {
  desc.name = kernel.getName().str();
  bool isInPlace = !sharedPointers.empty();
  auto program = buildGpuProgram(kernel, isInPlace);
  if (failed(program) || failed(checkGpuSchedule(*program))) {
    return failure();
  }
  VariantEmitter emitter(destination, isInPlace);
  emitVariants(emitter, *program, desc.name);
  desc.launches = std::move(emitter.variants.back().launches);
  desc.workspaceBytes = emitter.variants.back().workspaceBytes;
  emitter.variants.pop_back();
  desc.variants = std::move(emitter.variants);
  if (failed(checkLimits(kernel, destination, desc))) {
    return failure();
  }
  desc.forEachLaunch([&](const LaunchDesc &launch) {
    gpu::GPUFuncOp function = destination.find(launch.entry);
    for (unsigned pointer : sharedPointers) {
      function.removeArgAttr(pointer, "llvm.noalias");
      function.removeArgAttr(pointer, "llvm.readonly");
    }
  });
  return success();
}

LogicalResult mlir::frit::emitGpuKernels(ModuleOp source, gpu::GPUModuleOp destination,
                                         std::vector<KernelDesc> &kernels) {
  auto shared = findSharedPointers(source);
  for (auto kernel : source.getOps<KernelOp>()) {
    if (failed(emitKernel(kernel, shared.lookup(kernel.getName()), {destination, destination},
                          kernels.emplace_back()))) {
      return failure();
    }
  }
  return success();
}

namespace {
/// A kernel after emission, before lowering.
struct Emitted {
  KernelOp kernel;
  /// The hot and the cold module; the same one where all entries are compiled together.
  Destination modules;
  /// Which pointers share storage. The code depends on it, and the text of the kernel does not show
  /// it, so it is part of the key.
  std::string sharing;
};
} // namespace

/// Emits the kernels of `source` in parallel, each into modules of its own, and calls `compile`
/// with the number of each. `isApart`: the hot and the cold module are separate.
static LogicalResult emitEach(ModuleOp source, std::vector<KernelDesc> &descs, bool isApart,
                              llvm::function_ref<LogicalResult(size_t, const Emitted &)> compile) {
  DialectRegistry registry;
  registerGpuTargetDialects(registry);
  registerLlvmLowering(registry);
  source.getContext()->appendDialectRegistry(registry);
  source.getContext()->loadAllAvailableDialects();
  SmallVector<KernelOp> kernels(source.getOps<KernelOp>());
  descs.resize(kernels.size());
  auto shared = findSharedPointers(source);
  auto emit = [&](size_t number) -> LogicalResult {
    KernelOp kernel = kernels[number];
    OwningOpRef<ModuleOp> scratch = ModuleOp::create(kernel.getLoc());
    OpBuilder builder = OpBuilder::atBlockEnd(scratch->getBody());
    auto module = gpu::GPUModuleOp::create(builder, kernel.getLoc(), kernel.getName());
    auto cold = isApart ? gpu::GPUModuleOp::create(builder, kernel.getLoc(),
                                                   (kernel.getName() + "_cold").str())
                        : module;
    Emitted emitted = {kernel, {module, cold}, ""};
    auto pointers = shared.find(kernel.getName());
    if (pointers != shared.end()) {
      SmallVector<unsigned> numbers(pointers->second.begin(), pointers->second.end());
      llvm::sort(numbers);
      llvm::raw_string_ostream stream(emitted.sharing);
      llvm::interleave(numbers, stream << " shared ", ",");
    }
    if (failed(emitKernel(kernel, pointers == shared.end() ? SharedPointers() : pointers->second,
                          emitted.modules, descs[number]))) {
      return failure();
    }
    return compile(number, emitted);
  };
  return forEachKernel(kernels, emit, /*hasParts=*/isApart);
}

LogicalResult mlir::frit::generatePtx(ModuleOp module, ArrayRef<unsigned> architectures,
                                      PtxImages &images, bool keepsLlvmIr) {
  auto numKernels = llvm::range_size(module.getOps<KernelOp>());
  using Codes = std::vector<std::shared_ptr<const KernelCode>>;
  std::vector<Codes> codes(architectures.size(), Codes(numKernels));
  KernelRequests requests(keepsLlvmIr);
  auto compile = [&](size_t number, const Emitted &emitted) -> LogicalResult {
    bool isLowered = false;
    for (auto [arch, ofArch] : llvm::zip_equal(architectures, codes)) {
      auto compileFor = [&, arch = arch](KernelCode &made) -> LogicalResult {
        // The hot and the cold module are compiled in parallel, which matters for a graph of one
        // kernel.
        std::string coldIr;
        std::tuple<gpu::GPUModuleOp, std::string *, std::string *> modules[] = {
            {emitted.modules.hot, &made.bytes, made.llvmIr ? &*made.llvmIr : nullptr},
            {emitted.modules.cold, &made.cold, made.llvmIr ? &coldIr : nullptr}};
        auto compileModule = [&](auto &part) -> LogicalResult {
          auto [module, to, llvmIr] = part;
          if (module.getBody()->empty()) {
            return success(); // there is no cold variant
          }
          if (!isLowered && failed(lowerToNvvm(module))) {
            return failure();
          }
          auto text = emitPtx(module, arch, llvmIr);
          if (failed(text)) {
            return failure();
          }
          *to = std::move(*text);
          return success();
        };
        if (failed(failableParallelForEach(module.getContext(), modules, compileModule))) {
          return failure();
        }
        if (made.llvmIr) {
          *made.llvmIr += coldIr;
        }
        isLowered = true;
        return success();
      };
      if (failed(requests.get("sm_" + std::to_string(arch) + emitted.sharing, emitted.kernel,
                              ofArch[number], compileFor))) {
        return failure();
      }
    }
    return success();
  };
  if (failed(emitEach(module, images.kernels, /*isApart=*/true, compile))) {
    return failure();
  }
  for (bool isCold : {false, true}) {
    for (auto [arch, ofArch] : llvm::zip_equal(architectures, codes)) {
      SmallVector<StringRef> texts;
      for (const auto &code : ofArch) {
        const std::string &text = isCold ? code->cold : code->bytes;
        if (!isCold || !text.empty()) {
          texts.push_back(text);
        }
      }
      if (isCold && texts.empty()) {
        continue;
      }
      PtxImages::Text &text = images.texts.emplace_back(PtxImages::Text{arch, "", isCold});
      if (std::string problem = joinPtx(texts, text.ptx); !problem.empty()) {
        return module.emitError(problem);
      }
      if (!isCold) {
        for (const auto &code : ofArch) {
          text.llvmIr += code->llvmIr.value_or("");
        }
      }
    }
  }
  images.counts = requests.counts();
  return success();
}

LogicalResult mlir::frit::generateSimtImage(ModuleOp module, CpuLevel level, CpuImage &image,
                                            bool keepsLlvmIr) {
  CpuTarget target{level};
  std::vector<std::shared_ptr<const KernelCode>> codes(llvm::range_size(module.getOps<KernelOp>()));
  KernelRequests requests(keepsLlvmIr);
  LlvmLowering lowering;
  auto compile = [&](size_t number, const Emitted &emitted) -> LogicalResult {
    return requests.get("simt on " + target.text() + emitted.sharing, emitted.kernel, codes[number],
                        [&](KernelCode &made) {
                          OwningOpRef<ModuleOp> host =
                              ModuleOp::create(KernelOp(emitted.kernel).getLoc());
                          rewriteApproximateMath(emitted.modules.hot);
                          return failure(failed(lowerToSimt(emitted.modules.hot, *host)) ||
                                         failed(compileToImage(*host, lowering, target, made)));
                        });
  };
  if (failed(emitEach(module, image.kernels, /*isApart=*/false, compile))) {
    return failure();
  }
  image.counts = requests.counts();
  return joinImages(module, codes, image);
}
