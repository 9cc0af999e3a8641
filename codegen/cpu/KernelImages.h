#pragma once

#include "codegen/cpu/ObjectImage.h"

#include <memory>
#include <mutex>

/// The kernels this process has compiled, by their whole text. What stands in several graphs, or in a graph that is
/// compiled again, is machine code once; within a graph equal regions are one kernel already. Any thread may ask.
namespace mlir::frit {

class KernelImages {
public:
  static KernelImages &ofProcess();

  /// Null if the kernel has not been compiled, or is forgotten.
  std::shared_ptr<const ObjectImage> find(StringRef text);
  /// Keeps an image. Texts and images of more than 64 MiB are forgotten all at once: whoever compiles that many kernels
  /// hardly meets an old one.
  void add(StringRef text, std::shared_ptr<const ObjectImage> image);
  void clear();

private:
  std::mutex mutex;
  llvm::StringMap<std::shared_ptr<const ObjectImage>> images;
  size_t bytes = 0;
};

} // namespace mlir::frit
