// The emulation of an approximate instruction must have errors, or emulated tests prove nothing
// about devices, but none beyond the manual.

#include "runtime/simt/ApproximateMath.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

using namespace frit;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min(),
                kLargest = std::numeric_limits<float>::max();

float exp2Of(float a) { return approximate(SimtApproximation::Exp2, a, 0); }
float flushedExp2Of(float a) { return approximate(SimtApproximation::Exp2Flushed, a, 0); }
float rsqrtOf(float a) { return approximate(SimtApproximation::Rsqrt, a, 0); }
float sqrtOf(float a) { return approximate(SimtApproximation::Sqrt, a, 0); }
float reciprocalOf(float a) { return approximate(SimtApproximation::Reciprocal, a, 0); }
float divOf(float a, float b) { return approximate(SimtApproximation::Div, a, b); }

double ulpOf(double exact) { return std::exp2(std::max(std::ilogb(exact), -126) - 23); }

struct Errors {
  double least = 0, most = 0;
  int64_t numExact = 0;
  void add(double error, bool isExact) {
    least = std::min(least, error);
    most = std::max(most, error);
    numExact += isExact;
  }
};

/// Calls `body` with 2^17 bit patterns that reach every exponent.
template <typename Body> void forManyFloats(Body body) {
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 32749) {
    if (auto value = std::bit_cast<float>(static_cast<uint32_t>(bits)); std::isfinite(value)) {
      body(value);
    }
  }
}

} // namespace

TEST(ApproximateMath, ExponentialsErrByTwoUlpOfTheRoundedResult) {
  Errors errors;
  forManyFloats([&](float a) {
    double exact = std::exp2(double(a));
    auto rounded = static_cast<float>(exact);
    float result = exp2Of(a);
    if (rounded == 0 || std::isinf(rounded)) {
      EXPECT_EQ(result, rounded) << a;
      return;
    }
    EXPECT_GE(result, 0) << a;
    double error = (double(result) - double(rounded)) / ulpOf(rounded);
    EXPECT_LE(std::abs(error), 2) << a;
    errors.add(error, result == rounded);
  });
  EXPECT_EQ(errors.least, -2);
  EXPECT_EQ(errors.most, 2);
  EXPECT_GT(errors.numExact, 0);
}

TEST(ApproximateMath, FlushedExponentialsErrAsOthersAndHaveNoDenormals) {
  int64_t numFlushed = 0;
  forManyFloats([&](float a) {
    float result = flushedExp2Of(a);
    if (std::isnormal(a) && std::exp2(double(a)) >= 0x1p-126) {
      auto rounded = static_cast<float>(std::exp2(double(a)));
      if (std::isfinite(rounded)) {
        EXPECT_LE(std::abs(double(result) - double(rounded)), 2 * ulpOf(rounded)) << a;
      }
    } else {
      numFlushed += a < 0 && std::isnormal(a) && std::exp2(double(a)) >= 0x1p-149;
      EXPECT_EQ(result, std::isnormal(a) ? 0 : 1) << a;
    }
  });
  EXPECT_GT(numFlushed, 0);
  EXPECT_TRUE(std::isnan(flushedExp2Of(kNan)));
  EXPECT_EQ(flushedExp2Of(kInfinity), kInfinity);
  EXPECT_EQ(flushedExp2Of(-kInfinity), 0);
}

TEST(ApproximateMath, QuotientsErrByTwoUlpInTheFullRange) {
  Errors errors, ofLargeDivisors;
  forManyFloats([&](float b) {
    for (float a : {1.f, -3.f, 1.2345e30f, 7e-39f, kLargest}) {
      double exact = double(a) / double(b);
      auto rounded = static_cast<float>(exact);
      float result = divOf(a, b);
      EXPECT_EQ(std::signbit(result), std::signbit(rounded)) << a << " / " << b;
      if (rounded == 0 || std::isinf(rounded)) {
        EXPECT_EQ(result, rounded) << a << " / " << b;
        continue;
      }
      ASSERT_TRUE(std::isfinite(result)) << a << " / " << b;
      double error = (double(result) - exact) / ulpOf(exact);
      EXPECT_LE(std::abs(error), 2) << a << " / " << b;
      errors.add(error, result == rounded);
      if (std::abs(b) > 0x1p126f) { // where div.approx would give 0
        ofLargeDivisors.add(error, result == rounded);
      }
    }
  });
  EXPECT_LT(errors.least, -1.9);
  EXPECT_GT(errors.most, 1.9);
  EXPECT_LT(ofLargeDivisors.least, -1.5);
  EXPECT_GT(ofLargeDivisors.most, 1.5);
}

TEST(ApproximateMath, ReciprocalsErrByOneUlpAndFlushDenormals) {
  Errors errors;
  forManyFloats([&](float a) {
    float result = reciprocalOf(a);
    EXPECT_EQ(std::signbit(result), std::signbit(a)) << a;
    double exact = 1 / double(a);
    if (!std::isnormal(a)) {
      EXPECT_TRUE(std::isinf(result)) << a;
    } else if (std::abs(exact) < 0x1p-126) {
      EXPECT_EQ(result, 0) << a;
    } else {
      double error = (double(result) - exact) / ulpOf(exact);
      EXPECT_LE(std::abs(error), 1) << a;
      errors.add(error, double(result) == exact);
    }
  });
  EXPECT_LT(errors.least, -0.9);
  EXPECT_GT(errors.most, 0.9);
}

TEST(ApproximateMath, RootsErrByTheirRelativeErrors) {
  double most = 0, mostOfReciprocals = 0;
  forManyFloats([&](float a) {
    if (!(a > 0)) {
      return;
    }
    double root = std::sqrt(double(a));
    double error = std::abs(sqrtOf(a) / root - 1), ofReciprocal = std::abs(rsqrtOf(a) * root - 1);
    EXPECT_LE(error, 0x1p-23 * (1 + 1e-9)) << a;
    EXPECT_LE(ofReciprocal, std::exp2(-22.9) * (1 + 1e-9)) << a;
    most = std::max(most, error);
    mostOfReciprocals = std::max(mostOfReciprocals, ofReciprocal);
  });
  EXPECT_GT(most, 0.9 * 0x1p-23);
  EXPECT_GT(mostOfReciprocals, 0.9 * std::exp2(-22.9));
}

/// Special values are those of the manual's tables, or of IEEE if it has none.
TEST(ApproximateMath, SpecialOperandsHaveTheirResults) {
  EXPECT_EQ(exp2Of(-kInfinity), 0);
  EXPECT_FALSE(std::signbit(exp2Of(-kInfinity)));
  EXPECT_EQ(exp2Of(kInfinity), kInfinity);
  EXPECT_EQ(exp2Of(0.f), 1);
  EXPECT_EQ(exp2Of(-0.f), 1);
  EXPECT_EQ(exp2Of(128), kInfinity);
  EXPECT_EQ(exp2Of(-200), 0);
  EXPECT_TRUE(std::isnan(exp2Of(kNan)));
  EXPECT_NEAR(exp2Of(-149), kDenormal, 2 * kDenormal);

  EXPECT_EQ(divOf(1, kInfinity), 0);
  EXPECT_TRUE(std::signbit(divOf(-1, kInfinity)));
  EXPECT_TRUE(std::signbit(divOf(0.f, -3)));
  EXPECT_EQ(divOf(1, 0.f), kInfinity);
  EXPECT_EQ(divOf(1, -0.f), -kInfinity);
  EXPECT_EQ(divOf(kInfinity, kLargest), kInfinity);
  EXPECT_EQ(divOf(kLargest, kDenormal), kInfinity);
  EXPECT_TRUE(std::isnan(divOf(0, 0)));
  EXPECT_TRUE(std::isnan(divOf(kInfinity, kInfinity)));
  EXPECT_TRUE(std::isnan(divOf(kNan, 1)));
  EXPECT_TRUE(std::isnan(divOf(1, kNan)));

  EXPECT_EQ(reciprocalOf(0.f), kInfinity);
  EXPECT_EQ(reciprocalOf(-0.f), -kInfinity);
  EXPECT_EQ(reciprocalOf(kInfinity), 0);
  EXPECT_TRUE(std::signbit(reciprocalOf(-kInfinity)));
  EXPECT_TRUE(std::isnan(reciprocalOf(kNan)));

  EXPECT_EQ(sqrtOf(0.f), 0);
  EXPECT_TRUE(std::signbit(sqrtOf(-0.f)));
  EXPECT_EQ(sqrtOf(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(sqrtOf(-1)));
  EXPECT_EQ(rsqrtOf(0.f), kInfinity);
  EXPECT_EQ(rsqrtOf(-0.f), -kInfinity);
  EXPECT_EQ(rsqrtOf(kInfinity), 0);
  EXPECT_TRUE(std::isnan(rsqrtOf(-1)));
  EXPECT_TRUE(std::isnan(rsqrtOf(kNan)));
}

/// Two runs of a kernel have the same errors, and those of neighbours have both signs.
TEST(ApproximateMath, ErrorsFollowFromTheOperands) {
  std::set<int> signs;
  for (int i = 1; i < 100; ++i) {
    float a = 1 + 0.001f * static_cast<float>(i);
    EXPECT_EQ(exp2Of(a), exp2Of(a));
    auto rounded = static_cast<float>(std::exp2(double(a)));
    signs.insert(exp2Of(a) < rounded ? -1 : exp2Of(a) > rounded ? 1 : 0);
  }
  EXPECT_EQ(signs, (std::set<int>{-1, 0, 1}));
}
