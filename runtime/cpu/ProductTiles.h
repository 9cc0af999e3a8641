// The kernels of Product.h for one width of vectors. A unit of work is a tile of columns in a block
// of rows: the tile's weights stay in L2 for all rows.
//
// Only the sources of one instruction set include this file, and they are compiled for it. All of
// it has internal linkage, so that the linker never takes a copy for another instruction set.

#pragma once

#include "runtime/cpu/ProductKernels.h"
#include "runtime/cpu/Vectors.h"

#include <utility>

namespace frit {
namespace {

/// The lane that comes to `lane` when groups of 2 * Half lanes of `a` and `b` are halved: the lower
/// halves if `upper` is 0, else the upper ones.
template <int Lanes, int Half> constexpr int halved(int lane, int upper) {
  int inSource = lane % (Lanes / 2);
  return (lane < Lanes / 2 ? 0 : Lanes) + inSource / Half * 2 * Half + upper * Half +
         inSource % Half;
}

template <int Lanes, int Half, int... Lane>
FRIT_INLINE Vector<Lanes> fold(Vector<Lanes> a, Vector<Lanes> b,
                               std::integer_sequence<int, Lane...>) {
  return __builtin_shufflevector(a, b, halved<Lanes, Half>(Lane, 0)...) +
         __builtin_shufflevector(a, b, halved<Lanes, Half>(Lane, 1)...);
}

/// Lane i of the result is the sum of the lanes of vector First + i; missing vectors count as 0.
template <int Lanes, int Half, int First, int Count>
FRIT_INLINE Vector<Lanes> sums(const Vector<Lanes> *vectors) {
  if constexpr (First >= Count) {
    return Vector<Lanes>{};
  } else if constexpr (Half == Lanes) {
    return vectors[First];
  } else {
    // Folding `Half` lanes away joins Lanes / Half vectors, each half of them in one subtree.
    constexpr int kStep = Lanes / Half / 2;
    return fold<Lanes, Half>(sums<Lanes, 2 * Half, First, Count>(vectors),
                             sums<Lanes, 2 * Half, First + kStep, Count>(vectors),
                             std::make_integer_sequence<int, Lanes>());
  }
}

/// The address of the addend for an element; null if there is none, or if `finish` adds it.
FRIT_INLINE const float *addedAt(const Product &product, int64_t row, int64_t column) {
  return product.added && product.isEmpty()
             ? product.added + row * product.addedRowStride + column * product.addedColumnStride
             : nullptr;
}

/// The epilogue of sums that a tile has just stored. It is not part of the tile, because the tile
/// uses all registers.
inline __attribute__((noinline)) void finish(const Product &product, int64_t row, int64_t rows,
                                             int64_t column, int64_t columns) {
  for (; rows > 0; --rows, ++row) {
    float *result = product.result + row * product.resultStride + column;
    const float *added = product.added ? product.added + row * product.addedRowStride : nullptr;
    for (int64_t c = 0; c < columns; ++c) {
      float value = result[c];
      if (product.bias) {
        value += product.bias[column + c];
      }
      if (product.scale || product.shift) {
        value = value * (product.scale ? product.scale[column + c] : 1) +
                (product.shift ? product.shift[column + c] : 0);
      }
      if (added) {
        value += added[(column + c) * product.addedColumnStride];
      }
      if (product.isLimited) {
        // Comparisons with a NaN are false.
        value = value < product.low ? product.low : value;
        value = value > product.high ? product.high : value;
      }
      result[c] = value;
    }
  }
}

/// The part of the next tile that a pass over some rows prefetches: columns, or vectors of each
/// row. Each pass prefetches a share, so that memory delivers the next tile while all of them
/// compute.
struct Ahead {
  int64_t first = 0, last = 0;
};

/// Prefetches into L2, because L1 has no room for a tile and fewer outstanding misses. The address
/// may be outside of the matrix, so pointer arithmetic is avoided.
FRIT_INLINE void prefetch(const float *from, int64_t floats) {
  auto address = reinterpret_cast<uintptr_t>(from) + static_cast<uintptr_t>(floats) * sizeof(float);
  __builtin_prefetch(reinterpret_cast<const void *>(address), /*rw=*/0, /*locality=*/2);
}

/// Dot products. An element has one accumulator, a vector along the depth, whose lanes are added in
/// a tree at the end.
template <int Lanes, int Columns> struct DotTile {
  static constexpr int kColumns = Columns, kParts = Columns;

  template <int Rows, int Count>
  FRIT_INLINE static void run(const Product &product, int64_t row, int64_t column,
                              Ahead ahead = {}) {
    const float *left = product.left + row * product.leftStride;
    const float *right = product.right + column * product.rightStride;
    Vector<Lanes> sum[Rows * Count] = {};
    auto add = [&](auto loadAt) __attribute__((always_inline)) {
      Vector<Lanes> weights[Count];
#pragma GCC unroll 8
      for (int c = 0; c < Count; ++c) {
        weights[c] = loadAt(right + c * product.rightStride);
      }
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        Vector<Lanes> values = loadAt(left + r * product.leftStride);
#pragma GCC unroll 8
        for (int c = 0; c < Count; ++c) {
          sum[r * Count + c] += values * weights[c];
        }
      }
    };
    int64_t at = 0;
    for (; at + Lanes <= product.depth; at += Lanes) {
      for (int64_t c = ahead.first; c < ahead.last; ++c) {
        prefetch(right, (Columns + c) * product.rightStride + at);
      }
      add([at](const float *from)
              __attribute__((always_inline)) { return load<Lanes>(from + at); });
    }
    if (int64_t rest = product.depth - at) {
      add([at, rest](const float *from)
              __attribute__((always_inline)) { return loadFirst<Lanes>(from + at, rest); });
    }
    constexpr int kVectors = (Rows * Count + Lanes - 1) / Lanes;
    alignas(Vector<Lanes>) float total[kVectors * Lanes];
    [&]<int... Number>(std::integer_sequence<int, Number...>) __attribute__((always_inline)) {
      (store<Lanes>(sums<Lanes, 1, Number * Lanes, Rows * Count>(sum), total + Number * Lanes),
       ...);
    }(std::make_integer_sequence<int, kVectors>());
    float *result = product.result + row * product.resultStride + column;
    const float *added = addedAt(product, row, column);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (int c = 0; c < Count; ++c) {
        float value = total[r * Count + c];
        result[r * product.resultStride + c] =
            added ? value + added[r * product.addedRowStride + c * product.addedColumnStride]
                  : value;
      }
    }
  }

  template <int Rows>
  static void runLast(const Product &product, int64_t row, int64_t column, int64_t count) {
    runCount<Rows, Columns - 1>(product, row, column, count);
  }

private:
  template <int Rows, int Count>
  static void runCount(const Product &product, int64_t row, int64_t column, int64_t count) {
    if constexpr (Count > 0) {
      if (count == Count) {
        run<Rows, Count>(product, row, column);
      } else {
        runCount<Rows, Count - 1>(product, row, column, count);
      }
    }
  }
};

/// Rows of the right operand, scaled and added. An element has one lane, and is added in the order
/// of the depth.
template <int Lanes, int Vectors> struct WideTile {
  static constexpr int kColumns = Lanes * Vectors, kParts = Vectors;

  template <int Rows, int Count>
  FRIT_INLINE static void run(const Product &product, int64_t row, int64_t column,
                              Ahead ahead = {}) {
    runVectors<Rows, Vectors>(
        product, row, column, ahead,
        [](const float *from) __attribute__((always_inline)) { return load<Lanes>(from); },
        [](Vector<Lanes> vector, float *to)
            __attribute__((always_inline)) { store<Lanes>(vector, to); });
  }

  template <int Rows>
  static void runLast(const Product &product, int64_t row, int64_t column, int64_t count) {
    for (; count >= Lanes; count -= Lanes, column += Lanes) {
      WideTile<Lanes, 1>::template run<Rows, Lanes>(product, row, column);
    }
    if (count != 0) {
      runVectors<Rows, 1>(
          product, row, column, {},
          [count](const float *from) { return loadFirst<Lanes>(from, count); },
          [count](Vector<Lanes> vector, float *to) {
            for (int64_t lane = 0; lane < count; ++lane) {
              to[lane] = vector[lane];
            }
          });
    }
  }

private:
  template <int Rows, int Count>
  FRIT_INLINE static void runVectors(const Product &product, int64_t row, int64_t column,
                                     Ahead ahead, auto loadAt, auto storeAt) {
    const float *left = product.left + row * product.leftStride;
    // A matrix without rows may have no memory.
    const float *right = product.depth > 0 ? product.right + column : nullptr;
    Vector<Lanes> sum[Rows * Count] = {};
    for (int64_t at = 0; at < product.depth; ++at) {
      Vector<Lanes> weights[Count];
#pragma GCC unroll 8
      for (int v = 0; v < Count; ++v) {
        weights[v] = loadAt(right + v * Lanes);
      }
      for (int64_t v = ahead.first; v < ahead.last; ++v) {
        prefetch(right, (Vectors + v) * Lanes);
      }
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        float value = left[r * product.leftStride + at];
#pragma GCC unroll 8
        for (int v = 0; v < Count; ++v) {
          sum[r * Count + v] += value * weights[v];
        }
      }
      right += product.rightStride;
    }
    const float *added = addedAt(product, row, column);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      float *result = product.result + (row + r) * product.resultStride + column;
#pragma GCC unroll 8
      for (int v = 0; v < Count; ++v) {
        Vector<Lanes> value = sum[r * Count + v];
        if (added) {
          const float *from = added + r * product.addedRowStride;
          value +=
              product.addedColumnStride == 1 ? loadAt(from + v * Lanes) : Vector<Lanes>{} + from[0];
        }
        storeAt(value, result + v * Lanes);
      }
    }
  }
};

/// Computes a tile of columns for the rows [begin, end). Each pass over `Rows` of them prefetches
/// its share of the next tile (`ahead`).
template <typename Tile, int Rows>
void tileOfRows(const Product &product, int64_t begin, int64_t end, int64_t column, Ahead ahead) {
  int64_t count = product.columns - column, share = ahead.last - ahead.first;
  for (; begin + Rows <= end; begin += Rows) {
    if (count >= Tile::kColumns) {
      Tile::template run<Rows, Tile::kColumns>(product, begin, column, ahead);
      ahead = {ahead.last, ahead.last + share < Tile::kParts ? ahead.last + share : Tile::kParts};
    } else {
      Tile::template runLast<Rows>(product, begin, column, count);
    }
    if (!product.isEmpty()) {
      finish(product, begin, Rows, column, count < Tile::kColumns ? count : Tile::kColumns);
    }
  }
  if constexpr (Rows > 1) {
    if (begin < end) {
      tileOfRows<Tile, Rows - 1>(product, begin, end, column, ahead);
    }
  }
}

/// Computes the units [begin, end): tiles of columns, in blocks of rows.
template <typename Tile, int Rows> void units(const Product &product, int64_t begin, int64_t end) {
  int64_t tiles = (product.columns + Tile::kColumns - 1) / Tile::kColumns;
  for (int64_t unit = begin; unit < end; ++unit) {
    int64_t row = unit / tiles * kProductBlock;
    int64_t last = row + kProductBlock < product.rows ? row + kProductBlock : product.rows;
    int64_t passes = (last - row + Rows - 1) / Rows;
    int64_t share = unit + 1 < end ? (Tile::kParts + passes - 1) / passes : 0;
    tileOfRows<Tile, Rows>(product, row, last, unit % tiles * Tile::kColumns, {0, share});
  }
}

} // namespace
} // namespace frit
