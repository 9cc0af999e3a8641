// The kernels of AttentionKernels.h for one width of vectors. As ProductTiles.h, only the sources
// of one instruction set include this file, and all of it has internal linkage.

#pragma once

#include "runtime/cpu/AttentionKernels.h"
#include "runtime/cpu/ProductTiles.h"

namespace frit {
namespace {

constexpr float kNoScore = -__builtin_inff();

template <int Lanes> struct IntVectorOf {
  typedef int type __attribute__((vector_size(Lanes * sizeof(int))));
};

/// e^x for x <= 0 and NaN, with an error below one unit of the last place (docs/Rationale.md): 2^n
/// times a polynomial on |r| <= ln(2) / 2. The polynomial is that of codegen/math/FloatMath.cpp.
template <int Lanes>
inline __attribute__((always_inline)) Vector<Lanes> exponential(Vector<Lanes> x) {
  using Ints = typename IntVectorOf<Lanes>::type;
  constexpr float kMagic = 0x1.8p23F;
  // Below -104 the result is 0.
  x = x < -104.0F ? Vector<Lanes>{} - 104.0F : x;
  Vector<Lanes> shifted = x * 0x1.715476p0F + kMagic;
  Vector<Lanes> n = shifted - kMagic;
  Ints exponent = __builtin_bit_cast(Ints, shifted) - 0x4b400000;
  // ln(2) in two parts, the first with trailing zeros: n * high is exact.
  Vector<Lanes> r = x - n * 0x1.62e4p-1F;
  r = r - n * 0x1.7f7d1cp-20F;
  Vector<Lanes> q = Vector<Lanes>{} + 0.0013814559146325934F;
  q = q * r + 0.008368735630891059F;
  q = q * r + 0.04166838987404234F;
  q = q * r + 0.16666520477008503F;
  q = q * r + 0.49999993437347007F;
  Vector<Lanes> p = r * r * q + r;
  // In two steps, because n reaches beyond the exponents of one factor.
  Ints half = exponent >> 1;
  auto first = __builtin_bit_cast(Vector<Lanes>, (half + 127) << 23);
  auto rest = __builtin_bit_cast(Vector<Lanes>, (exponent - half + 127) << 23);
  return (p * first + first) * rest;
}

template <int Lanes>
float scaleScores(float *scores, int64_t count, int64_t padded, float scale, const float *mask,
                  int64_t maskStride) {
  int64_t at = 0;
  if (!mask) {
    for (; at + Lanes <= count; at += Lanes) {
      store<Lanes>(load<Lanes>(scores + at) * scale, scores + at);
    }
  } else if (maskStride == 1) {
    for (; at + Lanes <= count; at += Lanes) {
      store<Lanes>(load<Lanes>(scores + at) * scale + load<Lanes>(mask + at), scores + at);
    }
  }
  for (; at < count; ++at) {
    scores[at] = scores[at] * scale + (mask ? mask[at * maskStride] : 0.0F);
  }
  for (; at < padded; ++at) {
    scores[at] = kNoScore;
  }
  Vector<Lanes> most = Vector<Lanes>{} + kNoScore;
  for (at = 0; at < padded; at += Lanes) {
    Vector<Lanes> score = load<Lanes>(scores + at);
    most = score > most ? score : most;
  }
  float result = most[0];
  for (int lane = 1; lane < Lanes; ++lane) {
    result = most[lane] > result ? most[lane] : result;
  }
  return result;
}

template <int Lanes> float exponentials(float *scores, int64_t padded, float most) {
  Vector<Lanes> sum = {};
  for (int64_t at = 0; at < padded; at += Lanes) {
    Vector<Lanes> value = exponential<Lanes>(load<Lanes>(scores + at) - most);
    store<Lanes>(value, scores + at);
    sum += value;
  }
  return sums<Lanes, 1, 0, 1>(&sum)[0];
}

template <int Lanes> void multiply(float *numbers, int64_t count, float factor) {
  int64_t at = 0;
  for (; at + Lanes <= count; at += Lanes) {
    store<Lanes>(load<Lanes>(numbers + at) * factor, numbers + at);
  }
  for (; at < count; ++at) {
    numbers[at] *= factor;
  }
}

} // namespace
} // namespace frit
