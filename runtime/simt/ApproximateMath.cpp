#include "runtime/simt/ApproximateMath.h"

#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

namespace frit {

/// Mixes all bits of the operands, so that neighbouring values get different errors.
static uint32_t hashOf(float a, float b) {
  uint32_t bits = std::bit_cast<uint32_t>(a) ^ std::rotl(std::bit_cast<uint32_t>(b), 13);
  bits = (bits ^ (bits >> 16)) * 0x85ebca6bu;
  bits = (bits ^ (bits >> 13)) * 0xc2b2ae35u;
  return bits ^ (bits >> 16);
}

static double evaluate(SimtApproximation instruction, double a, double b) {
  switch (instruction) {
  case SimtApproximation::Exp2:
  case SimtApproximation::Exp2Flushed:
    return std::exp2(a);
  case SimtApproximation::Rsqrt:
    return 1 / std::sqrt(a);
  case SimtApproximation::Sqrt:
    return std::sqrt(a);
  case SimtApproximation::Div:
    return a / b;
  case SimtApproximation::Reciprocal:
    return 1 / a;
  }
  return 0;
}

/// The distance to the next float away from 0.
static double ulpOf(float value) {
  float magnitude = std::abs(value);
  return double(std::nextafter(magnitude, std::numeric_limits<float>::infinity())) -
         double(magnitude);
}

/// Whether PTX's manual allows a result if the exact one is neither 0 nor infinite nor NaN.
static bool isAllowed(SimtApproximation instruction, double exact, float rounded, float result) {
  if (!std::isfinite(result) || std::signbit(result) != std::signbit(rounded)) {
    return false;
  }
  switch (instruction) {
  case SimtApproximation::Exp2:
  case SimtApproximation::Exp2Flushed: // "2 ulp from correctly rounded result"
    return std::abs(double(result) - double(rounded)) <= 2 * ulpOf(rounded);
  case SimtApproximation::Div: // "maximum ulp error is 2 across the full range of inputs"
    return std::abs(result - exact) <= 2 * ulpOf(rounded);
  case SimtApproximation::Reciprocal: // "maximum ulp error is 1 across the full range of inputs"
    return std::abs(result - exact) <= ulpOf(rounded);
  case SimtApproximation::Sqrt: // "maximum relative error ... 2^-23"
    return std::abs(result - exact) <= std::exp2(-23) * exact;
  case SimtApproximation::Rsqrt: // "maximum relative error ... 2^-22.9"
    return std::abs(result - exact) <= std::exp2(-22.9) * exact;
  }
  return false;
}

/// Flushes denormals to zero, as `.ftz` does with operands and results.
static float flush(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

float approximate(SimtApproximation instruction, float a, float b) {
  bool isExponential =
      instruction == SimtApproximation::Exp2 || instruction == SimtApproximation::Exp2Flushed;
  bool isFlushed =
      instruction == SimtApproximation::Reciprocal || instruction == SimtApproximation::Exp2Flushed;
  a = isFlushed ? flush(a) : a;
  double exact = evaluate(instruction, a, b);
  auto rounded = static_cast<float>(exact);
  bool isOne = isExponential && a == 0; // exact by the manual's table
  if (!std::isfinite(rounded) || rounded == 0 || isOne) {
    return rounded;
  }
  // Most errors are the largest allowed ones, which are most likely to break something.
  constexpr int kSteps[] = {-2, -2, -2, -1, 0, 1, 2, 2, 2};
  int steps = kSteps[hashOf(a, b) % std::size(kSteps)];
  float toward = std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(steps));
  float result = rounded;
  for (int i = 0; i < std::abs(steps); ++i) {
    float next = std::nextafter(result, toward);
    if (!isAllowed(instruction, exact, rounded, next)) {
      break;
    }
    result = next;
  }
  return isFlushed ? flush(result) : result;
}

} // namespace frit
