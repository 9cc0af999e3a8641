// Compares the overlap test of views with the exact sets of bytes.

#include "runtime/plan/InputOverlap.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace frit;

namespace {

struct Piece {
  uintptr_t begin;
  std::vector<int64_t> sizes, strides;
  format::Dtype dtype = format::Dtype::F32;

  TensorView view() const {
    return {reinterpret_cast<void *>(begin),
            sizes.data(),
            strides.data(),
            static_cast<int64_t>(sizes.size()),
            0,
            dtype,
            format::Device::Cpu};
  }
  std::set<uintptr_t> bytes() const {
    std::set<uintptr_t> firsts = {begin};
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      std::set<uintptr_t> more;
      for (uintptr_t first : firsts) {
        for (int64_t at = 0; at < sizes[dim]; ++at) {
          more.insert(first + static_cast<uintptr_t>(at * strides[dim]) * bytesOf(dtype));
        }
      }
      firsts = more;
    }
    std::set<uintptr_t> all;
    for (uintptr_t first : firsts) {
      for (size_t at = 0; at < bytesOf(dtype); ++at) {
        all.insert(first + at);
      }
    }
    return all;
  }
};

bool reallyMeet(const Piece &a, const Piece &b) {
  std::set<uintptr_t> bytes = a.bytes();
  for (uintptr_t byte : b.bytes()) {
    if (bytes.count(byte)) {
      return true;
    }
  }
  return false;
}

bool mayMeet(const Piece &a, const Piece &b) {
  bool meets = mayShareMemory(a.view(), b.view());
  EXPECT_EQ(meets, mayShareMemory(b.view(), a.view()));
  return meets;
}

} // namespace

TEST(InputOverlap, NeverMissesASharedByte) {
  std::mt19937 random(1);
  auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  };
  auto piece = [&] {
    Piece piece = {4096 + static_cast<uintptr_t>(below(40)),
                   {},
                   {},
                   below(2) ? format::Dtype::F32 : format::Dtype::I8};
    for (int64_t rank = below(4); rank > 0; --rank) {
      piece.sizes.push_back(below(5));
      piece.strides.push_back(below(9));
    }
    return piece;
  };
  size_t exact = 0, apart = 0;
  for (int round = 0; round < 20000; ++round) {
    Piece a = piece(), b = piece();
    bool real = reallyMeet(a, b), claimed = mayMeet(a, b);
    ASSERT_TRUE(claimed || !real) << "round " << round;
    apart += !real;
    exact += !real && !claimed;
  }
  EXPECT_GT(exact, apart / 2);
}

TEST(InputOverlap, PiecesOfOneTensor) {
  // Columns of a (100, 8) matrix, its rows, every other element of a vector, heads of a (2, 3, 4,
  // 5) cache.
  EXPECT_FALSE(mayMeet({4096, {100, 3}, {8, 1}}, {4096 + 12, {100, 5}, {8, 1}}));
  EXPECT_TRUE(mayMeet({4096, {100, 4}, {8, 1}}, {4096 + 12, {100, 5}, {8, 1}}));
  EXPECT_FALSE(mayMeet({4096, {50, 8}, {8, 1}}, {4096 + 1600, {50, 8}, {8, 1}}));
  EXPECT_TRUE(mayMeet({4096, {51, 8}, {8, 1}}, {4096 + 1600, {50, 8}, {8, 1}}));
  EXPECT_FALSE(mayMeet({4096, {50}, {2}}, {4100, {50}, {2}}));
  EXPECT_FALSE(mayMeet({4096, {2, 4, 5}, {60, 5, 1}}, {4096 + 80, {2, 4, 5}, {60, 5, 1}}));
  EXPECT_TRUE(mayMeet({4096, {99}, {1}}, {4100, {99}, {1}}));
  // The same view; an empty one; one element inside of another tensor.
  EXPECT_TRUE(mayMeet({4096, {10}, {1}}, {4096, {10}, {1}}));
  EXPECT_FALSE(mayMeet({4096, {10}, {1}}, {4100, {0}, {1}}));
  EXPECT_TRUE(mayMeet({4096, {10}, {1}}, {4100, {}, {}}));
}

TEST(InputOverlap, ExpandedTensorsOverlapThemselves) {
  EXPECT_TRUE(overlapsItself(Piece{4096, {3, 4}, {0, 1}}.view()));
  EXPECT_FALSE(overlapsItself(Piece{4096, {1, 4}, {0, 1}}.view()));
  EXPECT_FALSE(overlapsItself(Piece{4096, {3, 0}, {0, 1}}.view()));
  EXPECT_FALSE(overlapsItself(Piece{4096, {3, 4}, {4, 1}}.view()));
}
