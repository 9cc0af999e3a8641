// Tests the ramp's properties over a grid of bounds, and compares the lists for histograms with an
// exhaustive search.
#include "passes/BucketPolicy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace mlir::frit;

namespace {
std::vector<int64_t> plain(const BucketList &list) { return {list.begin(), list.end()}; }

TEST(Ramp, IsPowersOfTwoAndThenEighthsOfAnOctave) {
  EXPECT_EQ(plain(rampBuckets(2, 100, 1, 64)),
            (std::vector<int64_t>{2, 4, 8, 16, 32, 64, 72, 80, 88, 96, 100}));
  EXPECT_EQ(plain(rampBuckets(0, 3, 1, 64)), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(plain(rampBuckets(2, 50, 12, 64)), (std::vector<int64_t>{12, 24, 36, 50}));
  EXPECT_TRUE(rampBuckets(2, std::nullopt, 1, 0).empty());
}

TEST(Ramp, WastesLessThanAnEighthAboveSixtyFour) {
  for (int64_t max : {65, 100, 777, 4096, 5000}) {
    BucketList list = rampBuckets(2, max, 1, kMaxBuckets);
    ASSERT_LE(list.size(), kMaxBuckets);
    ASSERT_EQ(list.back(), max);
    ASSERT_TRUE(std::is_sorted(list.begin(), list.end()));
    for (int64_t size = 65; size <= max; ++size) {
      int64_t bucket = *std::lower_bound(list.begin(), list.end(), size);
      ASSERT_LT(8 * (bucket - size), size) << size << " in " << bucket;
    }
  }
}

TEST(Ramp, EndsAtTheLastEntryWhenNothingIsDeclared) {
  BucketList list = rampBuckets(2, std::nullopt, 1, kMaxBuckets);
  EXPECT_EQ(list.size(), kMaxBuckets);
  EXPECT_GE(list.back(), 8192);
}

TEST(Lists, AreClippedToTheRangeOfTheSize) {
  EXPECT_EQ(plain(clipBuckets({1, 8, 32, 64, 128}, 2, 60, 1)), (std::vector<int64_t>{8, 32, 60}));
  EXPECT_EQ(plain(clipBuckets({5, 8, 9}, 2, std::nullopt, 8)), (std::vector<int64_t>{8, 16}));
}

TEST(Shares, NeverExceedWhatThereIsAndLeaveNothingUnused) {
  EXPECT_EQ(shareBuckets({64, 64}, 64), (std::vector<unsigned>{32, 32}));
  EXPECT_EQ(shareBuckets({64, 4, 64}, 64), (std::vector<unsigned>{30, 4, 30}));
  EXPECT_EQ(shareBuckets({3, 2}, 64), (std::vector<unsigned>{3, 2}));
  EXPECT_EQ(shareBuckets({5, 5, 5}, 1), (std::vector<unsigned>{0, 0, 1}));
}

uint64_t cost(const std::map<int64_t, uint64_t> &sizes, const std::vector<int64_t> &buckets) {
  uint64_t sum = 0;
  for (auto [size, times] : sizes) {
    auto bucket = std::lower_bound(buckets.begin(), buckets.end(), size);
    sum += bucket == buckets.end() ? UINT32_MAX : times * static_cast<uint64_t>(*bucket);
  }
  return sum;
}

/// The least cost over all sets of at most `count` of the sizes.
uint64_t leastCost(const std::map<int64_t, uint64_t> &sizes, unsigned count) {
  std::vector<int64_t> all;
  for (auto [size, times] : sizes) {
    all.push_back(size);
  }
  uint64_t least = UINT64_MAX;
  for (unsigned set = 1; set < 1u << all.size(); ++set) {
    if (static_cast<unsigned>(__builtin_popcount(set)) > count) {
      continue;
    }
    std::vector<int64_t> chosen;
    for (size_t i = 0; i < all.size(); ++i) {
      if (set >> i & 1) {
        chosen.push_back(all[i]);
      }
    }
    least = std::min(least, cost(sizes, chosen));
  }
  return least;
}

TEST(Histogram, IsAsCheapAsTheBestOfAllChoices) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::map<int64_t, uint64_t> sizes;
    unsigned distinct = 1 + random() % 11;
    for (unsigned i = 0; i < distinct; ++i) {
      sizes[1 + random() % 200] = 1 + random() % (round % 2 ? 3 : 1000);
    }
    for (unsigned count = 1; count <= 6; ++count) {
      std::vector<int64_t> buckets = plain(bucketsOfHistogram(sizes, count));
      ASSERT_LE(buckets.size(), count);
      ASSERT_EQ(buckets.back(), sizes.rbegin()->first);
      ASSERT_EQ(cost(sizes, buckets), leastCost(sizes, count))
          << "round " << round << ", " << count << " buckets";
    }
  }
}

TEST(Histogram, LeavesOutSizesThatWereNeverSeenAndHoldsThousands) {
  EXPECT_EQ(plain(bucketsOfHistogram({{3, 0}, {5, 2}, {9, 0}}, 4)), (std::vector<int64_t>{5}));
  EXPECT_TRUE(bucketsOfHistogram({}, 4).empty());
  std::map<int64_t, uint64_t> sizes;
  for (int64_t size = 1; size <= 5000; ++size) {
    sizes[size] = UINT64_MAX / 10000;
  }
  BucketList even = bucketsOfHistogram(sizes, 5);
  EXPECT_EQ(plain(even), (std::vector<int64_t>{1000, 2000, 3000, 4000, 5000}));
}

TEST(Text, IsReadAsItIsWritten) {
  std::vector<BucketRequest> requests, again;
  ASSERT_EQ(readBuckets("x[0]=8, 16;n=ramp;d['a=b'][1]=off;%s7=histogram:3,4;", requests), "");
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(requests[2].key, "d['a=b'][1]");
  EXPECT_EQ(requests[3].policy, "histogram");
  std::string text = writeBuckets(requests);
  EXPECT_EQ(text, "x[0]=8,16;n=ramp;d['a=b'][1]=off;%s7=histogram:3,4");
  EXPECT_EQ(readBuckets(text, again), "");
  EXPECT_EQ(writeBuckets(again), text);
}

TEST(Files, ThatAreNoHistogramsSayWhy) {
  auto wrong = [](const char *json) {
    std::vector<BucketRequest> requests;
    return readHistogram(json, 4, requests);
  };
  EXPECT_EQ(wrong("{").find("not JSON"), 0u);
  EXPECT_NE(wrong("[1, 2]").find("a histogram looks like"), std::string::npos);
  EXPECT_NE(wrong("{}").find("a histogram looks like"), std::string::npos);
  EXPECT_EQ(wrong(R"({"x[0]": [1]})"),
            R"(sizes of 'x[0]' must be an object like {"17": 120, "64": 3})");
  EXPECT_EQ(wrong(R"({"x[0]": {"1.5": 2}})"), "sizes of 'x[0]' must be sizes, found '1.5'");
  EXPECT_EQ(wrong(R"({"x[0]": {"-3": 2}})"), "sizes of 'x[0]' must be sizes, found '-3'");
  EXPECT_EQ(
      wrong(R"({"x[0]": {"3": -2}})"),
      "sizes of 'x[0]' must be counted by non-negative integers, found one that is not at size 3");
  EXPECT_EQ(wrong(R"({"x[0]": {"3": 0}})"), "sizes of 'x[0]' were never seen: every count is 0");
  std::vector<BucketRequest> requests;
  EXPECT_EQ(
      readHistogram(R"({"y[1]": {"0": 9, "7": 1}, "x[0]": {"3": 5, "4": 3, "9": 2}})", 2, requests),
      "");
  EXPECT_EQ(writeBuckets(requests), "x[0]=histogram:4,9;y[1]=histogram:7");
}
} // namespace
