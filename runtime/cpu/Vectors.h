// Vectors of floats for the kernels of this folder, with the vector extension of GCC and Clang.
//
// Only the sources of one instruction set include this file, and they are compiled for it. All of
// it has internal linkage, so that the linker never takes a copy for another instruction set.

#pragma once

#include <cstdint>
#include <utility>

namespace frit {
namespace {

#define FRIT_INLINE inline __attribute__((always_inline))

template <int Lanes> struct VectorOf {
  typedef float type __attribute__((vector_size(Lanes * sizeof(float)), may_alias));
  typedef float unaligned
      __attribute__((vector_size(Lanes * sizeof(float)), aligned(4), may_alias));
};
template <int Lanes> using Vector = typename VectorOf<Lanes>::type;

template <int Lanes> FRIT_INLINE Vector<Lanes> load(const float *from) {
  return *reinterpret_cast<const typename VectorOf<Lanes>::unaligned *>(from);
}

template <int Lanes> FRIT_INLINE void store(Vector<Lanes> vector, float *to) {
  *reinterpret_cast<typename VectorOf<Lanes>::unaligned *>(to) = vector;
}

/// The first `count` elements, then zeros. Not inlined, because it runs only once per tile.
template <int Lanes>
__attribute__((noinline)) Vector<Lanes> loadFirst(const float *from, int64_t count) {
  Vector<Lanes> vector = {};
  for (int64_t lane = 0; lane < count; ++lane) {
    vector[lane] = from[lane];
  }
  return vector;
}

template <int Lanes>
__attribute__((noinline)) void storeFirst(Vector<Lanes> vector, float *to, int64_t count) {
  for (int64_t lane = 0; lane < count; ++lane) {
    to[lane] = vector[lane];
  }
}

/// Loads at most `count` elements, which may be negative, and zeros.
template <int Lanes> FRIT_INLINE Vector<Lanes> loadUpTo(const float *from, int64_t count) {
  return count >= Lanes ? load<Lanes>(from) : loadFirst<Lanes>(from, count);
}

template <int Lanes> FRIT_INLINE void storeUpTo(Vector<Lanes> vector, float *to, int64_t count) {
  if (count >= Lanes) {
    store<Lanes>(vector, to);
  } else {
    storeFirst<Lanes>(vector, to, count);
  }
}

/// Exchanges blocks of Half x Half between rows of a square.
template <int Lanes, int Half, int... Lane>
FRIT_INLINE void exchange(Vector<Lanes> &a, Vector<Lanes> &b, std::integer_sequence<int, Lane...>) {
  Vector<Lanes> low =
      __builtin_shufflevector(a, b, ((Lane & Half) == 0 ? Lane : Lanes + Lane - Half)...);
  b = __builtin_shufflevector(a, b, ((Lane & Half) == 0 ? Lane + Half : Lanes + Lane)...);
  a = low;
}

template <int Lanes, int Half = Lanes / 2> FRIT_INLINE void transpose(Vector<Lanes> *square) {
#pragma GCC unroll 16
  for (int row = 0; row < Lanes; ++row) {
    if ((row & Half) == 0) {
      exchange<Lanes, Half>(square[row], square[row + Half],
                            std::make_integer_sequence<int, Lanes>());
    }
  }
  if constexpr (Half > 1) {
    transpose<Lanes, Half / 2>(square);
  }
}

} // namespace
} // namespace frit
