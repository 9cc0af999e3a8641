#include "codegen/cpu/KernelImages.h"

using namespace mlir;
using namespace mlir::frit;

static constexpr size_t kMostBytes = 64 << 20;

KernelImages &KernelImages::ofProcess() {
  // Lives until the process ends: a thread may compile while statics are destroyed.
  static KernelImages *images = new KernelImages;
  return *images;
}

std::shared_ptr<const ObjectImage> KernelImages::find(StringRef text) {
  std::lock_guard lock(mutex);
  return images.lookup(text);
}

void KernelImages::add(StringRef text, std::shared_ptr<const ObjectImage> image) {
  std::lock_guard lock(mutex);
  size_t size = text.size() + image->bytes.size();
  if (bytes + size > kMostBytes) {
    images.clear();
    bytes = 0;
  }
  if (images.try_emplace(text, std::move(image)).second) {
    bytes += size;
  }
}

void KernelImages::clear() {
  std::lock_guard lock(mutex);
  images.clear();
  bytes = 0;
}

void mlir::frit::forgetKernels() { KernelImages::ofProcess().clear(); }
