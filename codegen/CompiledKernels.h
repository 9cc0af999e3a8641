// A cache of the kernels that this process has compiled, by their text. A kernel that occurs in
// several graphs, or in a graph that is compiled again, is compiled once. (Within a graph equal
// regions share a kernel already.)

#pragma once

#include "codegen/Codegen.h"

#include "llvm/ADT/StringMap.h"

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

namespace mlir::frit {

/// The code of a kernel for one target.
struct KernelCode {
  /// Position-independent machine code, or the PTX of the hot launches.
  std::string bytes;
  /// PTX of the cold launches.
  std::string cold;
  /// Machine code: byte offsets of its public functions.
  llvm::StringMap<uint64_t> entries;
  /// LLVM's IR from which the code was made, if it was requested.
  std::optional<std::string> llvmIr;
};

/// An LRU cache from keys to code. Thread-safe.
class CompiledKernels {
public:
  /// The most bytes of texts and code together, over all targets.
  static constexpr size_t kMostBytes = 64 << 20;

  static CompiledKernels &ofProcess();
  explicit CompiledKernels(size_t mostBytes = kMostBytes) : mostBytes(mostBytes) {}

  /// Null if the kernel was not compiled, or has been evicted.
  std::shared_ptr<const KernelCode> find(StringRef key);
  /// Stores code unless it alone exceeds the limit, and returns how many others were evicted. The
  /// code of a key does not depend on who compiled it, so an existing entry stays.
  unsigned add(StringRef key, std::shared_ptr<const KernelCode> code);
  void clear();

private:
  struct Entry {
    std::string key;
    std::shared_ptr<const KernelCode> code;
    size_t size() const {
      return key.size() + code->bytes.size() + code->cold.size() +
             (code->llvmIr ? code->llvmIr->size() : 0);
    }
  };
  const size_t mostBytes;
  std::mutex mutex;
  /// The most recently used first.
  std::list<Entry> entries;
  /// The keys refer to the text in the entries.
  llvm::DenseMap<StringRef, std::list<Entry>::iterator> byKey;
  size_t bytes = 0;
};

/// Requests for the code of one graph's kernels, with counts of their outcomes. Thread-safe.
class KernelRequests {
public:
  /// `keepsLlvmIr`: the code comes with LLVM's IR.
  explicit KernelRequests(bool keepsLlvmIr) : keepsLlvmIr(keepsLlvmIr) {}

  /// The code of a kernel for a target, from the cache or by `compile`. The key is `target`, which
  /// names everything that the code depends on besides the kernel, and the kernel's text with its
  /// name and facts. Fails if `compile` does.
  LogicalResult get(StringRef target, KernelOp kernel, std::shared_ptr<const KernelCode> &code,
                    llvm::function_ref<LogicalResult(KernelCode &)> compile);
  KernelCounts counts() const { return {compiled, reused, forgotten}; }

private:
  const bool keepsLlvmIr;
  std::atomic<unsigned> compiled = 0, reused = 0, forgotten = 0;
};

/// Calls `body` with the number of each kernel, the longest first, on as many threads as the
/// machine has. A single kernel gets threads only if its body has parallel parts (`hasParts`). Sets
/// `kRefusedAttr` on kernels for which `body` fails.
LogicalResult forEachKernel(ArrayRef<KernelOp> kernels,
                            llvm::function_ref<LogicalResult(size_t)> body, bool hasParts = false);

} // namespace mlir::frit
