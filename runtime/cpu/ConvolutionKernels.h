// The kernels of Convolution.h, in one file for each instruction set, with its compiler flags.

#pragma once

#include "runtime/cpu/Convolution.h"

#include <span>

namespace frit {

/// The distance of prefetches while a row is packed, in floats.
constexpr int64_t kPackAhead = 64;
/// The distance in rows, if the outputs of a weight are contiguous.
constexpr int64_t kPackRowsAhead = 16;
/// The steps along the depth that are packed at once, so that their panel stays in L2.
constexpr int64_t kPanelDepth = 1024;

/// Iterates over the positions of a convolution's pixels in the input, in the order of the result.
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
  /// The number of outputs; further lanes of the panel are unused.
  int64_t columns;
  /// Whether it is the first, and the last part of the depth; between parts, sums are in the
  /// result.
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
  /// All panels, one after the other; null if each unit packs its own.
  const float *packed = nullptr;

  /// The floats of a panel along the whole depth.
  int64_t panelFloats(int lanes) const { return convolution->depth() * vectors * lanes; }
};

constexpr int64_t kBlockPixels = 24;

/// A convolution with a filter for each channel. The input has its channels beside each other; the
/// filters lie in the order (row, column, channel).
struct DepthwiseWork {
  const Convolution *convolution;
  const float *taps;
};

/// Memory of this thread for a panel of this many floats, reused by later calls; aligned for
/// vectors.
float *panelOfThread(int64_t floats);

struct ConvolutionKernel {
  /// The lanes of a vector, and the most vectors of a panel.
  int lanes, vectors;
  void (*run)(const ConvolutionWork &work, int64_t begin, int64_t end);
  /// Packs the panels [begin, end) of all groups into `to`, where the first of all panels begins.
  void (*pack)(const ConvolutionWork &work, float *to, int64_t begin, int64_t end);
  /// Computes the rows [begin, end) of the result's images; there are at least `lanes` channels.
  void (*runDepthwise)(const DepthwiseWork &work, int64_t begin, int64_t end);
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
