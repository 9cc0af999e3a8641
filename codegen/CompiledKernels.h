// The kernels this process has compiled, by their whole text. What stands in several graphs, or in
// a graph that is compiled again, becomes code once; within a graph equal regions are one kernel
// already.

#pragma once

#include "codegen/Codegen.h"

#include "llvm/ADT/StringMap.h"

#include <atomic>
#include <list>
#include <memory>
#include <mutex>

namespace mlir::frit {

/// What a kernel became for one target.
struct KernelCode {
  /// Machine code that may lie anywhere, or PTX of the usual launches,
  std::string bytes;
  /// and PTX of the others.
  std::string seldom;
  /// Of machine code: where its public functions begin.
  llvm::StringMap<uint64_t> entries;
};

/// Code by key, the one used longest ago first to leave. Any thread may ask.
class CompiledKernels {
public:
  /// Of texts and code together, over all targets.
  static constexpr size_t kMostBytes = 64 << 20;

  static CompiledKernels &ofProcess();
  explicit CompiledKernels(size_t mostBytes = kMostBytes) : mostBytes(mostBytes) {}

  /// Null if the kernel has not been compiled, or is forgotten.
  std::shared_ptr<const KernelCode> find(StringRef key);
  /// Keeps code unless it has more bytes than all may have, and returns how many others were
  /// forgotten for it. The code of a key is the same whoever compiles it, so what is known already
  /// stays.
  unsigned add(StringRef key, std::shared_ptr<const KernelCode> code);
  void clear();

private:
  struct Entry {
    std::string key;
    std::shared_ptr<const KernelCode> code;
    size_t size() const { return key.size() + code->bytes.size() + code->seldom.size(); }
  };
  const size_t mostBytes;
  std::mutex mutex;
  /// The latest first.
  std::list<Entry> entries;
  /// The keys are those of the entries.
  llvm::DenseMap<StringRef, std::list<Entry>::iterator> byKey;
  size_t bytes = 0;
};

/// Asks for the code of one graph's kernels and counts what became of them. Any thread may ask.
class KernelRequests {
public:
  /// The code of a kernel for a target: from memory, or by `compile`. The key is `target`, which
  /// names everything beside the kernel that its code depends on, and the kernel's text, name and
  /// facts included.
  LogicalResult get(StringRef target, KernelOp kernel, std::shared_ptr<const KernelCode> &code,
                    llvm::function_ref<LogicalResult(KernelCode &)> compile);
  KernelCounts counts() const { return {compiled, reused, forgotten}; }

private:
  std::atomic<unsigned> compiled = 0, reused = 0, forgotten = 0;
};

/// Calls `body` with the number of each kernel, the longest first, on as many threads as the
/// machine has. One kernel has threads only where its body has parts that run beside each other.
/// Kernels for which it fails get `kRefusedAttr`.
LogicalResult forEachKernel(ArrayRef<KernelOp> kernels,
                            llvm::function_ref<LogicalResult(size_t)> body, bool hasParts = false);

} // namespace mlir::frit
