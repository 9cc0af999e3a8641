// Convolutions with a filter for each channel, for one width of vectors. Lanes are channels, so the
// input must have its channels beside each other. A tile is a few pixels of a row by one or two
// vectors of channels; the taps of the filters lie in the order (tap, channel). Nothing is padded:
// a pixel at a border has fewer taps.
//
// Only the sources of one instruction set include this file, and they are compiled for it. All of
// it has internal linkage, so that the linker never takes a copy for another instruction set.

#pragma once

#include "runtime/cpu/ConvolutionKernels.h"
#include "runtime/cpu/Vectors.h"

#include <algorithm>

namespace frit {
namespace {

/// A range of taps in one dim that read inside of the image.
struct TapRange {
  int64_t begin, end;
};

/// The taps that do not read before `0` or behind `size`, of a window that begins at `start`.
inline TapRange tapsInside(int64_t start, int64_t size, int64_t taps, int64_t dilation) {
  int64_t begin = start < 0 ? (-start + dilation - 1) / dilation : 0;
  int64_t end = start >= size ? 0 : (size - start + dilation - 1) / dilation;
  return {begin, std::min(end, taps)};
}

/// `Pixels` pixels of a row, from `x`, by `Count` vectors of channels, from `channel`.
template <int Lanes, int Pixels, int Count>
FRIT_INLINE void runDepthwiseTile(const DepthwiseWork &work, int64_t image, int64_t y, int64_t x,
                                  int64_t channel, TapRange rows, TapRange columns) {
  const Convolution &of = *work.convolution;
  Vector<Lanes> sum[Pixels * Count] = {};
  int64_t step = of.stride[1] * of.columnStride;
  const float *first = of.input + image * of.imageStride + channel;
  int64_t top = y * of.stride[0] - of.padding[0];
  int64_t left = x * of.stride[1] - of.padding[1] + columns.begin * of.dilation[1];
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const float *from =
        first + (top + row * of.dilation[0]) * of.rowStride + left * of.columnStride;
    const float *taps = work.taps + (row * of.kernelWidth + columns.begin) * of.channels + channel;
    for (int64_t column = columns.begin; column < columns.end; ++column) {
#pragma GCC unroll 2
      for (int v = 0; v < Count; ++v) {
        Vector<Lanes> tap = load<Lanes>(taps + v * Lanes);
#pragma GCC unroll 8
        for (int p = 0; p < Pixels; ++p) {
          sum[p * Count + v] += load<Lanes>(from + p * step + v * Lanes) * tap;
        }
      }
      from += of.dilation[1] * of.columnStride;
      taps += of.channels;
    }
  }
  int64_t pixel = (image * of.resultHeight + y) * of.resultWidth + x;
#pragma GCC unroll 2
  for (int v = 0; v < Count; ++v) {
    int64_t at = channel + v * Lanes;
    auto perChannel = [&](const float *values, float otherwise) __attribute__((always_inline)) {
      return values ? load<Lanes>(values + at) : Vector<Lanes>{} + otherwise;
    };
    Vector<Lanes> bias = perChannel(of.bias, 0), scale = perChannel(of.scale, 1),
                  shift = perChannel(of.shift, 0);
#pragma GCC unroll 8
    for (int p = 0; p < Pixels; ++p) {
      Vector<Lanes> value = sum[p * Count + v];
      if (of.bias) {
        value += bias;
      }
      if (of.scale || of.shift) {
        value = value * scale + shift;
      }
      if (of.added) {
        value += load<Lanes>(of.added + (pixel + p) * of.channels + at);
      }
      if (of.isLimited) {
        // Comparisons with a NaN are false.
        value = value < of.low ? Vector<Lanes>{} + of.low : value;
        value = value > of.high ? Vector<Lanes>{} + of.high : value;
      }
      store<Lanes>(value, of.result + (pixel + p) * of.channels + at);
    }
  }
}

/// A row of the result for `Count` vectors of channels.
template <int Lanes, int Pixels, int Count>
void runDepthwiseRow(const DepthwiseWork &work, int64_t image, int64_t y, int64_t channel) {
  const Convolution &of = *work.convolution;
  TapRange rows =
      tapsInside(y * of.stride[0] - of.padding[0], of.height, of.kernelHeight, of.dilation[0]);
  auto columnsAt = [&](int64_t x) {
    return tapsInside(x * of.stride[1] - of.padding[1], of.width, of.kernelWidth, of.dilation[1]);
  };
  auto isInside = [&](int64_t x) {
    TapRange columns = columnsAt(x);
    return columns.begin == 0 && columns.end == of.kernelWidth;
  };
  TapRange all = {0, of.kernelWidth};
  for (int64_t x = 0; x < of.resultWidth;) {
    // The first and the last pixel have all taps, and so have those between them.
    if (x + Pixels <= of.resultWidth && isInside(x) && isInside(x + Pixels - 1)) {
      runDepthwiseTile<Lanes, Pixels, Count>(work, image, y, x, channel, rows, all);
      x += Pixels;
    } else {
      runDepthwiseTile<Lanes, 1, Count>(work, image, y, x, channel, rows, columnsAt(x));
      ++x;
    }
  }
}

/// Computes the rows [begin, end) of all images.
template <int Lanes, int Pixels>
void runDepthwiseRows(const DepthwiseWork &work, int64_t begin, int64_t end) {
  const Convolution &of = *work.convolution;
  for (; begin < end; ++begin) {
    int64_t image = begin / of.resultHeight, y = begin % of.resultHeight, channel = 0;
    for (; channel + 2 * Lanes <= of.channels; channel += 2 * Lanes) {
      runDepthwiseRow<Lanes, Pixels, 2>(work, image, y, channel);
    }
    if (channel + Lanes <= of.channels) {
      runDepthwiseRow<Lanes, Pixels, 1>(work, image, y, channel);
      channel += Lanes;
    }
    if (channel < of.channels) {
      // Some channels are computed twice, alike.
      runDepthwiseRow<Lanes, Pixels, 1>(work, image, y, of.channels - Lanes);
    }
  }
}

} // namespace
} // namespace frit
