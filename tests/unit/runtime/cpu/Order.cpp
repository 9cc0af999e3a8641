// Sorted rows against std::stable_sort.

#include "runtime/cpu/Order.h"

#include "InPieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

using namespace frit;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// As torch compares: a NaN is greater than all numbers.
bool isGreater(float a, float b) { return (std::isnan(a) && !std::isnan(b)) || a > b; }

struct Rows {
  OrderedRows rows;
  std::vector<float> input, values;
  std::vector<int64_t> places;

  Rows(std::vector<float> numbers, int64_t length, int64_t count, bool descending, bool isStable)
      : input(std::move(numbers)) {
    rows.rows = static_cast<int64_t>(input.size()) / length;
    rows.length = rows.rowStride = length;
    rows.count = count;
    rows.descending = descending;
    rows.isStable = isStable;
    rows.input = input.data();
    values.resize(static_cast<size_t>(rows.rows * count));
    places.resize(values.size());
    rows.values = values.data();
    rows.places = places.data();
  }

  /// Whether all rows were ordered.
  bool run(int64_t threads = 1) { return left(threads).empty(); }
  std::vector<int64_t> left(int64_t threads) {
    pieces = threads;
    return orderRows(rows, inPieces);
  }

  void check() const {
    for (int64_t row = 0; row < rows.rows; ++row) {
      const float *from = input.data() + row * rows.length;
      std::vector<int64_t> order(static_cast<size_t>(rows.length));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return rows.descending ? isGreater(from[a], from[b]) : isGreater(from[b], from[a]);
      });
      for (int64_t at = 0; at < rows.count; ++at) {
        auto place = static_cast<size_t>(row * rows.count + at);
        ASSERT_EQ(places[place], order[size_t(at)]) << "row " << row << ", " << at;
        ASSERT_EQ(std::bit_cast<uint32_t>(values[place]),
                  std::bit_cast<uint32_t>(from[order[size_t(at)]]));
      }
    }
  }
};

/// Numbers that are all different.
std::vector<float> different(int64_t rows, int64_t length, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> all;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<float> numbers(static_cast<size_t>(length));
    for (size_t at = 0; at < numbers.size(); ++at) {
      numbers[at] = (float(at) - float(length) / 2) * (seed % 2 ? 1e-3f : 1e30f);
    }
    numbers[0] = -kInf;
    numbers.back() = seed % 3 ? kInf : kNaN;
    std::shuffle(numbers.begin(), numbers.end(), random);
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

TEST(OrderedRowsOnCpus, AreSorted) {
  unsigned seed = 0;
  for (int64_t length : {1, 2, 3, 64, 255, 256, 257, 1000, 5000}) {
    for (int64_t count : {int64_t(1), length / 32, length / 3, length - 1, length}) {
      for (bool descending : {false, true}) {
        if (count > 0) {
          ++seed;
          Rows rows(different(3, length, seed), length, count, descending, seed % 2 == 0);
          ASSERT_TRUE(rows.run(1 + seed % 3));
          rows.check();
        }
      }
    }
  }
}

/// Few values, among them zeros of both signs and NaNs with several bits.
TEST(OrderedRowsOnCpus, KeepTheOrderOfEqualNumbersOrAreLeft) {
  const float numbers[] = {0.0f, -0.0f, 1, -1, kNaN, -kNaN, kInf, -kInf};
  std::mt19937 random(7);
  for (int64_t length : {64, 300, 3000}) {
    std::vector<float> all(static_cast<size_t>(2 * length));
    std::generate(all.begin(), all.end(), [&] { return numbers[random() % std::size(numbers)]; });
    for (bool descending : {false, true}) {
      for (int64_t count : {length / 2, length}) {
        Rows stable(all, length, count, descending, true);
        ASSERT_TRUE(stable.run(2));
        stable.check();
        Rows any(all, length, count, descending, false);
        EXPECT_EQ(any.left(2), (std::vector<int64_t>{0, 1}));
      }
    }
  }
}

TEST(OrderedRowsOnCpus, MayHaveEqualNumbersBehindTheNextOne) {
  std::vector<float> numbers(100, -1.0f);
  for (int at = 0; at < 10; ++at) {
    numbers[size_t(at * 7)] = float(at + 1);
  }
  Rows nine(numbers, 100, 9, true, false), ten(numbers, 100, 10, true, false);
  Rows eleven(numbers, 100, 11, true, false);
  EXPECT_TRUE(nine.run() && ten.run());
  nine.check();
  ten.check();
  EXPECT_FALSE(eleven.run());
  // The eleventh is equal to the tenth.
  numbers[1] = 1;
  Rows tied(numbers, 100, 10, true, false);
  EXPECT_FALSE(tied.run());
}

} // namespace
