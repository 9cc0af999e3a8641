// Compares products of every form and kernel that this machine can run with f64, and tests the
// choice of kernels.

#include "runtime/cpu/ProductCall.h"
#include "runtime/cpu/ProductKernels.h"
#include "tests/unit/runtime/cpu/InPieces.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <tuple>

using namespace frit;

namespace {

constexpr float kUntouched = 7;

/// Matrices with gaps between their rows. The right one is [columns, depth] or [depth, columns].
struct Operands {
  Product product;
  std::vector<float> left, right, added, result;
  static constexpr int64_t kGap = 3;

  enum Addend { None, Row, Column, Matrix };

  Operands(ProductForm form, int64_t rows, int64_t columns, int64_t depth, Addend addend,
           unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    auto fill = [&](std::vector<float> &numbers, int64_t count) {
      numbers.resize(static_cast<size_t>(count));
      std::generate(numbers.begin(), numbers.end(), [&] { return normal(random); });
      return numbers.data();
    };
    bool alongDepth = form == ProductForm::AlongDepth;
    product.rows = rows;
    product.columns = columns;
    product.depth = depth;
    product.form = form;
    product.leftStride = depth + kGap;
    product.left = fill(left, rows * product.leftStride);
    product.rightStride = (alongDepth ? depth : columns) + kGap;
    product.right = fill(right, (alongDepth ? columns : depth) * product.rightStride);
    if (addend != None) {
      product.addedRowStride = addend == Row ? 0 : addend == Column ? 2 : columns + kGap;
      product.addedColumnStride = addend == Column ? 0 : 1;
      product.added = fill(added, rows * (columns + kGap) + 2 * rows);
    }
    product.resultStride = columns + kGap;
    result.assign(static_cast<size_t>(rows * product.resultStride), kUntouched);
    product.result = result.data();
  }

  /// The exact element, and the sum of magnitudes to which its error is relative.
  std::pair<double, double> exact(int64_t row, int64_t column) const {
    bool alongDepth = product.form == ProductForm::AlongDepth;
    double sum = 0, magnitude = 0;
    for (int64_t at = 0; at < product.depth; ++at) {
      double term = double(product.left[row * product.leftStride + at]) *
                    product.right[alongDepth ? column * product.rightStride + at
                                             : at * product.rightStride + column];
      sum += term;
      magnitude += std::abs(term);
    }
    if (product.added) {
      double addend =
          product.added[row * product.addedRowStride + column * product.addedColumnStride];
      sum += addend;
      magnitude += std::abs(addend);
    }
    return {sum, magnitude};
  }
};

class Products : public testing::TestWithParam<std::tuple<ProductForm, size_t>> {
protected:
  void SetUp() override {
    if (std::get<1>(GetParam()) >= productKernels().size()) {
      GTEST_SKIP() << "this machine lacks the instructions";
    }
    pieces = 1;
  }
  static ProductForm form() { return std::get<0>(GetParam()); }
  static void run(const Product &product) {
    runProduct(product, *productKernels()[std::get<1>(GetParam())], inPieces);
  }
};

TEST_P(Products, AreWithinTheirErrorBound) {
  unsigned seed = 0;
  for (int64_t rows : {1, 2, 3, 4, 5, 8, 9, 63, 64, 65, 130}) {
    for (int64_t columns : {1, 2, 3, 5, 6, 7, 15, 16, 17, 24, 25, 47, 48, 49}) {
      for (int64_t depth : {0, 1, 2, 7, 8, 9, 15, 16, 17, 33}) {
        auto addend = static_cast<Operands::Addend>(seed % 4);
        Operands operands(form(), rows, columns, depth, addend, ++seed);
        run(operands.product);
        for (int64_t row = 0; row < rows; ++row) {
          const float *line = operands.result.data() + row * operands.product.resultStride;
          for (int64_t column = 0; column < columns; ++column) {
            auto [exact, magnitude] = operands.exact(row, column);
            ASSERT_LE(std::abs(line[column] - exact), magnitude * double(depth + 2) * 6e-8)
                << rows << "x" << columns << "x" << depth << " at " << row << ", " << column;
          }
          for (int64_t gap = columns; gap < operands.product.resultStride; ++gap) {
            ASSERT_EQ(line[gap], kUntouched);
          }
        }
      }
    }
  }
}

TEST_P(Products, HaveTheSameBitsForEveryNumberOfThreadsAndRows) {
  Operands whole(form(), 70, 101, 75, Operands::Row, 1);
  run(whole.product);
  for (int64_t threads : {2, 3, 7, 1000}) {
    Operands split(form(), 70, 101, 75, Operands::Row, 1);
    pieces = threads;
    run(split.product);
    EXPECT_EQ(split.result, whole.result);
  }
  for (int64_t row : {0, 3, 69}) {
    Operands alone(form(), 70, 101, 75, Operands::Row, 1);
    alone.product.rows = 1;
    alone.product.left += row * alone.product.leftStride;
    run(alone.product);
    EXPECT_TRUE(std::equal(alone.result.begin(), alone.result.begin() + 101,
                           whole.result.begin() + row * whole.product.resultStride));
  }
}

TEST_P(Products, PropagateWhatIsNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int64_t depth : {1, 16, 21}) {
    Operands operands(form(), 5, 50, depth, Operands::None, 2);
    operands.left[size_t(operands.product.leftStride + depth - 1)] = kInfinity;
    operands.left[size_t(2 * operands.product.leftStride)] = std::nanf("");
    run(operands.product);
    for (int64_t column = 0; column < 50; ++column) {
      auto at = [&](int64_t row) {
        return operands.result[size_t(row * operands.product.resultStride + column)];
      };
      EXPECT_TRUE(std::isfinite(at(0)) && std::isinf(at(1)) && std::isnan(at(2)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Products,
                         testing::Combine(testing::Values(ProductForm::AlongDepth,
                                                          ProductForm::AlongColumns),
                                          testing::Values(0, 1)));

TEST(ProductChoice, FollowsSizes) {
  struct Case {
    ProductForm form;
    int64_t rows, columns, depth;
    int lanes;
    bool isOwn, onIntel;
  };
  constexpr auto kDepth = ProductForm::AlongDepth, kColumns = ProductForm::AlongColumns;
  for (const Case &one : {
           Case{kDepth, 1, 512, 512, 16, true, true},      // a token
           Case{kDepth, 16, 384, 384, 16, true, true},     // a short sentence
           Case{kDepth, 64, 1536, 384, 16, true, true},    //
           Case{kDepth, 64, 384, 64, 16, false, false},    // sums of lanes cost more than products
           Case{kDepth, 16, 384, 64, 16, true, true},      //
           Case{kDepth, 128, 1536, 384, 16, true, true},   // in panels
           Case{kDepth, 1024, 1536, 384, 16, true, false}, //
           Case{kDepth, 1024, 8, 384, 16, false, false},   // no vector of columns
           Case{kDepth, 1024, 1536, 384, 8, false, false}, //
           Case{kDepth, 1, 512, 512, 8, true, true},       //
           Case{kDepth, 32, 512, 512, 8, true, true},      //
           Case{kDepth, 64, 512, 512, 8, false, false},    // as fast as MKL
           Case{kDepth, 4, 384, 64, 8, false, false},      //
           Case{kColumns, 16, 384, 384, 8, true, true},    //
           Case{kColumns, 64, 384, 384, 8, false, false},  //
           Case{kColumns, 1, 1536, 384, 8, false, false},  // MKL reads whole rows
           Case{kColumns, 1, 1536, 384, 16, true, false},  //
           Case{kColumns, 4, 1536, 384, 16, true, true},   //
           Case{kColumns, 4, 384, 1536, 16, true, false},  // deep
           Case{kColumns, 32, 1152, 384, 16, true, false}, //
           Case{kColumns, 64, 384, 32, 16, true, false},   //
           Case{kColumns, 128, 1536, 384, 16, true, false},
           Case{kColumns, 256, 1536, 384, 16, true, false},
           Case{kDepth, 1, 512, 512, 0, false, false}, // a machine without a kernel
           Case{kDepth, 0, 512, 512, 0, false, false}, //
       }) {
    Product product;
    product.form = one.form;
    product.rows = one.rows;
    product.columns = one.columns;
    product.depth = one.depth;
    EXPECT_EQ(isProductFaster(product, {one.lanes, false}), one.isOwn)
        << one.rows << "x" << one.columns << "x" << one.depth;
    EXPECT_EQ(isProductFaster(product, {one.lanes, true}), one.onIntel)
        << one.rows << "x" << one.columns << "x" << one.depth;
  }
}

/// A matrix of a host, whose stride is arbitrary for a single element.
struct Matrix {
  std::vector<int64_t> sizes, strides;
  format::Dtype dtype = format::Dtype::F32;
  LazyBits lazy = kPlain;

  TensorView view() const {
    return {nullptr, sizes.data(), strides.data(),      static_cast<int64_t>(sizes.size()),
            0,       dtype,        format::Device::Cpu, 0,
            lazy};
  }
};

TEST(ProductOperands, AreReadFromTheirStrides) {
  Matrix left{{4, 8}, {9, 1}}, linear{{8, 6}, {1, 11}}, plain{{8, 6}, {7, 1}};
  auto product = productFrom(left.view(), linear.view(), nullptr);
  ASSERT_TRUE(product);
  EXPECT_EQ(product->form, ProductForm::AlongDepth);
  EXPECT_EQ(product->rightStride, 11);
  product = productFrom(left.view(), plain.view(), nullptr);
  ASSERT_TRUE(product);
  EXPECT_EQ(product->form, ProductForm::AlongColumns);
  EXPECT_EQ(product->rightStride, 7);
  EXPECT_EQ(product->leftStride, 9);

  Matrix bias{{6}, {1}}, one{{1}, {5}}, number{{}, {}}, column{{4, 1}, {3, 9}};
  for (const Matrix &addend : {bias, one, number, column}) {
    EXPECT_TRUE(productFrom(left.view(), plain.view(), std::array{addend.view()}.data()));
  }
}

TEST(ProductOperands, AreRefused) {
  Matrix left{{4, 8}, {8, 1}}, right{{8, 6}, {6, 1}};
  Matrix apart{{4, 8}, {16, 2}}, rightApart{{8, 6}, {12, 2}}, shorter{{7, 6}, {6, 1}};
  Matrix wide{{4, 8}, {8, 1}, format::Dtype::F64},
      lazy{{4, 8}, {8, 1}, format::Dtype::F32, kNegated};
  EXPECT_FALSE(productFrom(apart.view(), right.view(), nullptr));
  EXPECT_FALSE(productFrom(left.view(), rightApart.view(), nullptr));
  EXPECT_FALSE(productFrom(left.view(), shorter.view(), nullptr));
  EXPECT_FALSE(productFrom(wide.view(), right.view(), nullptr));
  EXPECT_FALSE(productFrom(lazy.view(), right.view(), nullptr));
  for (const Matrix &addend : {Matrix{{5}, {1}}, Matrix{{3, 6}, {6, 1}}, Matrix{{6}, {2}},
                               Matrix{{1, 4, 6}, {24, 6, 1}}}) {
    EXPECT_FALSE(productFrom(left.view(), right.view(), std::array{addend.view()}.data()));
  }
}

} // namespace
