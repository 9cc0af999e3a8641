// The kernels of Product.h, in one file for each instruction set, with its compiler flags.

#pragma once

#include "runtime/cpu/Product.h"

#include <span>

namespace frit {

/// The rows that are computed before the next tile of columns.
constexpr int64_t kProductBlock = 64;

/// Computes units of work: tiles of `columns` columns, in blocks of kProductBlock rows.
struct ProductTiles {
  int columns;
  void (*run)(const Product &product, int64_t begin, int64_t end);
};

struct ProductKernel {
  int lanes;
  ProductTiles alongDepth, alongColumns;
};

/// The kernels that this machine can run, the best one first.
std::span<const ProductKernel *const> productKernels();

/// Computes a product with this kernel.
void runProduct(const Product &product, const ProductKernel &kernel, ParallelFor parallelFor);

/// Needs x86-64-v4.
extern const ProductKernel kProductAvx512;
/// Needs x86-64-v3.
extern const ProductKernel kProductAvx2;

} // namespace frit
