#include "runtime/standalone/Compare.h"

#include "runtime/plan/DecodedPlan.h"
#include "runtime/standalone/Model.h"

#include <cmath>
#include <cstdio>
#include <cstring>

namespace frit {

using format::Dtype;

namespace {

double halfToDouble(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double value = exponent == 31
                     ? (mantissa ? std::nan("") : INFINITY)
                     : std::ldexp(mantissa + (exponent ? 1024 : 0), (exponent ? exponent : 1) - 25);
  return bits >> 15 ? -value : value;
}

template <typename T> T load(const char *data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

bool isReal(Dtype dtype) { return dtype >= Dtype::F16 && dtype <= Dtype::F64; }
bool isComplex(Dtype dtype) { return dtype == Dtype::C64 || dtype == Dtype::C128; }

/// Number `at` of an array of real numbers, or of complex ones, whose parts count as two.
double realOf(const char *data, Dtype dtype, size_t at) {
  switch (dtype) {
  case Dtype::F16:
    return halfToDouble(load<uint16_t>(data + 2 * at));
  case Dtype::BF16: {
    uint32_t bits = uint32_t(load<uint16_t>(data + 2 * at)) << 16;
    return load<float>(reinterpret_cast<const char *>(&bits));
  }
  case Dtype::F32:
  case Dtype::C64:
    return load<float>(data + 4 * at);
  default:
    return load<double>(data + 8 * at);
  }
}

std::string shapeOf(const NpyArray &array) {
  std::string text;
  for (int64_t size : array.sizes) {
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  }
  return std::string(nameOf(array.dtype)) + " (" + text + ")";
}

/// The index of an element of a contiguous array, as "[1, 2]".
std::string placeOf(const NpyArray &array, size_t element) {
  std::string text;
  for (size_t dim = array.sizes.size(); dim-- > 0;) {
    auto size = static_cast<size_t>(array.sizes[dim]);
    text = std::to_string(element % size) + (text.empty() ? "" : ", ") + text;
    element /= size;
  }
  return "[" + text + "]";
}

NpyArray contiguous(const NpyArray &array) {
  NpyArray copy = array;
  auto *data = const_cast<char *>(array.data.data());
  copyElements(
      Tensor{static_cast<DataType>(array.dtype), array.sizes, array.strides, data, nullptr},
      copy.data.data());
  return copy;
}

} // namespace

std::string difference(const NpyArray &result, const NpyArray &given, double rtol, double atol) {
  // .npy has no bfloat16, so such results are written as uint16.
  bool sameType =
      given.dtype == result.dtype || (result.dtype == Dtype::BF16 && given.dtype == Dtype::U16);
  if (!sameType || given.sizes != result.sizes) {
    return "it is " + shapeOf(result) + ", expected " + shapeOf(given);
  }
  NpyArray expected = contiguous(given);
  size_t parts = isComplex(result.dtype) ? 2 : 1, item = bytesOf(result.dtype),
         count = item ? result.data.size() / item : 0;
  size_t wrong = 0, worst = 0;
  double greatest = -1;
  for (size_t at = 0; at < count * parts; ++at) {
    double distance = 0;
    bool close = true;
    if (isReal(result.dtype) || isComplex(result.dtype)) {
      double ours = realOf(result.data.data(), result.dtype, at),
             theirs = realOf(expected.data.data(), result.dtype, at);
      bool same = ours == theirs || (std::isnan(ours) && std::isnan(theirs));
      distance = same ? 0 : std::fabs(ours - theirs);
      close = same || distance <= atol + rtol * std::fabs(theirs);
      distance = std::isnan(distance) ? INFINITY : distance;
    } else {
      close =
          std::memcmp(result.data.data() + at * item, expected.data.data() + at * item, item) == 0;
    }
    if (!close) {
      ++wrong;
      if (distance > greatest) {
        greatest = distance;
        worst = at / parts;
      }
    }
  }
  if (wrong == 0) {
    return "";
  }
  std::string text =
      std::to_string(wrong) + " of " + std::to_string(count * parts) + " numbers differ";
  if (isReal(result.dtype) || isComplex(result.dtype)) {
    char numbers[160];
    std::snprintf(
        numbers, sizeof(numbers), ", most at %s: got %.9g, expected %.9g (rtol %g, atol %g)",
        placeOf(result, worst).c_str(), realOf(result.data.data(), result.dtype, worst * parts),
        realOf(expected.data.data(), result.dtype, worst * parts), rtol, atol);
    return text + numbers;
  }
  return text + ", first at " + placeOf(result, worst);
}

} // namespace frit
