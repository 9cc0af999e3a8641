#include "tests/unit/codegen/CpuKernelRunner.h"

#include <cmath>
#include <cstring>

using namespace mlir::frit;
using namespace mlir::frit::test;

namespace {

TEST(CpuPointwise, ChainOfBroadcasts) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(R"(
      frit.kernel @k(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %b: tensor<?xf32, #frit.dims<[p1]>>,
                     %c: tensor<?xf32, #frit.dims<[p0]>>)
          -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
          attributes {symbols = [#frit.symbol<"p0", min = 0>, #frit.symbol<"p1", min = 0>]} {
        %bb = frit.reindex %b <(d0, d1) -> (d1)>
          : tensor<?xf32, #frit.dims<[p1]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
        %cc = frit.reindex %c <(d0, d1) -> (d0)>
          : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
        %0 = arith.addf %x, %bb : tensor<?x?xf32, #frit.dims<[p0, p1]>>
        %1 = arith.mulf %0, %cc : tensor<?x?xf32, #frit.dims<[p0, p1]>>
        %2 = math.tanh %1 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
        frit.yield %2 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
      })",
                           level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t n : {0, 1, 2, 5}) {
      for (int64_t m : kSizes) {
        auto x = makeFloats(n * m, 1, true), b = makeFloats(m, 2), c = makeFloats(n, 3);
        std::vector<float> y(n * m + 1, 77);
        EXPECT_EQ(kernel.run({x.data(), b.data(), c.data(), y.data()}, {n, m}), 0);
        for (int64_t i = 0; i < n * m; ++i) {
          expectNear(std::tanh((x[i] + b[i % m]) * c[i / m]), y[i], 1e-6, i);
        }
        EXPECT_EQ(y[n * m], 77) << "written past the end";
      }
    }
  }
}

TEST(CpuPointwise, TransposedAndStridedOperands) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(R"(
      frit.kernel @k(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>> {frit.layout = #frit.layout<[1, p0]>},
                     %s: tensor<?x?xf32, #frit.dims<[p0, p1]>> {frit.layout = #frit.layout<[3 * p1, 3]>})
          -> tensor<?x?xf32, #frit.dims<[p0, p1]>>
          attributes {symbols = [#frit.symbol<"p0", min = 0>, #frit.symbol<"p1", min = 0>]} {
        %0 = arith.subf %x, %s : tensor<?x?xf32, #frit.dims<[p0, p1]>>
        frit.yield %0 : tensor<?x?xf32, #frit.dims<[p0, p1]>>
      })",
                           level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t n : {1, 3, 20}) {
      for (int64_t m : kSizes) {
        auto x = makeFloats(n * m, 1), s = makeFloats(3 * n * m, 2);
        std::vector<float> y(n * m + 1, 77);
        EXPECT_EQ(kernel.run({x.data(), s.data(), y.data()}, {n, m}), 0);
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j < m; ++j) {
            EXPECT_EQ(y[i * m + j], x[j * n + i] - s[3 * (i * m + j)]);
          }
        }
        EXPECT_EQ(y[n * m], 77);
      }
    }
  }
}

TEST(CpuPointwise, PadSliceFlipConcat) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(R"(
      frit.kernel @k(%a: tensor<?xf32, #frit.dims<[p0]>>, %b: tensor<?xf32, #frit.dims<[p1]>>)
          -> tensor<?xf32, #frit.dims<[p0 + p1 + 3]>>
          attributes {symbols = [#frit.symbol<"p0", min = 0>, #frit.symbol<"p1", min = 0>]} {
        %flip = frit.reindex %a <(d0) -> (p0 - d0 - 1)>
          : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?xf32, #frit.dims<[p0]>>
        %pad = frit.reindex %b <(d0) -> (d0 - 2) where [0 <= d0 - 2 < p1]> fill 5.0 : f32
          : tensor<?xf32, #frit.dims<[p1]>> -> tensor<?xf32, #frit.dims<[p1 + 3]>>
        %0 = frit.concat %flip, %pad dim 0
          : tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p1 + 3]>>
          -> tensor<?xf32, #frit.dims<[p0 + p1 + 3]>>
        frit.yield %0 : tensor<?xf32, #frit.dims<[p0 + p1 + 3]>>
      })",
                           level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t n : {0, 1, 5, 40}) {
      for (int64_t m : kSizes) {
        auto a = makeFloats(n, 1), b = makeFloats(m, 2);
        std::vector<float> y(n + m + 3, 77);
        EXPECT_EQ(kernel.run({a.data(), b.data(), y.data()}, {n, m}), 0);
        for (int64_t i = 0; i < n + m + 3; ++i) {
          int64_t k = i - n - 2;
          float expected = i < n ? a[n - 1 - i] : k >= 0 && k < m ? b[k] : 5;
          EXPECT_EQ(y[i], expected) << i << " of " << n << " + " << m;
        }
      }
    }
  }
}

TEST(CpuPointwise, StackedPieces) {
  // Both pieces along the innermost dim, and along the outer dim, where the second piece starts at
  // any address.
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(R"(
      frit.kernel @k(%x: tensor<?xf32, #frit.dims<[p0]>>)
          -> (tensor<?x2xf32, #frit.dims<[p0, 2]>>, tensor<?xf32, #frit.dims<[2 * p0]>>)
          attributes {schedule = #frit.schedule<pointwise, <[p0]>, reduced 0>,
                      symbols = [#frit.symbol<"p0", min = 0>]} {
        %n = arith.negf %x : tensor<?xf32, #frit.dims<[p0]>>
        %a = frit.reindex %x <(d0, d1) -> (d0)>
          : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x1xf32, #frit.dims<[p0, 1]>>
        %b = frit.reindex %n <(d0, d1) -> (d0)>
          : tensor<?xf32, #frit.dims<[p0]>> -> tensor<?x1xf32, #frit.dims<[p0, 1]>>
        %s = frit.concat %a, %b dim 1 : tensor<?x1xf32, #frit.dims<[p0, 1]>>,
          tensor<?x1xf32, #frit.dims<[p0, 1]>> -> tensor<?x2xf32, #frit.dims<[p0, 2]>>
        %c = frit.concat %x, %n dim 0 : tensor<?xf32, #frit.dims<[p0]>>,
          tensor<?xf32, #frit.dims<[p0]>> -> tensor<?xf32, #frit.dims<[2 * p0]>>
        frit.yield %s, %c : tensor<?x2xf32, #frit.dims<[p0, 2]>>, tensor<?xf32, #frit.dims<[2 * p0]>>
      })",
                           level);
    ASSERT_TRUE(kernel.isValid());
    std::vector<int64_t> sizes(std::begin(kSizes), std::end(kSizes));
    sizes.push_back((3 << 20) + 5); // stored past the caches
    for (int64_t n : sizes) {
      auto x = makeFloats(n, 1);
      std::vector<float> s(2 * n + 1, 77), c(2 * n + 1, 77);
      EXPECT_EQ(kernel.run({x.data(), s.data(), c.data()}, {n}), 0);
      bool equal = true;
      for (int64_t i = 0; i < n; ++i) {
        equal &= s[2 * i] == x[i] && s[2 * i + 1] == -x[i] && c[i] == x[i] && c[n + i] == -x[i];
      }
      EXPECT_TRUE(equal) << n;
      EXPECT_TRUE(s[2 * n] == 77 && c[2 * n] == 77) << n;
    }
  }
}

TEST(CpuPointwise, HalfTypesRoundOnce) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(R"(
      frit.kernel @k(%x: tensor<?xbf16, #frit.dims<[p0]>>, %h: tensor<?xf16, #frit.dims<[p0]>>)
          -> (tensor<?xbf16, #frit.dims<[p0]>>, tensor<?xf16, #frit.dims<[p0]>>)
          attributes {symbols = [#frit.symbol<"p0", min = 0>]} {
        %0 = arith.extf %x : tensor<?xbf16, #frit.dims<[p0]>> to tensor<?xf32, #frit.dims<[p0]>>
        %1 = arith.extf %h : tensor<?xf16, #frit.dims<[p0]>> to tensor<?xf32, #frit.dims<[p0]>>
        %2 = arith.mulf %0, %1 : tensor<?xf32, #frit.dims<[p0]>>
        %3 = arith.truncf %2 : tensor<?xf32, #frit.dims<[p0]>> to tensor<?xbf16, #frit.dims<[p0]>>
        %4 = arith.truncf %2 : tensor<?xf32, #frit.dims<[p0]>> to tensor<?xf16, #frit.dims<[p0]>>
        frit.yield %3, %4 : tensor<?xbf16, #frit.dims<[p0]>>, tensor<?xf16, #frit.dims<[p0]>>
      })",
                           level);
    ASSERT_TRUE(kernel.isValid());
    auto toFloat = [](uint16_t bits) {
      uint32_t wide = uint32_t(bits) << 16;
      float value;
      memcpy(&value, &wide, 4);
      return value;
    };
    for (int64_t n : kSizes) {
      std::vector<uint16_t> x(n + 1), y(n + 1);
      std::vector<_Float16> h(n + 1), z(n + 1);
      for (int64_t i = 0; i < n; ++i) {
        x[i] = 0x3f80 + 37 * i;
        h[i] = static_cast<_Float16>(0.25 + i * 0.01);
      }
      EXPECT_EQ(kernel.run({x.data(), h.data(), y.data(), z.data()}, {n}), 0);
      for (int64_t i = 0; i < n; ++i) {
        float product = toFloat(x[i]) * static_cast<float>(h[i]);
        EXPECT_LE(std::abs(toFloat(y[i]) - product), std::abs(product) / 256);
        EXPECT_EQ(static_cast<float>(z[i]), static_cast<float>(static_cast<_Float16>(product)));
      }
    }
  }
}

TEST(CpuPointwise, HalfTypesAreChosenAsBits) {
  for (CpuLevel level : getLevels()) {
    // The second operand is loaded once, before the loop.
    CpuKernelRunner kernel(R"(
      frit.kernel @k(%m: tensor<?xi1, #frit.dims<[p0]>>, %x: tensor<?xbf16, #frit.dims<[p0]>>, %s: tensor<bf16>)
          -> tensor<?xbf16, #frit.dims<[p0]>>
          attributes {symbols = [#frit.symbol<"p0", min = 0>]} {
        %b = frit.reindex %s <(d0) -> ()> : tensor<bf16> -> tensor<?xbf16, #frit.dims<[p0]>>
        %0 = arith.select %m, %x, %b : tensor<?xi1, #frit.dims<[p0]>>, tensor<?xbf16, #frit.dims<[p0]>>
        frit.yield %0 : tensor<?xbf16, #frit.dims<[p0]>>
      })",
                           level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t n : kSizes) {
      std::vector<uint8_t> m(n);
      std::vector<uint16_t> x(n), y(n + 1, 77), s{0x7fc1};
      for (int64_t i = 0; i < n; ++i) {
        m[i] = i % 3 != 0;
        x[i] = 0x3f80 + 37 * i;
      }
      EXPECT_EQ(kernel.run({m.data(), x.data(), s.data(), y.data()}, {n}), 0);
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(y[i], m[i] ? x[i] : s[0]);
      }
      EXPECT_EQ(y[n], 77);
    }
  }
}

TEST(CpuPointwise, DivisionBySharedDivisorsRoundsAsDivisionDoes) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(R"(
      frit.kernel @k(%x: tensor<?xf32, #frit.dims<[p0]>>, %s: tensor<f32>)
          -> (tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>)
          attributes {symbols = [#frit.symbol<"p0", min = 0>]} {
        %b = frit.reindex %s <(d0) -> ()> : tensor<f32> -> tensor<?xf32, #frit.dims<[p0]>>
        %c = arith.constant dense<0.1> : tensor<f32>
        %d = frit.reindex %c <(d0) -> ()> : tensor<f32> -> tensor<?xf32, #frit.dims<[p0]>>
        %0 = arith.divf %x, %b : tensor<?xf32, #frit.dims<[p0]>>
        %1 = arith.divf %x, %d : tensor<?xf32, #frit.dims<[p0]>>
        %h = arith.constant dense<-8.0779356694631608874e-28> : tensor<f32>
        %e = frit.reindex %h <(d0) -> ()> : tensor<f32> -> tensor<?xf32, #frit.dims<[p0]>>
        %2 = arith.divf %x, %e : tensor<?xf32, #frit.dims<[p0]>>
        frit.yield %0, %1, %2 : tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>, tensor<?xf32, #frit.dims<[p0]>>
      })",
                           level);
    ASSERT_TRUE(kernel.isValid());
    // A vector for each magnitude alone, then vectors with all of them.
    std::vector<float> x;
    auto mantissas = makeFloats(64, 5);
    for (int exponent = -149; exponent < 128; exponent += 3) {
      for (float mantissa : mantissas) {
        x.push_back(std::ldexp(mantissa, exponent));
      }
    }
    for (float special :
         {0.f, -0.f, INFINITY, -INFINITY, NAN, 1e-45f, -3e-39f, 3.4e38f, 1.1754944e-38f}) {
      x.push_back(special);
    }
    int64_t n = x.size();
    std::vector<float> y(n), z(n), h(n);
    for (float s : {3.f, -7.f, 0.1f, 0.f, -0.f, INFINITY, NAN, 1e-45f, 1e-38f, 3.4e38f, 1e38f,
                    2e-38f, 0x1.fffffep24f, 0x1.000002p-24f}) {
      EXPECT_EQ(kernel.run({x.data(), &s, y.data(), z.data(), h.data()}, {n}), 0);
      auto same = [](float a, float b) {
        return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
      };
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_TRUE(same(y[i], x[i] / s)) << x[i] << " / " << s << " is " << y[i];
        EXPECT_TRUE(same(z[i], x[i] / 0.1f)) << x[i] << " / 0.1 is " << z[i];
        EXPECT_TRUE(same(h[i], x[i] / -0x1p-90f)) << x[i] << " / -2^-90 is " << h[i];
      }
    }
  }
}

// Two bytes per element: there are neither gathers nor scatters for them, and addresses may be odd.
TEST(CpuPointwise, NarrowElementsAcrossTheLanes) {
  for (CpuLevel level : getLevels()) {
    for (int64_t members : {3, 5}) {
      std::string m = std::to_string(members);
      CpuKernelRunner kernel(R"(
      frit.kernel @k(%x: tensor<?x)" +
                                 m + R"(xbf16, #frit.dims<[p0, )" + m + R"(]>>, %b: tensor<?x)" +
                                 m + R"(xi1, #frit.dims<[p0, )" + m + R"(]>>)
          -> (tensor<)" + m + R"(x?xbf16, #frit.dims<[)" +
                                 m + R"(, p0]>>, tensor<?x)" + m + R"(xbf16, #frit.dims<[p0, )" +
                                 m + R"(]>>)
          attributes {symbols = [#frit.symbol<"p0", min = 0>]} {
        %n = arith.negf %x : tensor<?x)" +
                                 m + R"(xbf16, #frit.dims<[p0, )" + m + R"(]>>
        %s = arith.select %b, %n, %x : tensor<?x)" +
                                 m + R"(xi1, #frit.dims<[p0, )" + m + R"(]>>, tensor<?x)" + m +
                                 R"(xbf16, #frit.dims<[p0, )" + m + R"(]>>
        %t = frit.reindex %s <(d0, d1) -> (d1, d0)>
          : tensor<?x)" + m + R"(xbf16, #frit.dims<[p0, )" +
                                 m + R"(]>> -> tensor<)" + m + R"(x?xbf16, #frit.dims<[)" + m +
                                 R"(, p0]>>
        frit.yield %t, %s : tensor<)" +
                                 m + R"(x?xbf16, #frit.dims<[)" + m + R"(, p0]>>, tensor<?x)" + m +
                                 R"(xbf16, #frit.dims<[p0, )" + m + R"(]>>
      })",
                             level);
      ASSERT_TRUE(kernel.isValid());
      for (int64_t n : kSizes) {
        std::vector<uint8_t> storage(2 * n * members + 1), b(n * members);
        std::vector<uint16_t> t(n * members + 1, 77), s(n * members + 1, 77);
        uint8_t *x = storage.data() + 1;
        for (int64_t i = 0; i < n * members; ++i) {
          uint16_t value = 0x3f80 + 37 * i % 0x3000;
          memcpy(x + 2 * i, &value, 2);
          b[i] = i % 3 == 0;
        }
        EXPECT_EQ(kernel.run({x, b.data(), t.data(), s.data()}, {n}), 0);
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t c = 0; c < members; ++c) {
            int64_t at = i * members + c;
            uint16_t value = (0x3f80 + 37 * at % 0x3000) ^ (b[at] ? 0x8000 : 0);
            EXPECT_EQ(s[at], value);
            EXPECT_EQ(t[c * n + i], value);
          }
        }
        EXPECT_EQ(t[n * members], 77);
        EXPECT_EQ(s[n * members], 77);
      }
    }
  }
}

TEST(CpuPointwise, BooleansAreBytes) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(R"(
      frit.kernel @k(%m: tensor<?xi1, #frit.dims<[p0]>>, %x: tensor<?xi8, #frit.dims<[p0]>>, %s: i64)
          -> (tensor<?xi1, #frit.dims<[p0]>>, tensor<?xi64, #frit.dims<[p0]>>)
          attributes {symbols = [#frit.symbol<"p0", min = 0>]} {
        %e = arith.extui %x : tensor<?xi8, #frit.dims<[p0]>> to tensor<?xi64, #frit.dims<[p0]>>
        %t = tensor.from_elements %s : tensor<i64>
        %b = frit.reindex %t <(d0) -> ()> : tensor<i64> -> tensor<?xi64, #frit.dims<[p0]>>
        %i = frit.iota <2 * d0 + p0> : tensor<?xi64, #frit.dims<[p0]>>
        %0 = arith.addi %e, %b : tensor<?xi64, #frit.dims<[p0]>>
        %1 = arith.cmpi slt, %0, %i : tensor<?xi64, #frit.dims<[p0]>>
        %2 = arith.andi %1, %m : tensor<?xi1, #frit.dims<[p0]>>
        %3 = arith.select %2, %0, %i : tensor<?xi1, #frit.dims<[p0]>>, tensor<?xi64, #frit.dims<[p0]>>
        frit.yield %2, %3 : tensor<?xi1, #frit.dims<[p0]>>, tensor<?xi64, #frit.dims<[p0]>>
      })",
                           level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t n : kSizes) {
      std::vector<uint8_t> m(n), x(n), y(n + 1, 9);
      std::vector<int64_t> z(n);
      for (int64_t i = 0; i < n; ++i) {
        m[i] = i % 3;
        x[i] = 53 * i;
      }
      EXPECT_EQ(kernel.run({m.data(), x.data(), y.data(), z.data()}, {n, 40}), 0);
      for (int64_t i = 0; i < n; ++i) {
        bool expected = m[i] && x[i] + 40 < 2 * i + n;
        EXPECT_EQ(y[i], expected);
        EXPECT_EQ(z[i], expected ? x[i] + 40 : 2 * i + n);
      }
      EXPECT_EQ(y[n], 9);
    }
  }
}

TEST(CpuPointwise, GatherRaisesOnBadIndex) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(R"(
      frit.kernel @k(%t: tensor<?x?xf32, #frit.dims<[p0, p1]>>, %i: tensor<?xi64, #frit.dims<[p2]>>)
          -> tensor<?x?xf32, #frit.dims<[p2, p1]>>
          attributes {symbols = [#frit.symbol<"p0", min = 0>, #frit.symbol<"p1", min = 0>, #frit.symbol<"p2", min = 0>]} {
        %b = frit.reindex %i <(d0, d1) -> (d0)>
          : tensor<?xi64, #frit.dims<[p2]>> -> tensor<?x?xi64, #frit.dims<[p2, p1]>>
        %e = frit.gather %t[%b] <(d0, d1)[v0] -> (v0, d1)> check <wrap>
          : tensor<?x?xf32, #frit.dims<[p0, p1]>>, tensor<?x?xi64, #frit.dims<[p2, p1]>>
          -> tensor<?x?xf32, #frit.dims<[p2, p1]>>
        frit.yield %e : tensor<?x?xf32, #frit.dims<[p2, p1]>>
      })",
                           level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t m : {1, 5, 16, 33}) {
      auto t = makeFloats(7 * m, 1);
      std::vector<int64_t> index{0, 6, -1, -7, 3};
      std::vector<float> y(5 * m, 77);
      EXPECT_EQ(kernel.run({t.data(), index.data(), y.data()}, {7, m, 5}), 0);
      for (int64_t i = 0; i < 5; ++i) {
        for (int64_t j = 0; j < m; ++j) {
          EXPECT_EQ(y[i * m + j], t[(index[i] + 7) % 7 * m + j]);
        }
      }
      index[3] = -8;
      EXPECT_EQ(kernel.run({t.data(), index.data(), y.data()}, {7, m, 5}),
                static_cast<int32_t>(::frit::KernelError::IndexOutOfRange));
      EXPECT_EQ(kernel.error.index, -8);
      EXPECT_EQ(kernel.error.size, 7);
      EXPECT_EQ(kernel.error.operand, 0);
      index[3] = 7;
      EXPECT_NE(kernel.run({t.data(), index.data(), y.data()}, {7, m, 5}), 0);
      EXPECT_EQ(kernel.error.index, 7);
    }
  }
}

// Units are counted from the first one of a call: rows of two dims, in stretches, wherever the work
// is split.
TEST(CpuPointwise, UnitsOfUnknownSizesBeginAnywhere) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(R"(
      frit.kernel @k(%t: tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>, %i: tensor<?x?xi64, #frit.dims<[p0, p3]>>)
          -> tensor<?x?x?xf32, #frit.dims<[p0, p3, p2]>>
          attributes {symbols = [#frit.symbol<"p0", min = 0>, #frit.symbol<"p1", min = 0>, #frit.symbol<"p2", min = 0>,
                                 #frit.symbol<"p3", min = 0>]} {
        %b = frit.reindex %i <(d0, d1, d2) -> (d0, d1)>
          : tensor<?x?xi64, #frit.dims<[p0, p3]>> -> tensor<?x?x?xi64, #frit.dims<[p0, p3, p2]>>
        %e = frit.gather %t[%b] <(d0, d1, d2)[v0] -> (d0, v0, d2)> check <wrap>
          : tensor<?x?x?xf32, #frit.dims<[p0, p1, p2]>>, tensor<?x?x?xi64, #frit.dims<[p0, p3, p2]>>
          -> tensor<?x?x?xf32, #frit.dims<[p0, p3, p2]>>
        frit.yield %e : tensor<?x?x?xf32, #frit.dims<[p0, p3, p2]>>
      })",
                           level);
    ASSERT_TRUE(kernel.isValid());
    constexpr int64_t kBatch = 4, kItems = 6, kPicked = 5;
    std::vector<int64_t> index(kBatch * kPicked);
    for (size_t i = 0; i < index.size(); ++i) {
      index[i] = 7 * i % kItems;
    }
    for (int64_t m : {1, 16, 33, 9000}) {
      auto t = makeFloats(kBatch * kItems * m, 1);
      for (int64_t parts = 1; parts <= kBatch * kPicked + 1; ++parts) {
        std::vector<float> y(kBatch * kPicked * m + 1, 77);
        EXPECT_EQ(
            kernel.run({t.data(), index.data(), y.data()}, {kBatch, kItems, m, kPicked}, {}, parts),
            0);
        for (int64_t row = 0; row < kBatch * kPicked; ++row) {
          const float *from = t.data() + (row / kPicked * kItems + index[row]) * m;
          ASSERT_TRUE(std::equal(from, from + m, y.data() + row * m))
              << row << " of " << m << " in " << parts;
        }
        EXPECT_EQ(y.back(), 77);
      }
    }
    std::vector<float> none(1, 77);
    EXPECT_EQ(kernel.run({none.data(), index.data(), none.data()}, {kBatch, kItems, 0, kPicked}),
              0);
    EXPECT_EQ(none[0], 77);
  }
}

TEST(CpuPointwise, IntegerDivisionNeverTraps) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(R"(
      frit.kernel @k(%x: tensor<?xi32, #frit.dims<[p0]>>, %y: tensor<?xi32, #frit.dims<[p0]>>)
          -> (tensor<?xi32, #frit.dims<[p0]>>, tensor<?xi32, #frit.dims<[p0]>>, tensor<?xi32, #frit.dims<[p0]>>)
          attributes {symbols = [#frit.symbol<"p0", min = 0>]} {
        %0 = arith.floordivsi %x, %y : tensor<?xi32, #frit.dims<[p0]>>
        %1 = arith.divsi %x, %y : tensor<?xi32, #frit.dims<[p0]>>
        %2 = arith.remsi %x, %y : tensor<?xi32, #frit.dims<[p0]>>
        frit.yield %0, %1, %2 : tensor<?xi32, #frit.dims<[p0]>>, tensor<?xi32, #frit.dims<[p0]>>, tensor<?xi32, #frit.dims<[p0]>>
      })",
                           level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t n : kSizes) {
      std::vector<int32_t> x(n), y(n), a(n), b(n), c(n);
      for (int64_t i = 0; i < n; ++i) {
        x[i] = i % 5 == 0 ? INT32_MIN : 7 * i - 300;
        y[i] = i % 4 == 0 ? -1 : i % 4 == 1 ? 3 : -5;
      }
      EXPECT_EQ(kernel.run({x.data(), y.data(), a.data(), b.data(), c.data()}, {n}), 0);
      for (int64_t i = 0; i < n; ++i) {
        int64_t wide = x[i], quotient = wide / y[i], rest = wide % y[i];
        int64_t floor = rest != 0 && (rest < 0) != (y[i] < 0) ? quotient - 1 : quotient;
        EXPECT_EQ(a[i], static_cast<int32_t>(floor));
        EXPECT_EQ(b[i], static_cast<int32_t>(quotient));
        EXPECT_EQ(c[i], static_cast<int32_t>(rest));
      }
      if (n > 0) {
        y[n / 2] = 0;
        EXPECT_EQ(kernel.run({x.data(), y.data(), a.data(), b.data(), c.data()}, {n}),
                  static_cast<int32_t>(::frit::KernelError::DivisionByZero));
      }
    }
  }
}

TEST(CpuPointwise, MathOnDoublesGoesThroughTheRuntime) {
  for (CpuLevel level : getLevels()) {
    CpuKernelRunner kernel(R"(
      frit.kernel @k(%x: tensor<?xf64, #frit.dims<[p0]>>, %s: f64) -> tensor<?xf64, #frit.dims<[p0]>>
          attributes {symbols = [#frit.symbol<"p0", min = 0>]} {
        %t = tensor.from_elements %s : tensor<f64>
        %b = frit.reindex %t <(d0) -> ()> : tensor<f64> -> tensor<?xf64, #frit.dims<[p0]>>
        %0 = math.exp %x : tensor<?xf64, #frit.dims<[p0]>>
        %1 = arith.remf %0, %b : tensor<?xf64, #frit.dims<[p0]>>
        frit.yield %1 : tensor<?xf64, #frit.dims<[p0]>>
      })",
                           level);
    ASSERT_TRUE(kernel.isValid());
    for (int64_t n : kSizes) {
      std::vector<double> x(n), y(n);
      for (int64_t i = 0; i < n; ++i) {
        x[i] = 0.1 * i - 5;
      }
      EXPECT_EQ(kernel.run({x.data(), y.data()}, {n}, {0.75}), 0);
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(y[i], std::fmod(std::exp(x[i]), 0.75));
      }
    }
  }
}

} // namespace
