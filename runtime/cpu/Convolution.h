// Convolutions of f32 images on the CPU with an epilogue: a factor and a summand for each channel
// (a batch norm), a summand for each element (a residual), limits (a relu). A matrix product is a
// convolution of images of one pixel.
//
// A weight that somebody may write to is not packed in advance. Each thread packs a panel of it
// (some output channels along the whole depth) for its vectors, uses it for all its pixels and
// discards it. So no packed weight can be stale, whoever writes to the weight and however
// (docs/Rationale.md has the numbers). A weight that is known to keep its values is packed once
// (PackedWeight), with the same results.
//
// A convolution with a filter for each channel has a kernel whose lanes are channels
// (DepthwiseTiles.h). It sums along the filter's rows and columns, and pads nothing.
//
// A convolution of few pixels is a product of few rows (Product.h): the inputs of each pixel are
// copied beside each other, in the order of the weight's memory, and the weight is not copied.
//
// Each element is summed along the depth in the order of the weight's memory: with many pixels in
// one accumulator, with few as products do it. It has the same bits for every number of threads,
// and of images on the same side of that border; `inOneOrder` removes the border.

#pragma once

#include "runtime/cpu/Product.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <new>

namespace frit {

/// Uninitialised floats, aligned for vectors: a load that crosses cache lines takes twice as long.
class AlignedFloats {
public:
  AlignedFloats() = default;
  explicit AlignedFloats(int64_t floats);
  float *get() const { return memory.get(); }

private:
  static constexpr std::align_val_t kAlignment{64};
  struct Delete {
    void operator()(float *memory) const;
  };
  std::unique_ptr<float[], Delete> memory;
};

/// The panels of a weight that keeps its values, packed by the first convolution or product that
/// needs them. Threads may share it.
class PackedWeight {
public:
  /// Returns the panels for rows of `width` floats, `floats` in all, after the first call filled
  /// them with `fill`; null if they were packed for another width.
  template <typename Fill> const float *get(int64_t width, int64_t floats, const Fill &fill) {
    std::call_once(once, [&] {
      AlignedFloats made(floats);
      fill(made.get());
      memory = std::move(made);
      packedWidth = width;
      size.store(floats * int64_t(sizeof(float)), std::memory_order_relaxed);
    });
    return packedWidth == width ? memory.get() : nullptr;
  }
  /// Returns what the first call's `check` of the weight returned.
  template <typename Check> bool isChecked(const Check &check) {
    std::call_once(checkedOnce, [&] { isGood = check(); });
    return isGood;
  }
  /// Memory that is in use, in bytes.
  int64_t bytes() const { return size.load(std::memory_order_relaxed); }

private:
  std::once_flag once, checkedOnce;
  bool isGood = false;
  AlignedFloats memory;
  int64_t packedWidth = 0;
  std::atomic<int64_t> size{0};
};

/// Sizes and strides are in elements. The result and `added` are dense in the order
/// (image, row, column, channel); the columns of the epilogue are the outputs.
struct Convolution : Epilogue {
  int64_t images = 1, channels = 0, height = 1, width = 1;
  const float *input = nullptr;
  int64_t imageStride = 0, channelStride = 1, rowStride = 0, columnStride = 0;

  int64_t outputs = 0, kernelHeight = 1, kernelWidth = 1;
  /// The filters, `channels / groups` deep. The filter of an output is dense, in any order; or
  /// filters have one pixel, and outputs are contiguous.
  const float *weight = nullptr;
  int64_t weightStrides[4] = {};
  int64_t groups = 1;

  /// Rows and columns of zeros before the image, and behind it.
  int64_t padding[2] = {0, 0}, paddingBehind[2] = {0, 0};
  int64_t stride[2] = {1, 1}, dilation[2] = {1, 1};
  int64_t resultHeight = 1, resultWidth = 1;
  float *result = nullptr;

  /// A summand for each element of the result. Null: none.
  const float *added = nullptr;

  /// Where the panels of the weight are kept; null if the weight may change.
  PackedWeight *packed = nullptr;

  /// Elements are summed alike, however many pixels there are.
  bool inOneOrder = false;

  int64_t pixels() const { return images * resultHeight * resultWidth; }
  bool isPadded() const { return paddedHeight() != height || paddedWidth() != width; }
  int64_t paddedHeight() const { return padding[0] + height + paddingBehind[0]; }
  int64_t paddedWidth() const { return padding[1] + width + paddingBehind[1]; }
  int64_t depth() const { return channels / groups * kernelHeight * kernelWidth; }
  /// Whether each channel has a filter of its own.
  bool isDepthwise() const { return groups > 1 && groups == channels && groups == outputs; }
  bool isWeightAcross() const {
    return kernelHeight * kernelWidth == 1 && weightStrides[1] != 1 && channels != groups;
  }
};

/// The vector lanes of the kernel for this machine; 0 if it has none.
int convolutionLanes();

/// Whether the result of runConvolution does not depend on whether zeros around the image are
/// multiplied by the weight or left out. It does if the weight has an infinity or a NaN.
bool isPaddingNeutral(const Convolution &convolution, ParallelFor parallelFor);

/// Whether the kernel is faster than ATen's (oneDNN). `lanes` is convolutionLanes().
bool isConvolutionFaster(const Convolution &convolution, int lanes);

/// Computes a convolution of at least one pixel, output and step along the depth.
/// convolutionLanes() must not be 0.
void runConvolution(const Convolution &convolution, ParallelFor parallelFor);

} // namespace frit
