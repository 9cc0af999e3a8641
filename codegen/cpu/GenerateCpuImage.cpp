// All kernels of a module become one image. Parts of it are analysed, emitted, lowered, optimised and written out side by side,
// on as many threads as the machine has.
#include "codegen/Codegen.h"
#include "codegen/cpu/CpuSchedules.h"
#include "codegen/cpu/EmitCpuKernels.h"
#include "codegen/cpu/ObjectImage.h"

#include "mlir/IR/Threading.h"

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
/// Neighbouring kernels that become machine code together, and what became of them.
struct Part {
  unsigned begin = 0, end = 0;
  size_t operations = 0;
  ObjectImage object;
};

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

/// Setting up LLVM for a part takes about a millisecond, a few operations' time, so the smallest kernels share one. Depends on the
/// kernels alone: the image is the same however many threads make it.
static constexpr size_t kOperationsPerPart = 12;

static std::vector<Part> divide(ArrayRef<KernelOp> kernels) {
  std::vector<Part> parts;
  for (auto [number, kernel] : llvm::enumerate(kernels)) {
    if (parts.empty() || parts.back().operations >= kOperationsPerPart) {
      parts.emplace_back().begin = number;
    }
    parts.back().end = number + 1;
    KernelOp(kernel)->walk([&](Operation *) { ++parts.back().operations; });
  }
  return parts;
}

/// Puts the parts one behind the other and finds the launches' entries.
static LogicalResult join(ModuleOp module, ArrayRef<Part> parts, CpuImage &image) {
  for (const Part &part : parts) {
    uint64_t base = llvm::alignTo(image.bytes.size(), kImageAlignment);
    image.bytes.resize(base, '\0');
    image.bytes += part.object.bytes;
    for (KernelDesc &kernel : llvm::MutableArrayRef(image.kernels).slice(part.begin, part.end - part.begin)) {
      std::string missing;
      kernel.forEachLaunch([&](LaunchDesc &launch) {
        auto entry = part.object.entries.find(launch.entry);
        if (entry == part.object.entries.end()) {
          missing = launch.entry;
          return;
        }
        launch.offset = base + entry->second;
      });
      if (!missing.empty()) {
        return module.emitError("image lacks the entry '") << missing << "'";
      }
    }
  }
  return success();
}

LogicalResult mlir::frit::generateCpuImage(ModuleOp module, const CpuTarget &target,
                                           CpuImage &image) {
  SmallVector<KernelOp> kernels(module.getOps<KernelOp>());
  std::vector<Part> parts = divide(kernels);
  image.kernels.resize(kernels.size());
  auto compile = [&](size_t number) -> LogicalResult {
    Part &part = parts[number];
    OwningOpRef<ModuleOp> out = ModuleOp::create(module.getLoc());
    for (unsigned kernel = part.begin; kernel < part.end; ++kernel) {
      if (failed(emitKernel(kernels[kernel], target, *out, image.kernels[kernel]))) {
        return failure();
      }
    }
    return compileToImage(*out, target.level, part.object);
  };
  // The longest first, or one thread would still be busy with it when the others have run out of work.
  auto order = llvm::to_vector(llvm::seq(parts.size()));
  llvm::sort(order, [&](size_t a, size_t b) { return std::pair(parts[b].operations, a) < std::pair(parts[a].operations, b); });
  ThreadsInContext threads(module.getContext(), parts.size() > 1);
  if (failed(failableParallelForEach(module.getContext(), order, compile))) {
    return failure();
  }
  return join(module, parts, image);
}
