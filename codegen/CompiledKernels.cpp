#include "codegen/CompiledKernels.h"

#include "ir/FritAttributes.h"
#include "mlir/IR/Threading.h"

using namespace mlir;
using namespace mlir::frit;

CompiledKernels &CompiledKernels::ofProcess() {
  // Lives until the process ends: a thread may compile while statics are destroyed.
  static CompiledKernels *kernels = new CompiledKernels;
  return *kernels;
}

std::shared_ptr<const KernelCode> CompiledKernels::find(StringRef key) {
  std::lock_guard lock(mutex);
  auto known = byKey.find(key);
  if (known == byKey.end()) {
    return nullptr;
  }
  entries.splice(entries.begin(), entries, known->second);
  return known->second->code;
}

unsigned CompiledKernels::add(StringRef key, std::shared_ptr<const KernelCode> code) {
  std::lock_guard lock(mutex);
  Entry entry{key.str(), std::move(code)};
  // A larger one would evict all others.
  if (byKey.contains(key) || entry.size() > mostBytes) {
    return 0;
  }
  entries.push_front(std::move(entry));
  byKey.try_emplace(entries.front().key, entries.begin());
  bytes += entries.front().size();
  unsigned forgotten = 0;
  for (; bytes > mostBytes; ++forgotten) {
    bytes -= entries.back().size();
    byKey.erase(entries.back().key);
    entries.pop_back();
  }
  return forgotten;
}

void CompiledKernels::clear() {
  std::lock_guard lock(mutex);
  byKey.clear();
  entries.clear();
  bytes = 0;
}

void mlir::frit::forgetKernels() { CompiledKernels::ofProcess().clear(); }

LogicalResult KernelRequests::get(StringRef target, KernelOp kernel,
                                  std::shared_ptr<const KernelCode> &code,
                                  llvm::function_ref<LogicalResult(KernelCode &)> compile) {
  // Code with its IR is a separate entry, so a compilation that requests the IR always gets it.
  std::string key = (keepsLlvmIr ? "ir " : "") + target.str() + " ";
  llvm::raw_string_ostream stream(key);
  kernel->print(stream, OpPrintingFlags().useLocalScope().assumeVerified());
  if ((code = CompiledKernels::ofProcess().find(key))) {
    ++reused;
    return success();
  }
  auto made = std::make_shared<KernelCode>();
  if (keepsLlvmIr) {
    made->llvmIr.emplace();
  }
  if (failed(compile(*made))) {
    return failure();
  }
  ++compiled;
  code = std::move(made);
  forgotten += CompiledKernels::ofProcess().add(key, code);
  return success();
}

namespace {
/// Enables threads in a context for one parallel loop. A context normally has none: its locks would
/// slow down every pass, and threads that outlive a compilation would be missing after a fork.
class ThreadsInContext {
public:
  ThreadsInContext(MLIRContext *context, bool wanted)
      : context(context), made(wanted && !context->isMultithreadingEnabled()) {
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

LogicalResult mlir::frit::forEachKernel(ArrayRef<KernelOp> kernels,
                                        llvm::function_ref<LogicalResult(size_t)> body,
                                        bool hasParts) {
  if (kernels.empty()) {
    return success();
  }
  // Starts with the longest kernel, so that no thread is still busy with it at the end.
  SmallVector<size_t> lengths;
  for (KernelOp kernel : kernels) {
    kernel->walk([&, &length = lengths.emplace_back(0)](Operation *) { ++length; });
  }
  auto order = llvm::to_vector(llvm::seq(kernels.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(lengths[b], a) < std::pair(lengths[a], b);
  });
  MLIRContext *context = kernels.front()->getContext();
  ThreadsInContext threads(context, kernels.size() > 1 || hasParts);
  // All kernels are tried, so that a retry can leave all failing ones to ATen at once.
  std::vector<char> refused(kernels.size());
  parallelForEach(context, order, [&](size_t number) {
    KernelOp kernel = kernels[number];
    if (kRefusedAttr.isOn(kernel)) {
      kernel.emitError("kernel '") << kernel.getSymName() << "' fails, as was asked";
      refused[number] = true;
      return;
    }
    refused[number] = failed(body(number));
  });
  bool areMade = true;
  for (auto [kernel, isRefused] : llvm::zip_equal(kernels, refused)) {
    if (isRefused) {
      kRefusedAttr.mark(kernel);
      areMade = false;
    }
  }
  return success(areMade);
}
