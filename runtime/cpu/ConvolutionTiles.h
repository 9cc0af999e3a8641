// The kernel of Convolution.h for one width of vectors. A tile is a few pixels by a panel of
// outputs; lanes are outputs, and the elements of the input are broadcast. A table has the offset
// of each step along the depth from the pixel's first element, so that any strides, dilations and
// filter sizes are one loop.
//
// Only the sources of one instruction set include this file, and they are compiled for it. All of
// it has internal linkage, so that the linker never takes a copy for another instruction set.

#pragma once

#include "runtime/cpu/ConvolutionKernels.h"
#include "runtime/cpu/Vectors.h"

#include <algorithm>
#include <utility>

namespace frit {
namespace {

/// Packs rows `first` to `first + Lanes` of the weight, `count` of which exist, from `begin` to
/// `end` along the depth, into columns of a panel: element (k, lane) is at k * width + lane.
template <int Lanes>
void packRows(const float *weight, int64_t rowStride, int64_t count, int64_t begin, int64_t end,
              float *panel, int64_t width) {
  int64_t at = begin;
  if (count >= Lanes) {
    for (; at + Lanes <= end; at += Lanes) {
      Vector<Lanes> square[Lanes];
#pragma GCC unroll 16
      for (int row = 0; row < Lanes; ++row) {
        const float *from = weight + row * rowStride + at;
        square[row] = load<Lanes>(from);
        __builtin_prefetch(from + kPackAhead);
      }
      transpose<Lanes>(square);
#pragma GCC unroll 16
      for (int row = 0; row < Lanes; ++row) {
        store<Lanes>(square[row], panel + (at - begin + row) * width);
      }
    }
  }
  for (; at < end; ++at) {
    for (int64_t lane = 0; lane < Lanes; ++lane) {
      panel[(at - begin) * width + lane] = lane < count ? weight[lane * rowStride + at] : 0.0f;
    }
  }
}

/// The same for a weight with contiguous outputs: `weight` points to the first one.
template <int Lanes>
void packColumns(const float *weight, int64_t depthStride, int64_t count, int64_t begin,
                 int64_t end, float *panel, int64_t width) {
  for (int64_t at = begin; at < end; ++at) {
    const float *from = weight + at * depthStride;
    __builtin_prefetch(from + kPackRowsAhead * depthStride);
    store<Lanes>(loadUpTo<Lanes>(from, count), panel + (at - begin) * width);
  }
}

/// Computes a tile: some pixels by some vectors of outputs.
template <int Lanes, int Rows, int Count>
FRIT_INLINE void runTile(const PanelWork &work, const float *const *bases, int64_t pixel) {
  const float *base[Rows];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    base[r] = bases[r];
  }
  Vector<Lanes> sum[Rows * Count] = {};
  float *result = work.result + pixel * work.resultStride;
  if (!work.isFirst) {
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < Count; ++v) {
        sum[r * Count + v] =
            loadUpTo<Lanes>(result + r * work.resultStride + v * Lanes, work.columns - v * Lanes);
      }
    }
  }
  const int32_t *offsets = work.offsets;
  const float *panel = work.panel;
  for (int64_t at = 0; at < work.depth; ++at) {
    Vector<Lanes> weights[Count];
#pragma GCC unroll 4
    for (int v = 0; v < Count; ++v) {
      weights[v] = load<Lanes>(panel + v * Lanes);
    }
    panel += Count * Lanes;
    int64_t offset = offsets[at];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      float value = base[r][offset];
#pragma GCC unroll 4
      for (int v = 0; v < Count; ++v) {
        sum[r * Count + v] += value * weights[v];
      }
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < Count; ++v) {
    int64_t left = work.columns - v * Lanes;
    if (work.isLast) {
      auto perOutput = [&](const float *from, float otherwise) __attribute__((always_inline)) {
        return from ? loadUpTo<Lanes>(from + v * Lanes, left) : Vector<Lanes>{} + otherwise;
      };
      if (work.bias) {
        Vector<Lanes> bias = perOutput(work.bias, 0);
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
          sum[r * Count + v] += bias;
        }
      }
      if (work.scale || work.shift) {
        Vector<Lanes> scale = perOutput(work.scale, 1), shift = perOutput(work.shift, 0);
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
          sum[r * Count + v] = sum[r * Count + v] * scale + shift;
        }
      }
      if (work.added) {
        const float *added = work.added + pixel * work.addedStride + v * Lanes;
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
          sum[r * Count + v] += loadUpTo<Lanes>(added + r * work.addedStride, left);
        }
      }
      if (work.isLimited) {
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
          // Comparisons with a NaN are false.
          Vector<Lanes> &value = sum[r * Count + v];
          value = value < work.low ? Vector<Lanes>{} + work.low : value;
          value = value > work.high ? Vector<Lanes>{} + work.high : value;
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      storeUpTo<Lanes>(sum[r * Count + v], result + r * work.resultStride + v * Lanes, left);
    }
  }
}

/// Computes the pixels [begin, end), in tiles of up to `Rows`. The last two tiles have about equal
/// sizes, because a tile of few pixels is bound by the latency of its sums.
template <int Lanes, int Rows, int Count>
void runPixels(const PanelWork &work, PixelCursor &cursor, int64_t begin, int64_t end) {
  const float *bases[Rows];
  for (; end - begin >= 2 * Rows || end - begin == Rows; begin += Rows) {
    for (int r = 0; r < Rows; ++r) {
      bases[r] = cursor.next();
    }
    runTile<Lanes, Rows, Count>(work, bases, begin);
  }
  if constexpr (Rows > 1) {
    if (end - begin > Rows) {
      int64_t middle = begin + (end - begin + 1) / 2;
      runPixels<Lanes, Rows - 1, Count>(work, cursor, begin, middle);
      begin = middle;
    }
    if (begin < end) {
      runPixels<Lanes, Rows - 1, Count>(work, cursor, begin, end);
    }
  }
}

/// Packs the steps [step, until) of a panel that begins at an output and has some columns.
template <int Lanes>
void packPanel(const ConvolutionWork &work, int64_t output, int64_t columns, int64_t step,
               int64_t until, float *to) {
  int64_t vectors = (columns + Lanes - 1) / Lanes;
  auto *pack = work.depthStride == 1 ? packRows<Lanes> : packColumns<Lanes>;
  for (int64_t v = 0; v < vectors; ++v) {
    pack(work.convolution->weight + (output + v * Lanes) * work.outputStride,
         work.depthStride == 1 ? work.outputStride : work.depthStride, columns - v * Lanes, step,
         until, to + v * Lanes, vectors * Lanes);
  }
}

/// Packs whole panels. A panel's parts along the depth lie one after the other.
template <int Lanes>
void packPanels(const ConvolutionWork &work, float *to, int64_t begin, int64_t end) {
  const Convolution &of = *work.convolution;
  int64_t outputs = of.outputs / of.groups, width = int64_t(work.vectors) * Lanes;
  for (; begin < end; ++begin) {
    int64_t column = begin % work.panels * width, columns = std::min(width, outputs - column);
    packPanel<Lanes>(work, begin / work.panels * outputs + column, columns, 0, of.depth(),
                     to + begin * work.panelFloats(Lanes));
  }
}

/// Computes the units [begin, end), one panel after the other.
template <int Lanes, int MaxVectors, int... Rows>
void runUnits(const ConvolutionWork &work, int64_t begin, int64_t end) {
  const Convolution &of = *work.convolution;
  int64_t depth = of.depth(), pixels = of.pixels(), outputs = of.outputs / of.groups;
  int64_t width = int64_t(work.vectors) * Lanes;
  float *own = work.packed ? nullptr : panelOfThread(kPanelDepth * MaxVectors * Lanes);
  while (begin < end) {
    int64_t panel = begin / work.blocks, last = std::min(end, (panel + 1) * work.blocks);
    int64_t from = begin % work.blocks * kBlockPixels;
    int64_t to = std::min(pixels, (last - panel * work.blocks) * kBlockPixels);
    begin = last;
    int64_t group = panel / work.panels, column = panel % work.panels * width;
    int64_t output = group * outputs + column;
    const float *input = of.input + group * (of.channels / of.groups) * of.channelStride;
    auto at = [&](const float *values) { return values ? values + output : nullptr; };
    PanelWork part = {.panel = own,
                      .offsets = work.offsets,
                      .depth = 0,
                      .columns = std::min(width, outputs - column),
                      .isFirst = true,
                      .isLast = false,
                      .result = of.result + output,
                      .resultStride = of.outputs,
                      .bias = at(of.bias),
                      .scale = at(of.scale),
                      .shift = at(of.shift),
                      .added = at(of.added),
                      .addedStride = of.outputs,
                      .isLimited = of.isLimited,
                      .low = of.low,
                      .high = of.high};
    // The last panel may be narrower.
    int vectors = int((part.columns + Lanes - 1) / Lanes);
    for (int64_t step = 0; part.isFirst || step < depth; step += kPanelDepth) {
      int64_t until = std::min(depth, step + kPanelDepth);
      part.depth = until - step;
      part.offsets = work.offsets + step;
      part.isFirst = step == 0;
      part.isLast = until == depth;
      if (work.packed) {
        part.panel = work.packed + panel * work.panelFloats(Lanes) + step * vectors * Lanes;
      } else {
        packPanel<Lanes>(work, output, part.columns, step, until, own);
      }
      PixelCursor cursor(of, input, from);
      [&]<int... Number>(std::integer_sequence<int, Number...>) {
        constexpr int kRows[] = {Rows...};
        ((vectors == Number + 1
              ? runPixels<Lanes, kRows[Number], Number + 1>(part, cursor, from, to)
              : void()),
         ...);
      }(std::make_integer_sequence<int, MaxVectors>());
      if (until == depth) {
        break;
      }
    }
  }
}

} // namespace
} // namespace frit
