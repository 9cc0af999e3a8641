// The kernels of Convolution.h, a file for each instruction set, because each is compiled for its
// own.

#pragma once

#include "runtime/cpu/Convolution.h"

#include <memory>
#include <new>
#include <span>

namespace frit {

/// How many floats of a row ahead of the one that is packed memory is asked for.
constexpr int64_t kPackAhead = 64;
/// How many rows ahead, where the outputs of a weight lie beside each other.
constexpr int64_t kPackRowsAhead = 16;
/// The steps along the depth that are packed at once: a panel of them stays in a near cache.
constexpr int64_t kPanelDepth = 1024;

/// Where the pixels of a convolution begin in the input, in the order of the result.
struct PixelCursor {
  const float *image, *row, *pixel;
  int64_t y, x, height, width;
  int64_t imageStep, rowStep, pixelStep;

  PixelCursor(const Convolution &of, const float *input, int64_t at)
      : height(of.resultHeight), width(of.resultWidth), imageStep(of.imageStride),
        rowStep(of.rowStride * of.stride[0]), pixelStep(of.columnStride * of.stride[1]) {
    x = at % width;
    y = at / width % height;
    image = input + at / width / height * imageStep;
    row = image + y * rowStep;
    pixel = row + x * pixelStep;
  }

  const float *next() {
    const float *at = pixel;
    pixel += pixelStep;
    if (++x == width) {
      x = 0;
      row += rowStep;
      if (++y == height) {
        y = 0;
        image += imageStep;
        row = image;
      }
      pixel = row;
    }
    return at;
  }
};

/// A panel of outputs for a part of the depth. Pointers are at the panel's first output.
struct PanelWork {
  const float *panel;
  const int32_t *offsets;
  int64_t depth;
  /// The outputs that exist.
  int64_t columns;
  /// Whether it is the first and the last part of the depth; in between sums are in the result.
  bool isFirst, isLast;
  float *result;
  int64_t resultStride;
  const float *bias, *scale, *shift, *added;
  int64_t addedStride;
  bool isLimited;
  float low, high;
};

/// A convolution without padding. Step k along the depth of output o is
/// weight[o * outputStride + k * depthStride], one of the strides being 1, and reads a pixel's
/// input at offsets[k]. A unit of work is kBlockPixels pixels of a panel.
struct ConvolutionWork {
  const Convolution *convolution;
  const int32_t *offsets;
  int64_t outputStride, depthStride;
  /// Vectors of a panel, and panels of a group.
  int vectors;
  int64_t panels;
  int64_t blocks;
};

constexpr int64_t kBlockPixels = 24;

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

/// Memory for a panel of this many floats, which the thread keeps; aligned for vectors.
float *panelOfThread(int64_t floats);

struct ConvolutionKernel {
  /// Of a vector, and the most vectors of a panel.
  int lanes, vectors;
  void (*run)(const ConvolutionWork &work, int64_t begin, int64_t end);
};

std::span<const ConvolutionKernel *const> convolutionKernels();

void runConvolution(const Convolution &convolution, const ConvolutionKernel &kernel,
                    ParallelFor parallelFor);

struct ProductKernel;

/// The kernel of products that computes a convolution of few pixels; null for others. The weight is
/// read once then, as it lies, and not copied into panels.
const ProductKernel *kernelOfFewPixels(const Convolution &of, int lanes);

extern const ConvolutionKernel kConvolutionAvx512, kConvolutionAvx2;

} // namespace frit
