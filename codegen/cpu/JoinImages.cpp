#include "codegen/cpu/JoinImages.h"

#include "codegen/cpu/ObjectImage.h"

using namespace mlir;
using namespace mlir::frit;

LogicalResult mlir::frit::joinImages(ModuleOp module,
                                     ArrayRef<std::shared_ptr<const KernelCode>> codes,
                                     CpuImage &image) {
  for (auto [code, kernel] : llvm::zip_equal(codes, image.kernels)) {
    uint64_t base = llvm::alignTo(image.bytes.size(), kImageAlignment);
    image.bytes.resize(base, '\0');
    image.bytes += code->bytes;
    image.llvmIr += code->llvmIr.value_or("");
    std::string missing;
    kernel.forEachLaunch([&, &code = code](LaunchDesc &launch) {
      auto entry = code->entries.find(launch.entry);
      if (entry == code->entries.end()) {
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
