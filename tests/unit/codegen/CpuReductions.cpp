#include "tests/unit/codegen/CpuKernelRunner.h"

#include <cmath>
#include <cstring>

using namespace mlir::frit;
using namespace mlir::frit::test;

namespace {

constexpr const char *kSymbols =
    R"(attributes {symbols = [#frit.symbol<"p0", min = 0>, #frit.symbol<"p1", min = 0>, #frit.symbol<"p2", min = 0>]})";

/// Replaces F by the full type, R by the row's, C by the column's.
std::string expand(std::string text) {
  auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  };
  replace("$F", "tensor<?x?xf32, #frit.dims<[p0, p1]>>");
  replace("$I", "tensor<?x?xi64, #frit.dims<[p0, p1]>>");
  replace("$B", "tensor<?x?xi1, #frit.dims<[p0, p1]>>");
  replace("$R", "tensor<?xf32, #frit.dims<[p0]>>");
  replace("$C", "tensor<?xf32, #frit.dims<[p1]>>");
  replace("$S", kSymbols);
  return text;
}

TEST(CpuReductions, SoftmaxOfRows) {
  for (CpuLevel level : getLevels()) {
    for (bool bounded : {false, true}) {
      std::string text = expand(R"(
        frit.kernel @k(%x: $F) -> $F $S {
          %m = frit.reduce <max> %x dims [1] : $F -> $R
          %mb = frit.reindex %m <(d0, d1) -> (d0)> : $R -> $F
          %s = arith.subf %x, %mb : $F
          %e = math.exp %s : $F
          %t = frit.reduce <sum> %e dims [1] : $F -> $R
          %tb = frit.reindex %t <(d0, d1) -> (d0)> : $R -> $F
          %y = arith.divf %e, %tb : $F
          frit.yield %y : $F
        })");
      if (bounded) { // a bounded row is stored in scratch
        text.replace(text.find("\"p1\", min = 0"), 13, "\"p1\", min = 0, max = 1000");
      }
      CpuKernelRunner kernel(text, level);
      ASSERT_TRUE(kernel.isValid());
      for (int64_t n : {0, 1, 4}) {
        for (int64_t m : kSizes) {
          for (bool special : {false, true}) {
            auto x = makeFloats(n * m, n + m, special);
            std::vector<float> y(n * m + 1, 77);
            EXPECT_EQ(kernel.run({x.data(), y.data()}, {n, m, 0}), 0);
            for (int64_t i = 0; i < n; ++i) {
              float *row = x.data() + i * m;
              double top = -INFINITY, total = 0;
              for (int64_t j = 0; j < m; ++j) {
                top = std::isnan(row[j]) || std::isnan(top) ? NAN : std::max<double>(top, row[j]);
              }
              for (int64_t j = 0; j < m; ++j) {
                total += std::exp(row[j] - top);
              }
              for (int64_t j = 0; j < m; ++j) {
                expectNear(std::exp(row[j] - top) / total, y[i * m + j], 1e-6, j);
              }
            }
            EXPECT_EQ(y[n * m], 77);
          }
        }
      }
    }
  }
}

// Exponentials of rows that fit are stored, and those of longer rows are computed again: the bits
// are the same, whether sizes are known or not.
TEST(CpuReductions, SoftmaxOfKeptAndLongerRows) {
  for (CpuLevel level : getLevels()) {
    std::string text = expand(R"(
      frit.kernel @k(%x: $F) -> $F $S {
        %m = frit.reduce <max> %x dims [1] : $F -> $R
        %mb = frit.reindex %m <(d0, d1) -> (d0)> : $R -> $F
        %s = arith.subf %x, %mb : $F
        %e = math.exp %s : $F
        %t = frit.reduce <sum> %e dims [1] : $F -> $R
        %tb = frit.reindex %t <(d0, d1) -> (d0)> : $R -> $F
        %y = arith.divf %e, %tb : $F
        frit.yield %y : $F
      })");
    CpuKernelRunner any(text, level);
    text.replace(text.find("\"p1\", min = 0"), 13, "\"p1\", min = 0, max = 16384");
    CpuKernelRunner bounded(text, level);
    ASSERT_TRUE(any.isValid() && bounded.isValid());
    for (int64_t m : {1, 7, 64, 65, 257, 1024, 4095, 4097, 8193, 16383, 16384, 16385, 40001}) {
      auto x = makeFloats(3 * m, m);
      std::vector<float> y(3 * m + 1, 77), z = y;
      EXPECT_EQ(any.run({x.data(), y.data()}, {3, m, 0}), 0);
      for (int64_t i = 0; i < 3; ++i) {
        const float *row = x.data() + i * m;
        double top = *std::max_element(row, row + m), total = 0;
        for (int64_t j = 0; j < m; ++j) {
          total += std::exp(row[j] - top);
        }
        for (int64_t j = 0; j < m; ++j) {
          expectNear(std::exp(row[j] - top) / total, y[i * m + j], 2e-6, j);
        }
      }
      EXPECT_EQ(y[3 * m], 77);
      if (m <= 16384) {
        EXPECT_EQ(bounded.run({x.data(), z.data()}, {3, m, 0}), 0);
        EXPECT_EQ(y, z) << m;
      }
    }
  }
}

TEST(CpuReductions, LayerNormWithStatistics) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(expand(R"(
      frit.kernel @k(%x: $F, %w: $C, %n: f64) -> ($F, $R) $S {
        %0 = frit.reduce <sum> %x dims [1] : $F -> $R
        %c = tensor.from_elements %n : tensor<f64>
        %cf = arith.truncf %c : tensor<f64> to tensor<f32>
        %cb = frit.reindex %cf <(d0) -> ()> : tensor<f32> -> $R
        %mean = arith.divf %0, %cb : $R
        %mb = frit.reindex %mean <(d0, d1) -> (d0)> : $R -> $F
        %h = arith.subf %x, %mb : $F
        %hh = arith.mulf %h, %h : $F
        %1 = frit.reduce <sum> %hh dims [1] : $F -> $R
        %var = arith.divf %1, %cb : $R
        %r = math.rsqrt %var : $R
        %rb = frit.reindex %r <(d0, d1) -> (d0)> : $R -> $F
        %wb = frit.reindex %w <(d0, d1) -> (d1)> : $C -> $F
        %z = arith.mulf %h, %rb : $F
        %y = arith.mulf %z, %wb : $F
        frit.yield %y, %mean : $F, $R
      })"),
                           level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t n : {1, 3}) {
      for (int64_t m : kSizes) {
        if (m < 2) {
          continue;
        }
        auto x = makeFloats(n * m, 1), w = makeFloats(m, 2);
        std::vector<float> y(n * m), mean(n);
        EXPECT_EQ(kernel.run({x.data(), w.data(), y.data(), mean.data()}, {n, m, 0}, {double(m)}),
                  0);
        for (int64_t i = 0; i < n; ++i) {
          double sum = 0, square = 0;
          for (int64_t j = 0; j < m; ++j) {
            sum += x[i * m + j];
          }
          for (int64_t j = 0; j < m; ++j) {
            square += std::pow(x[i * m + j] - sum / m, 2);
          }
          expectNear(sum / m, mean[i], 1e-6, i);
          for (int64_t j = 0; j < m; ++j) {
            expectNear((x[i * m + j] - sum / m) / std::sqrt(square / m) * w[j], y[i * m + j], 1e-5,
                       j);
          }
        }
      }
    }
  }
}

TEST(CpuReductions, ColumnSumMaxAndArgmax) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(expand(R"(
      frit.kernel @k(%x: $F) -> ($C, $C, tensor<?xi64, #frit.dims<[p1]>>) $S {
        %0 = frit.reduce <sum> %x dims [0] : $F -> $C
        %1 = frit.reduce <max> %x dims [0] : $F -> $C
        %2 = frit.reduce <argmax> %x dims [0] : $F -> tensor<?xi64, #frit.dims<[p1]>>
        frit.yield %0, %1, %2 : $C, $C, tensor<?xi64, #frit.dims<[p1]>>
      })"),
                           level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t n : {1, 2, 50}) {
      for (int64_t m : kSizes) {
        auto x = makeFloats(n * m, 1, true);
        if (m > 3) {
          x[3] = x[(n - 1) * m + 3]; // a tie
        }
        std::vector<float> sum(m), top(m);
        std::vector<int64_t> where(m);
        EXPECT_EQ(kernel.run({x.data(), sum.data(), top.data(), where.data()}, {n, m, 0}), 0);
        for (int64_t j = 0; j < m; ++j) {
          double total = 0;
          float best = x[j];
          int64_t at = 0;
          for (int64_t i = 0; i < n; ++i) {
            float v = x[i * m + j];
            total += v;
            if (v > best || (std::isnan(v) && !std::isnan(best))) {
              best = v;
              at = i;
            }
          }
          expectNear(total, sum[j], 1e-5, j);
          expectNear(best, top[j], 0, j);
          EXPECT_EQ(at, where[j]) << j << " of " << m;
        }
      }
    }
  }
}

TEST(CpuReductions, RowArgminAnyAllProdOfIntegers) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(expand(R"(
      frit.kernel @k(%x: $F, %i: $I, %b: $B)
          -> (tensor<?xi64, #frit.dims<[p0]>>, tensor<?xi64, #frit.dims<[p0]>>, tensor<?xi64, #frit.dims<[p0]>>,
              tensor<?xi1, #frit.dims<[p0]>>, tensor<?xi1, #frit.dims<[p0]>>) $S {
        %0 = frit.reduce <argmin> %x dims [1] : $F -> tensor<?xi64, #frit.dims<[p0]>>
        %1 = frit.reduce <prod> %i dims [1] : $I -> tensor<?xi64, #frit.dims<[p0]>>
        %2 = frit.reduce <min> %i dims [1] : $I -> tensor<?xi64, #frit.dims<[p0]>>
        %3 = frit.reduce <any> %b dims [1] : $B -> tensor<?xi1, #frit.dims<[p0]>>
        %4 = frit.reduce <all> %b dims [1] : $B -> tensor<?xi1, #frit.dims<[p0]>>
        frit.yield %0, %1, %2, %3, %4 : tensor<?xi64, #frit.dims<[p0]>>, tensor<?xi64, #frit.dims<[p0]>>,
          tensor<?xi64, #frit.dims<[p0]>>, tensor<?xi1, #frit.dims<[p0]>>, tensor<?xi1, #frit.dims<[p0]>>
      })"),
                           level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t m : kSizes) {
      if (m == 0) {
        continue;
      }
      int64_t n = 3;
      auto x = makeFloats(n * m, 5 + m, true);
      std::vector<int64_t> in(n * m), where(n), prod(n), least(n);
      std::vector<uint8_t> b(n * m), any(n), all(n);
      for (int64_t i = 0; i < n * m; ++i) {
        in[i] = (i * 7919) % 5 - 1;
        b[i] = i / m == 0 ? 1 : i / m == 1 ? 0 : i % 2;
      }
      EXPECT_EQ(kernel.run({x.data(), in.data(), b.data(), where.data(), prod.data(), least.data(),
                            any.data(), all.data()},
                           {n, m, 0}),
                0);
      for (int64_t i = 0; i < n; ++i) {
        int64_t at = 0, product = 1, low = INT64_MAX;
        bool some = false, every = true;
        for (int64_t j = 0; j < m; ++j) {
          float v = x[i * m + j], best = x[i * m + at];
          if (v < best || (std::isnan(v) && !std::isnan(best))) {
            at = j;
          }
          product *= in[i * m + j];
          low = std::min(low, in[i * m + j]);
          some |= b[i * m + j];
          every &= b[i * m + j];
        }
        EXPECT_EQ(at, where[i]);
        EXPECT_EQ(product, prod[i]);
        EXPECT_EQ(low, least[i]);
        EXPECT_EQ(some, any[i]);
        EXPECT_EQ(every, all[i]);
      }
    }
  }
}

TEST(CpuReductions, SimilarityCountsPairs) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(expand(R"(
      frit.kernel @k(%x: tensor<?x?xf32, #frit.dims<[p2, p0]>>, %y: tensor<?x?xf32, #frit.dims<[p2, p1]>>)
          -> $I $S {
        %xb = frit.reindex %x <(d0, d1, d2) -> (d0, d1)>
          : tensor<?x?xf32, #frit.dims<[p2, p0]>> -> tensor<?x?x?xf32, #frit.dims<[p2, p0, p1]>>
        %yb = frit.reindex %y <(d0, d1, d2) -> (d0, d2)>
          : tensor<?x?xf32, #frit.dims<[p2, p1]>> -> tensor<?x?x?xf32, #frit.dims<[p2, p0, p1]>>
        %0 = arith.subf %xb, %yb : tensor<?x?x?xf32, #frit.dims<[p2, p0, p1]>>
        %1 = math.absf %0 : tensor<?x?x?xf32, #frit.dims<[p2, p0, p1]>>
        %c = arith.constant dense<1.0> : tensor<f32>
        %cb = frit.reindex %c <(d0, d1, d2) -> ()> : tensor<f32> -> tensor<?x?x?xf32, #frit.dims<[p2, p0, p1]>>
        %2 = arith.cmpf olt, %1, %cb : tensor<?x?x?xf32, #frit.dims<[p2, p0, p1]>>
        %3 = arith.extui %2 : tensor<?x?x?xi1, #frit.dims<[p2, p0, p1]>> to tensor<?x?x?xi64, #frit.dims<[p2, p0, p1]>>
        %4 = frit.reduce <sum> %3 dims [0] : tensor<?x?x?xi64, #frit.dims<[p2, p0, p1]>> -> $I
        frit.yield %4 : $I
      })"),
                           level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t k : {0, 1, 30}) {
      for (int64_t n : {1, 5, 37}) {
        for (int64_t m : kSizes) {
          auto x = makeFloats(k * n, 1), y = makeFloats(k * m, 2);
          std::vector<int64_t> z(n * m + 1, 77);
          EXPECT_EQ(kernel.run({x.data(), y.data(), z.data()}, {n, m, k}), 0);
          for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = 0; j < m; ++j) {
              int64_t count = 0;
              for (int64_t l = 0; l < k; ++l) {
                count += std::abs(x[l * n + i] - y[l * m + j]) < 1;
              }
              ASSERT_EQ(count, z[i * m + j]) << i << ' ' << j << " of " << n << ' ' << m;
            }
          }
          EXPECT_EQ(z[n * m], 77);
        }
      }
    }
  }
}

/// Distances of all pairs; `depth` is the number of coordinates, or p2.
std::string makePairs(const std::string &depth, const std::string &element = "f32") {
  std::string extent = depth == "p2" ? "?" : depth;
  std::string wide = "tensor<?x?x" + extent + "xf32, #frit.dims<[p0, p1, " + depth + "]>>";
  auto points = [&](const std::string &count, const std::string &type) {
    return "tensor<?x" + extent + "x" + type + ", #frit.dims<[" + count + ", " + depth + "]>>";
  };
  auto spread = [&](const std::string &name, const std::string &count, const std::string &map) {
    std::string from = points(count, element), to = "tensor<?x?x" + extent + "x" + element +
                                                    ", #frit.dims<[p0, p1, " + depth + "]>>";
    std::string text = "%" + name + "b = frit.reindex %" + name + " <(d0, d1, d2) -> (" + map +
                       ", d2)> : " + from + " -> " + to + "\n";
    if (element == "f32") {
      return text + "%" + name + "w = arith.addf %" + name + "b, %zero : " + wide + "\n";
    }
    return text + "%" + name + "w = arith.extf %" + name + "b : " + to + " to " + wide + "\n";
  };
  return expand("frit.kernel @k(%a: " + points("p0", element) + ", %b: " + points("p1", element) +
                ") -> $F $S {\n" +
                "%c = arith.constant dense<0.0> : tensor<f32>\n%zero = frit.reindex %c <(d0, d1, "
                "d2) -> ()> : tensor<f32> -> " +
                wide + "\n" + spread("a", "p0", "d0") + spread("b", "p1", "d1") +
                "%0 = arith.subf %aw, %bw : " + wide +
                "\n%1 = arith.mulf %0, %0 fastmath<contract> : " + wide +
                "\n%2 = frit.reduce <sum> %1 dims [2] : " + wide +
                " -> $F\n%3 = math.sqrt %2 : $F\nfrit.yield %3 : $F\n}");
}

TEST(CpuReductions, PairwiseDistance) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner any(makePairs("p2"), level);
    for (int64_t k : {0, 1, 24, 33, 512, 513, 1100}) {
      CpuKernelRunner fixed(makePairs(std::to_string(k)), level);
      ASSERT_TRUE(any.isValid() && fixed.isValid());
      for (int64_t n : {1, 6, 130}) {
        for (int64_t m : kSizes) {
          if (k > 33 && m > 33) {
            continue;
          }
          auto x = makeFloats(k * n, 1), y = makeFloats(k * m, 2);
          std::vector<float> z(n * m + 1, 77), w = z;
          EXPECT_EQ(any.run({x.data(), y.data(), z.data()}, {n, m, k}), 0);
          EXPECT_EQ(fixed.run({x.data(), y.data(), w.data()}, {n, m, k}), 0);
          // The bits do not depend on whether sizes are known.
          EXPECT_EQ(z, w) << n << ' ' << m << ' ' << k;
          for (int64_t i = 0; i < n * m; ++i) {
            double sum = 0;
            for (int64_t l = 0; l < k; ++l) {
              sum += std::pow(double(x[i / m * k + l]) - y[i % m * k + l], 2);
            }
            expectNear(std::sqrt(sum), z[i], 1e-6, i);
          }
          EXPECT_EQ(z[n * m], 77);
        }
      }
    }
  }
}

TEST(CpuReductions, PairwiseDistanceOfHalves) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(makePairs("p2", "bf16"), level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t k : {1, 16, 31, 515}) {
      for (int64_t m : {1, 15, 16, 33, 65}) {
        int64_t n = 5;
        auto wide = makeFloats(k * (n + m), 3);
        std::vector<uint16_t> x(k * (n + m));
        for (int64_t i = 0; i < k * (n + m); ++i) {
          uint32_t bits;
          std::memcpy(&bits, &wide[i], 4);
          x[i] = bits >> 16;
          bits &= 0xffff0000;
          std::memcpy(&wide[i], &bits, 4);
        }
        std::vector<float> z(n * m + 1, 77);
        EXPECT_EQ(kernel.run({x.data(), x.data() + k * n, z.data()}, {n, m, k}), 0);
        for (int64_t i = 0; i < n * m; ++i) {
          double sum = 0;
          for (int64_t l = 0; l < k; ++l) {
            sum += std::pow(double(wide[i / m * k + l]) - wide[(n + i % m) * k + l], 2);
          }
          expectNear(std::sqrt(sum), z[i], 1e-6, i);
        }
        EXPECT_EQ(z[n * m], 77);
      }
    }
  }
}

// Accumulators of every kind are stored between stretches.
TEST(CpuReductions, StatesOfPairsInStretches) {
  for (CpuLevel level : getLevels()) {
    std::string text = expand(R"(
      frit.kernel @k(%a: tensor<?x?xf32, #frit.dims<[p0, p2]>>, %b: tensor<?x?xf32, #frit.dims<[p1, p2]>>) -> ($I, $I, $B) $S {
        %ab = frit.reindex %a <(d0, d1, d2) -> (d0, d2)> : tensor<?x?xf32, #frit.dims<[p0, p2]>> -> $W
        %bb = frit.reindex %b <(d0, d1, d2) -> (d1, d2)> : tensor<?x?xf32, #frit.dims<[p1, p2]>> -> $W
        %0 = arith.subf %ab, %bb : $W
        %1 = arith.cmpf olt, %ab, %bb : $W
        %2 = arith.extui %1 : $V to tensor<?x?x?xi64, #frit.dims<[p0, p1, p2]>>
        %3 = frit.reduce <argmax> %0 dims [2] : $W -> $I
        %4 = frit.reduce <sum> %2 dims [2] : tensor<?x?x?xi64, #frit.dims<[p0, p1, p2]>> -> $I
        %5 = frit.reduce <all> %1 dims [2] : $V -> $B
        frit.yield %3, %4, %5 : $I, $I, $B
      })");
    for (auto [from, to] : {std::pair("$W", "tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>"),
                            std::pair("$V", "tensor<?x?x?xi1, #frit.dims<[p0, p1, p2]>>")}) {
      for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
        text.replace(at, 2, to);
      }
    }
    CpuKernelRunner kernel(text, level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t k : {1, 16, 511, 512, 513, 1025}) {
      for (int64_t m : {1, 16, 35}) {
        int64_t n = 7;
        auto x = makeFloats(k * n, 1), y = makeFloats(k * m, 2);
        x[0] = 1000; // a pair whose largest difference comes first
        std::vector<int64_t> where(n * m), count(n * m);
        std::vector<uint8_t> all(n * m, 77);
        EXPECT_EQ(
            kernel.run({x.data(), y.data(), where.data(), count.data(), all.data()}, {n, m, k}), 0);
        for (int64_t i = 0; i < n * m; ++i) {
          const float *a = x.data() + i / m * k, *b = y.data() + i % m * k;
          int64_t at = 0, less = 0;
          for (int64_t l = 0; l < k; ++l) {
            at = a[l] - b[l] > a[at] - b[at] ? l : at;
            less += a[l] < b[l];
          }
          ASSERT_EQ(at, where[i]) << k << ' ' << m;
          ASSERT_EQ(less, count[i]);
          ASSERT_EQ(less == k, all[i]);
        }
      }
    }
  }
}

TEST(CpuReductions, WholeTensor) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(expand(R"(
      frit.kernel @k(%x: $F, %n: f64) -> (tensor<f32>, tensor<i64>) $S {
        %0 = frit.reduce <sum> %x dims [0, 1] : $F -> tensor<f32>
        %c = tensor.from_elements %n : tensor<f64>
        %cf = arith.truncf %c : tensor<f64> to tensor<f32>
        %mean = arith.divf %0, %cf : tensor<f32>
        %1 = frit.reduce <argmax> %x dims [0, 1] : $F -> tensor<i64>
        frit.yield %mean, %1 : tensor<f32>, tensor<i64>
      })"),
                           level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t n : {0, 1, 7, 300}) {
      for (int64_t m : {0, 1, 16, 33, 1000}) {
        auto x = makeFloats(n * m, n + m);
        float mean = 77;
        int64_t where = 77;
        EXPECT_EQ(kernel.run({x.data(), &mean, &where}, {n, m, 0}, {double(n * m)}), 0);
        if (n * m == 0) {
          EXPECT_TRUE(std::isnan(mean));
          continue;
        }
        double sum = 0;
        for (int64_t i = 0; i < n * m; ++i) {
          sum += x[i];
        }
        expectNear(sum / (n * m), mean, 1e-6, 0);
        EXPECT_EQ(where, std::max_element(x.begin(), x.begin() + n * m) - x.begin());
      }
    }
  }
}

TEST(CpuReductions, MiddleDim) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(expand(R"(
      frit.kernel @k(%x: tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>)
          -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>> $S {
        %0 = frit.reduce <sum> %x dims [1] : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
          -> tensor<?x?xf32, #frit.dims<[p0, p2]>>
        %b = frit.reindex %0 <(d0, d1, d2) -> (d0, d2)> : tensor<?x?xf32, #frit.dims<[p0, p2]>>
          -> tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
        %y = arith.divf %x, %b : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
        frit.yield %y : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>
      })"),
                           level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t m : {1, 5, 20}) {
      for (int64_t c : kSizes) {
        int64_t n = 3;
        auto x = makeFloats(n * m * c, 9);
        std::vector<float> y(n * m * c + 1, 77);
        EXPECT_EQ(kernel.run({x.data(), y.data()}, {n, m, c}), 0);
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t k = 0; k < c; ++k) {
            double sum = 0;
            for (int64_t j = 0; j < m; ++j) {
              sum += x[(i * m + j) * c + k];
            }
            for (int64_t j = 0; j < m; ++j) {
              expectNear(x[(i * m + j) * c + k] / sum, y[(i * m + j) * c + k],
                         1e-4 * (1 + 1 / std::abs(sum)), j);
            }
          }
        }
        EXPECT_EQ(y[n * m * c], 77);
      }
    }
  }
}

} // namespace
