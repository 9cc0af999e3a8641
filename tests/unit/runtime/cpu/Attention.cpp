// Compares attention by every kernel that this machine can run with f64.

#include "runtime/cpu/AttentionCall.h"
#include "runtime/cpu/AttentionKernels.h"
#include "tests/unit/runtime/cpu/InPieces.h"
#include "tests/unit/runtime/cpu/SizedTensor.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace frit;

namespace {

constexpr float kUntouched = 7, kInfinity = std::numeric_limits<float>::infinity();

enum class Masked { No, Causal, Full, Column, Shared };

/// Heads that are interleaved in each row, as after projections, with gaps between rows.
struct Operands {
  Attention attention;
  std::vector<float> query, key, value, mask, result;
  static constexpr int64_t kGap = 3;

  Operands(int64_t batches, int64_t heads, int64_t queries, int64_t keys, int64_t depth,
           Masked masked, unsigned seed, float size = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, size);
    auto fill = [&](std::vector<float> &numbers, int64_t rows, AttentionStrides &strides) {
      strides = {rows * (heads * depth + kGap), depth, heads * depth + kGap};
      numbers.resize(static_cast<size_t>(batches * strides.batch));
      std::generate(numbers.begin(), numbers.end(), [&] { return normal(random); });
      return numbers.data();
    };
    attention.batches = batches;
    attention.heads = heads;
    attention.queries = queries;
    attention.keys = keys;
    attention.depth = depth;
    attention.scale = static_cast<float>(1 / std::sqrt(double(depth)));
    attention.query = fill(query, queries, attention.queryStrides);
    attention.key = fill(key, keys, attention.keyStrides);
    attention.value = fill(value, keys, attention.valueStrides);
    fill(result, queries, attention.resultStrides);
    result.assign(result.size(), kUntouched);
    attention.result = result.data();
    attention.causal = masked == Masked::Causal;
    if (masked == Masked::Full || masked == Masked::Column || masked == Masked::Shared) {
      mask.resize(static_cast<size_t>(batches * heads * queries * keys * 2));
      for (float &one : mask) {
        one = random() % 3 == 0 ? -kInfinity : normal(random);
      }
      attention.mask = mask.data();
      attention.maskColumnStride = masked == Masked::Column ? 2 : 1;
      attention.maskStrides.row = masked == Masked::Shared ? 0 : 2 * keys;
      attention.maskStrides.head = masked == Masked::Shared ? 0 : 2 * keys * queries;
      attention.maskStrides.batch = masked == Masked::Shared ? keys : 2 * keys * queries * heads;
    }
  }

  static int64_t at(const AttentionStrides &strides, int64_t batch, int64_t head, int64_t row) {
    return batch * strides.batch + head * strides.head + row * strides.row;
  }

  /// Compares a row of the result with its exact value. A score has the error of its sum, and that
  /// shifts an exponential by as much, relative to itself; the weighted sum adds its own error.
  void checkRow(int64_t batch, int64_t head, int64_t row) const {
    constexpr double kUnit = 6e-8;
    const Attention &a = attention;
    std::vector<double> scores;
    double most = -INFINITY, error = 0;
    for (int64_t key = 0; key < a.keys; ++key) {
      double sum = 0, magnitude = 0;
      for (int64_t d = 0; d < a.depth; ++d) {
        double term = double(a.query[at(a.queryStrides, batch, head, row) + d]) *
                      a.key[at(a.keyStrides, batch, head, key) + d];
        sum += term;
        magnitude += std::abs(term);
      }
      double added = a.causal && key > row ? -INFINITY : 0;
      if (a.mask) {
        added = a.mask[at(a.maskStrides, batch, head, row) + key * a.maskColumnStride];
      }
      scores.push_back(sum * a.scale + added);
      if (std::isfinite(added)) {
        error =
            std::max(error, (magnitude * a.scale * double(a.depth + 4) + std::abs(added)) * kUnit);
      }
      most = std::max(most, scores.back());
    }
    double total = 0;
    for (double &score : scores) {
      score = most == -INFINITY ? 0 : std::exp(score - most);
      total += score;
    }
    // The errors of the scores, of exp and its argument, of two sums and of the rescaling.
    double relative = 2 * error + double(a.keys + 12) * kUnit * 2;
    if (most != -INFINITY) {
      relative += 2 * kUnit * std::abs(most);
    }
    for (int64_t d = 0; d < a.depth; ++d) {
      double sum = 0, magnitude = 0;
      for (int64_t key = 0; key < a.keys; ++key) {
        double term =
            scores[static_cast<size_t>(key)] * a.value[at(a.valueStrides, batch, head, key) + d];
        sum += term;
        magnitude += std::abs(term);
      }
      double exact = total == 0 ? 0 : sum / total;
      ASSERT_LE(std::abs(a.result[at(a.resultStrides, batch, head, row) + d] - exact),
                (total == 0 ? 0 : magnitude / total) * relative + 1e-37)
          << a.queries << "x" << a.keys << "x" << a.depth << " at " << batch << ", " << head << ", "
          << row << ", " << d;
    }
  }

  void check() const {
    const Attention &a = attention;
    for (int64_t batch = 0; batch < a.batches; ++batch) {
      for (int64_t row = 0; row < a.queries; ++row) {
        for (int64_t head = 0; head < a.heads; ++head) {
          ASSERT_NO_FATAL_FAILURE(checkRow(batch, head, row));
        }
        for (int64_t gap = 0; gap < kGap; ++gap) {
          ASSERT_EQ(a.result[at(a.resultStrides, batch, a.heads, row) + gap], kUntouched);
        }
      }
    }
  }
};

class AttentionRows : public testing::TestWithParam<size_t> {
protected:
  void SetUp() override {
    if (GetParam() >= attentionKernels().size()) {
      GTEST_SKIP() << "this machine lacks the instructions";
    }
    pieces = 1;
  }
  static void run(const Attention &attention) {
    runAttention(attention, attentionKernels()[GetParam()], inPieces);
  }
};

TEST_P(AttentionRows, AreWithinTheirErrorBound) {
  unsigned seed = 0;
  for (int64_t queries : {0, 1, 2, 15, 16, 17, 33}) {
    for (int64_t keys : {1, 2, 15, 16, 17, 31, 255, 256, 257, 530}) {
      for (int64_t depth : {1, 8, 24, 64, 65}) {
        auto masked = static_cast<Masked>(seed % 5);
        ++seed;
        Operands operands(seed % 3, 1 + seed % 2, queries, keys, depth, masked, seed);
        run(operands.attention);
        ASSERT_NO_FATAL_FAILURE(operands.check()) << "seed " << seed;
      }
    }
  }
}

TEST_P(AttentionRows, HaveTheSameBitsForEveryNumberOfThreadsAndQueries) {
  Operands whole(2, 3, 40, 300, 24, Masked::Full, 1);
  run(whole.attention);
  for (int64_t threads : {2, 3, 7, 1000}) {
    Operands split(2, 3, 40, 300, 24, Masked::Full, 1);
    pieces = threads;
    run(split.attention);
    EXPECT_EQ(split.result, whole.result);
  }
  for (int64_t row : {0, 3, 39}) {
    Operands alone(2, 3, 40, 300, 24, Masked::Full, 1);
    alone.attention.queries = 1;
    alone.attention.query += row * alone.attention.queryStrides.row;
    alone.attention.mask += row * alone.attention.maskStrides.row;
    run(alone.attention);
    EXPECT_TRUE(std::equal(alone.result.begin(), alone.result.begin() + 3 * 24,
                           whole.result.begin() + row * whole.attention.resultStrides.row));
  }
}

/// Scores of some hundreds: all but the largest exponentials are denormal or 0.
TEST_P(AttentionRows, KeepsScoresThatLieFarApart) {
  for (Masked masked : {Masked::No, Masked::Causal, Masked::Full}) {
    Operands operands(1, 2, 20, 600, 64, masked, 3, 15);
    run(operands.attention);
    ASSERT_NO_FATAL_FAILURE(operands.check());
  }
}

TEST_P(AttentionRows, WithoutAnyScoreAreZero) {
  for (int64_t keys : {5, 300}) {
    Operands operands(1, 1, 3, keys, 16, Masked::Full, 4);
    std::fill_n(operands.mask.begin() + 2 * keys, keys, -kInfinity);
    run(operands.attention);
    ASSERT_NO_FATAL_FAILURE(operands.check());
    const float *row = operands.result.data() + operands.attention.resultStrides.row;
    EXPECT_TRUE(std::all_of(row, row + 16, [](float x) { return x == 0; }));
  }
}

TEST_P(AttentionRows, PropagateWhatIsNotFinite) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  auto isNan = [](float x) { return std::isnan(x); };
  for (int64_t keys : {20, 300}) {
    for (float odd : {kNan, kInfinity}) {
      Operands operands(1, 1, 3, keys, 16, Masked::No, 5);
      auto row = [&](int64_t number) {
        return operands.result.begin() + number * operands.attention.resultStrides.row;
      };
      // A NaN query, or infinite scores, affect only their row.
      std::fill_n(operands.query.begin() + operands.attention.queryStrides.row, 16, odd);
      run(operands.attention);
      EXPECT_TRUE(std::all_of(row(1), row(1) + 16, isNan));
      EXPECT_TRUE(std::none_of(row(0), row(0) + 16, isNan));
      EXPECT_TRUE(std::none_of(row(2), row(2) + 16, isNan));
      // A NaN value affects only its column.
      Operands other(1, 1, 3, keys, 16, Masked::No, 5);
      other.value[static_cast<size_t>((keys - 1) * other.attention.valueStrides.row)] = odd;
      run(other.attention);
      EXPECT_FALSE(std::isfinite(other.result[0]));
      EXPECT_TRUE(std::isfinite(other.result[1]));
    }
  }
}

TEST(AttentionChoice, FollowsFromSizesAndTheMachine) {
  struct Case {
    int64_t queries, keys;
    bool causal;
    int lanes;
    bool isOwn, onIntel;
  };
  for (Case one : {
           Case{1, 1, false, 16, true, true},         //
           Case{1, 8192, false, 16, true, true},      // a step of generation
           Case{64, 8192, false, 16, true, false},    //
           Case{128, 128, true, 16, true, true},      //
           Case{512, 512, false, 16, true, false},    //
           Case{1024, 1024, true, 16, true, false},   //
           Case{1024, 1024, false, 16, false, false}, //
           Case{2048, 2048, true, 16, false, false},  //
           Case{32, 4096, false, 8, true, true},      //
           Case{64, 64, false, 8, false, false},      //
           Case{1, 1, false, 0, false, false},        // a machine without a kernel
       }) {
    Attention attention;
    attention.queries = one.queries;
    attention.keys = one.keys;
    attention.causal = one.causal;
    EXPECT_EQ(isAttentionFaster(attention, {one.lanes, false}), one.isOwn)
        << one.queries << "x" << one.keys;
    EXPECT_EQ(isAttentionFaster(attention, {one.lanes, true}), one.onIntel)
        << one.queries << "x" << one.keys;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, AttentionRows, testing::Values(0, 1));

std::optional<Attention> read(const SizedTensor &query, const SizedTensor &key,
                              const SizedTensor &value, const SizedTensor *mask = nullptr,
                              bool causal = false) {
  AttentionCall call = {0, 1, 2, 3, causal, std::nullopt};
  std::optional<TensorView> added;
  if (mask) {
    added = mask->view();
  }
  return attentionFrom(call, query.view(), key.view(), value.view(), added ? &*added : nullptr);
}

TEST(AttentionOperands, AreReadFromTheirStrides) {
  SizedTensor query{{2, 3, 4, 8}, {96, 8, 24, 1}}, key{{2, 3, 5, 8}, {120, 0, 8, 1}};
  auto found = read(query, key, key);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->queries, 4);
  EXPECT_EQ(found->keys, 5);
  EXPECT_EQ(found->queryStrides.row, 24);
  EXPECT_EQ(found->keyStrides.head, 0);
  EXPECT_FLOAT_EQ(found->scale, 1 / std::sqrt(8.0F));
  SizedTensor full{{2, 3, 4, 5}, {60, 20, 5, 1}}, shared{{2, 1, 1, 5}, {5, 9, 9, 1}};
  SizedTensor flat{{4, 5}, {7, 1}}, column{{4, 1}, {1, 1}};
  EXPECT_EQ(read(query, key, key, &full)->maskStrides.head, 20);
  EXPECT_EQ(read(query, key, key, &shared)->maskStrides.row, 0);
  EXPECT_EQ(read(query, key, key, &flat)->maskStrides.row, 7);
  EXPECT_EQ(read(query, key, key, &flat)->maskStrides.batch, 0);
  EXPECT_EQ(read(query, key, key, &column)->maskColumnStride, 0);
}

TEST(AttentionOperands, AreRefused) {
  SizedTensor query{{2, 3, 4, 8}, {96, 32, 8, 1}}, key{{2, 3, 5, 8}, {120, 40, 8, 1}};
  SizedTensor wide = query, lazy = query, apart = query, flat{{4, 8}, {8, 1}};
  wide.dtype = format::Dtype::F64;
  lazy.lazy = kNegated;
  apart.strides[3] = 2;
  for (const SizedTensor &bad : {wide, lazy, apart, flat}) {
    EXPECT_FALSE(read(bad, key, key));
  }
  SizedTensor fewer{{2, 1, 5, 8}, {40, 40, 8, 1}}, shorter{{2, 3, 4, 8}, {96, 32, 8, 1}};
  SizedTensor narrow{{2, 3, 5, 7}, {120, 40, 8, 1}}, none{{2, 3, 0, 8}, {0, 0, 8, 1}};
  for (const SizedTensor &bad : {fewer, shorter, narrow}) {
    EXPECT_FALSE(read(query, key, bad));
  }
  EXPECT_FALSE(read(query, none, none));
  SizedTensor mask{{4, 5}, {5, 1}}, longer{{4, 6}, {6, 1}}, ranked{{3, 4, 5}, {20, 5, 1}};
  EXPECT_FALSE(read(query, key, key, &longer));
  EXPECT_FALSE(read(query, key, key, &ranked));
  EXPECT_FALSE(read(query, key, key, &mask, /*causal=*/true));
}

} // namespace
