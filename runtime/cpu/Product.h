// Products of f32 matrices on the CPU, plus an addend, in two forms. In one form both operands are
// contiguous along the depth, as x and the weight of an nn.Linear: every element of the result is a
// dot product of two contiguous rows. In the other form the right operand is contiguous along the
// columns of the result, and its rows are added, scaled by elements of the left one.
//
// The weight is read in place. A packed copy would have to follow every write to the weight, also
// those that no version counter records (`weight.data.mul_`), and tiles of either form read it at
// the speed of memory anyway (docs/Rationale.md has the numbers).
//
// The order of an element's additions depends only on the depth, the form and the machine. It has
// the same bits for every number of rows and of threads.

#pragma once

#include "runtime/plan/Host.h"

#include <cstdint>

namespace frit {

class PackedWeight;

/// The contiguous dim of the right operand.
enum class ProductForm : uint8_t { AlongDepth, AlongColumns };

/// What happens to a sum before it is stored, in this order: (sum + bias) * scale + shift, an
/// element of another matrix is added, and limits hold.
struct Epilogue {
  /// An element for each column of the result. Null: none.
  const float *bias = nullptr, *scale = nullptr, *shift = nullptr;
  /// Limits of the result; NaN stays NaN.
  bool isLimited = false;
  float low = 0, high = 0;

  bool isEmpty() const { return !bias && !scale && !shift && !isLimited; }
};

/// result = left right, with an epilogue. Strides are in elements; the left operand is contiguous
/// along the depth, and the result along the columns.
struct Product : Epilogue {
  int64_t rows = 0, columns = 0, depth = 0;
  const float *left = nullptr;
  int64_t leftStride = 0;
  const float *right = nullptr;
  /// From one column to the next, or from one row of the operand to the next.
  int64_t rightStride = 0;
  ProductForm form = ProductForm::AlongDepth;
  /// Null: nothing is added. A stride of 0 adds the same to all rows or columns; the stride of
  /// columns is 0 or 1.
  const float *added = nullptr;
  int64_t addedRowStride = 0, addedColumnStride = 0;
  float *result = nullptr;
  int64_t resultStride = 0;
  /// Where a product of many rows keeps the panels of the weight; null if the weight may change.
  PackedWeight *packed = nullptr;
};

/// The vector lanes of the kernel for this machine; 0 if it has none.
int productLanes();

/// What decides between the runtime's kernels and ATen's, beside the sizes.
struct ProductMachine {
  /// productLanes().
  int lanes = 0;
  /// MKL's fastest code is for Intel's processors only.
  bool isIntel = false;
};

/// This machine.
ProductMachine productMachine();

/// Whether the kernel is faster than ATen's (MKL) for this product, of which the form and the sizes
/// matter.
bool isProductFaster(const Product &product, ProductMachine machine);

/// Calls a body for ranges of [0, units), like TensorHost::parallelFor.
using ParallelFor = void (*)(int64_t units, int64_t grain, RangeBody body, void *argument);

/// Computes a product; productLanes() must not be 0.
void runProduct(const Product &product, ParallelFor parallelFor);

} // namespace frit
