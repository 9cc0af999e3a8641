// Every candidate of the CPU schedules that have several has different code and the same results.
#include "passes/schedule/CpuSchedule.h"
#include "tests/unit/codegen/CpuKernelRunner.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

#include <cmath>

using namespace mlir;
using namespace mlir::frit;
using namespace mlir::frit::test;

namespace {
struct Case {
  const char *name;
  /// One kernel of f32 tensors.
  const char *text;
  std::vector<int64_t> operands;
  int64_t result;
  size_t candidates;
};

const Case kCases[] = {
    {"pointwise",
     R"(frit.kernel @k(%x: tensor<301x333xf32>) -> tensor<301x333xf32> attributes {symbols = []} {
          %0 = arith.mulf %x, %x : tensor<301x333xf32>
          frit.yield %0 : tensor<301x333xf32>
        })",
     {301 * 333},
     301 * 333,
     4},
    {"transpose",
     R"(frit.kernel @k(%x: tensor<301x333xf32>, %y: tensor<333x301xf32>) -> tensor<333x301xf32>
            attributes {symbols = []} {
          %0 = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<301x333xf32> -> tensor<333x301xf32>
          %1 = arith.addf %0, %y : tensor<333x301xf32>
          frit.yield %1 : tensor<333x301xf32>
        })",
     {301 * 333, 301 * 333},
     301 * 333,
     3},
    {"rows",
     R"(frit.kernel @k(%x: tensor<301x333xf32>) -> tensor<301xf32> attributes {symbols = []} {
          %0 = frit.reduce <sum> %x dims [1] : tensor<301x333xf32> -> tensor<301xf32>
          frit.yield %0 : tensor<301xf32>
        })",
     {301 * 333},
     301,
     3},
    {"rows with kept values",
     R"(frit.kernel @k(%x: tensor<301x333xf32>) -> tensor<301x333xf32> attributes {symbols = []} {
          %0 = math.exp %x : tensor<301x333xf32>
          %1 = frit.reduce <sum> %0 dims [1] : tensor<301x333xf32> -> tensor<301xf32>
          %2 = frit.reindex %1 <(d0, d1) -> (d0)> : tensor<301xf32> -> tensor<301x333xf32>
          %3 = arith.divf %0, %2 : tensor<301x333xf32>
          frit.yield %3 : tensor<301x333xf32>
        })",
     {301 * 333},
     301 * 333,
     4},
    {"one row",
     R"(frit.kernel @k(%x: tensor<100233xf32>) -> tensor<f32> attributes {symbols = []} {
          %0 = frit.reduce <sum> %x dims [0] : tensor<100233xf32> -> tensor<f32>
          frit.yield %0 : tensor<f32>
        })",
     {100233},
     1,
     4},
};

TEST(CpuCandidates, AreOtherCodeWithTheSameResults) {
  for (CpuLevel level : getLevels()) {
    for (const Case &one : kCases) {
      std::mt19937 random(7);
      std::normal_distribution<float> normal;
      std::vector<std::vector<float>> operands;
      for (int64_t size : one.operands) {
        llvm::transform(llvm::seq<int64_t>(0, size), std::back_inserter(operands.emplace_back()),
                        [&](int64_t) { return normal(random); });
      }
      std::vector<std::string> codes;
      std::vector<float> first;
      for (size_t candidate = 0; candidate < one.candidates; ++candidate) {
        SCOPED_TRACE(std::string(one.name) + ", candidate " + std::to_string(candidate));
        CpuKernelRunner runner(one.text, level, "0=" + std::to_string(candidate));
        ASSERT_TRUE(runner.isValid());
        for (const std::string &other : codes) {
          EXPECT_FALSE(runner.image.bytes == other) << "the same code";
        }
        codes.push_back(runner.image.bytes);
        std::vector<float> result(one.result, NAN);
        std::vector<void *> pointers;
        for (auto &operand : operands) {
          pointers.push_back(operand.data());
        }
        pointers.push_back(result.data());
        ASSERT_EQ(runner.run(pointers), 0);
        first = candidate == 0 ? result : first;
        for (size_t i = 0; i < result.size(); ++i) {
          // Sums of a few hundred terms around 1, in another order.
          ASSERT_NEAR(result[i], first[i], 1e-4f * std::max(1.0f, std::abs(first[i]))) << i;
        }
      }
    }
  }
}
} // namespace
