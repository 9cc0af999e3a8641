#include "runtime/cpu/ProductKernels.h"

#include "runtime/artifact/HostFeatures.h"
#include "runtime/cpu/Convolution.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace frit {

namespace {

/// A piece of a parallel loop takes at least about 10 us; starting a shorter one would not pay off.
/// Per nanosecond, a thread streams 16 bytes of a weight or does 64 operations.
constexpr int64_t kPieceNanoseconds = 10000, kBytesPerNanosecond = 16,
                  kOperationsPerNanosecond = 64;

} // namespace

std::span<const ProductKernel *const> productKernels() {
  static const std::vector<const ProductKernel *> kernels = [] {
    std::vector<const ProductKernel *> found;
#ifdef FRIT_PRODUCT_KERNELS
    for (auto [level, kernel] :
         {std::pair("x86-64-v4", &kProductAvx512), {"x86-64-v3", &kProductAvx2}}) {
      if (missingFeatures(level, {}).empty()) {
        found.push_back(kernel);
      }
    }
#endif
    return found;
  }();
  return kernels;
}

int productLanes() { return productKernels().empty() ? 0 : productKernels().front()->lanes; }

/// A product of many rows as a convolution of images of one pixel; nullopt for few rows, or if the
/// kernel cannot add the addend.
static std::optional<Convolution> tallProduct(const Product &product) {
  Convolution made;
  made.images = product.rows;
  made.channels = product.depth;
  made.input = product.left;
  made.imageStride = product.leftStride;
  made.outputs = product.columns;
  made.weight = product.right;
  bool isAlongDepth = product.form == ProductForm::AlongDepth;
  made.weightStrides[0] = isAlongDepth ? product.rightStride : 1;
  made.weightStrides[1] = isAlongDepth ? 1 : product.rightStride;
  made.result = product.result;
  made.packed = product.packed;
  if (product.added && product.addedRowStride == 0 && product.addedColumnStride == 1) {
    made.bias = product.added;
  } else if (product.added) {
    if (product.addedRowStride != product.columns || product.addedColumnStride != 1) {
      return std::nullopt;
    }
    made.added = product.added;
  }
  bool isEmpty = product.rows == 0 || product.columns == 0 || product.depth == 0;
  return product.rows <= kProductBlock || isEmpty || product.resultStride != product.columns
             ? std::nullopt
             : std::optional(made);
}

ProductMachine productMachine() { return {productLanes(), isHostIntel()}; }

/// Measured against MKL with one thread and two, on Zen 4 and on Sapphire Rapids
/// (docs/Rationale.md).
bool isProductFaster(const Product &product, ProductMachine machine) {
  int64_t rows = product.rows, depth = product.depth;
  int lanes = machine.lanes;
  // With many rows a packed copy of a panel of the weight pays off.
  if (rows > kProductBlock) {
    bool isAlongDepth = product.form == ProductForm::AlongDepth;
    return lanes == 16 && product.columns >= lanes && depth >= lanes &&
           (!machine.isIntel || (isAlongDepth && rows <= 128));
  }
  if (product.form == ProductForm::AlongColumns) {
    // A column of vectors down a deep weight has more lines than some sets of Intel's L2 hold.
    bool isFew = rows >= 2 && rows <= 16;
    return lanes == 16 ? !machine.isIntel || (isFew && depth <= 512) : lanes == 8 && isFew;
  }
  // Dot products add the lanes of each element at the end, which does not pay off for a short
  // depth.
  bool isShort = depth < 128;
  return lanes == 16 ? rows <= (isShort ? 16 : 64) : lanes == 8 && rows <= (isShort ? 3 : 32);
}

void runProduct(const Product &product, ParallelFor parallelFor) {
  if (std::optional<Convolution> tall = tallProduct(product)) {
    return runConvolution(*tall, parallelFor);
  }
  runProduct(product, *productKernels().front(), parallelFor);
}

void runProduct(const Product &product, const ProductKernel &kernel, ParallelFor parallelFor) {
  const ProductTiles &tiles =
      product.form == ProductForm::AlongDepth ? kernel.alongDepth : kernel.alongColumns;
  struct Work {
    decltype(ProductTiles::run) run;
    const Product *product;
  } work = {tiles.run, &product};
  int64_t units = (product.columns + tiles.columns - 1) / tiles.columns *
                  ((product.rows + kProductBlock - 1) / kProductBlock);
  if (units == 0) {
    return;
  }
  int64_t elements = tiles.columns * std::max<int64_t>(product.depth, 1);
  int64_t rows = std::min(product.rows, kProductBlock);
  int64_t cost =
      std::max(elements * 4 / kBytesPerNanosecond, elements * rows * 2 / kOperationsPerNanosecond);
  parallelFor(
      units, std::max<int64_t>(kPieceNanoseconds / std::max<int64_t>(cost, 1), 1),
      [](void *argument, int64_t begin, int64_t end) {
        auto *work = static_cast<Work *>(argument);
        work->run(*work->product, begin, end);
      },
      &work);
}

} // namespace frit
