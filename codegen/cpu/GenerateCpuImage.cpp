// All kernels of a module become one image. They are analysed, emitted, lowered, optimised and written out side by side, on as many
// threads as the machine has; those that the process has compiled before are taken as they are.
#include "codegen/Codegen.h"
#include "codegen/cpu/CpuSchedules.h"
#include "codegen/cpu/EmitCpuKernels.h"
#include "codegen/cpu/KernelImages.h"

#include "mlir/IR/Threading.h"

#include <atomic>

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

static LogicalResult emitKernel(KernelOp kernel, const CpuTarget &target, ModuleOp out, KernelDesc &desc) {
  auto program = KernelProgram::build(kernel);
  if (failed(program)) {
    return failure();
  }
  if (!program->getAcross().empty()) {
    return kernel.emitError("kernel '") << kernel.getSymName() << "' reduces over its rows beside its own reductions; on a CPU those are two kernels";
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

namespace {
/// Threads for the parallel loops of a context that otherwise has none: its locks cost every pass, and threads that outlived a
/// compile would be missing after a fork.
class ThreadsInContext {
public:
  ThreadsInContext(MLIRContext *context, bool wanted) : context(context), made(wanted && !context->isMultithreadingEnabled()) {
    if (made) {
      context->enableMultithreading();
    }
  }
  ~ThreadsInContext() {
    if (made) {
      context->disableMultithreading();
    }
  }

private:
  MLIRContext *context;
  bool made;
};
} // namespace

/// What becomes machine code, and with it what the code depends on: the CPU and the kernel, name and facts included.
static std::string textOf(KernelOp kernel, const CpuTarget &target) {
  std::string text = target.text() + " ";
  llvm::raw_string_ostream stream(text);
  kernel->print(stream, OpPrintingFlags().useLocalScope());
  return text;
}

/// Puts the kernels one behind the other and finds their launches' entries.
static LogicalResult join(ModuleOp module, ArrayRef<std::shared_ptr<const ObjectImage>> objects, CpuImage &image) {
  for (auto [object, kernel] : llvm::zip_equal(objects, image.kernels)) {
    uint64_t base = llvm::alignTo(image.bytes.size(), kImageAlignment);
    image.bytes.resize(base, '\0');
    image.bytes += object->bytes;
    std::string missing;
    kernel.forEachLaunch([&, &object = object](LaunchDesc &launch) {
      auto entry = object->entries.find(launch.entry);
      if (entry == object->entries.end()) {
        missing = launch.entry;
        return;
      }
      launch.offset = base + entry->second;
    });
    if (!missing.empty()) {
      return module.emitError("image lacks the entry '") << missing << "'";
    }
  }
  return success();
}

LogicalResult mlir::frit::generateCpuImage(ModuleOp module, const CpuTarget &target,
                                           CpuImage &image) {
  SmallVector<KernelOp> kernels(module.getOps<KernelOp>());
  std::vector<std::shared_ptr<const ObjectImage>> objects(kernels.size());
  image.kernels.resize(kernels.size());
  std::atomic<unsigned> reused = 0;
  auto compile = [&](size_t number) -> LogicalResult {
    // Descriptors belong to the context, so they are made again.
    OwningOpRef<ModuleOp> out = ModuleOp::create(module.getLoc());
    if (failed(emitKernel(kernels[number], target, *out, image.kernels[number]))) {
      return failure();
    }
    std::string text = textOf(kernels[number], target);
    if ((objects[number] = KernelImages::ofProcess().find(text))) {
      ++reused;
      return success();
    }
    auto object = std::make_shared<ObjectImage>();
    if (failed(compileToImage(*out, target, *object))) {
      return failure();
    }
    KernelImages::ofProcess().add(text, object);
    objects[number] = std::move(object);
    return success();
  };
  // The longest first, or one thread would still be busy with it when the others have run out of work.
  SmallVector<size_t> lengths;
  for (KernelOp kernel : kernels) {
    kernel->walk([&, &length = lengths.emplace_back(0)](Operation *) { ++length; });
  }
  auto order = llvm::to_vector(llvm::seq(kernels.size()));
  llvm::sort(order, [&](size_t a, size_t b) { return std::pair(lengths[b], a) < std::pair(lengths[a], b); });
  ThreadsInContext threads(module.getContext(), kernels.size() > 1);
  if (failed(failableParallelForEach(module.getContext(), order, compile))) {
    return failure();
  }
  image.reused = reused;
  return join(module, objects, image);
}
