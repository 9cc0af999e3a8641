// A table of kernel bodies with their iteration domains, for a region's schedule and for a kernel's
// program.
#include "kernel/LoopDomain.h"

#include "kernel/KernelProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::frit;

namespace {
struct DomainCase {
  const char *name;
  /// `arguments -> results`, and the body of a kernel.
  const char *signature, *body;
  /// The parallel sizes and, if the body reduces, the reduced ones.
  const char *domain;
  /// The same in the kernel's program, where dims that all addresses treat as one are merged.
  const char *program;
  const char *innerWidth = "1";
  bool isColumn = false;
};

void PrintTo(const DomainCase &test, std::ostream *os) { *os << test.name; }

const DomainCase cases[] = {
    {"Pointwise", "(%x: tensor<4x6xf32>) -> tensor<4x6xf32>",
     R"(%y = math.exp %x : tensor<4x6xf32>
        frit.yield %y : tensor<4x6xf32>)",
     "4, 6", "24", "24"},
    {"Broadcast", "(%x: tensor<4x6xf32>, %b: tensor<6xf32>) -> tensor<4x6xf32>",
     R"(%c = frit.reindex %b <(d0, d1) -> (d1)> : tensor<6xf32> -> tensor<4x6xf32>
        %y = arith.addf %x, %c : tensor<4x6xf32>
        frit.yield %y : tensor<4x6xf32>)",
     "4, 6", "4, 6", "24"},
    {"Transposed", "(%x: tensor<4x6xf32>) -> tensor<6x4xf32>",
     R"(%y = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<4x6xf32> -> tensor<6x4xf32>
        frit.yield %y : tensor<6x4xf32>)",
     "6, 4", "6, 4", "24"},
    // No shape refines both, so the first result's is used.
    {"BesideItsTranspose", "(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<6x4xf32>)",
     R"(%n = arith.negf %x : tensor<4x6xf32>
        %t = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<4x6xf32> -> tensor<6x4xf32>
        frit.yield %n, %t : tensor<4x6xf32>, tensor<6x4xf32>)",
     "4, 6", "24", "24"},
    {"MoreDimsWhereNoShapeDividesBoth",
     "(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<3x2x4xf32>)",
     R"(%t = frit.reindex %x <(d0, d1) -> (d1, d0)> : tensor<4x6xf32> -> tensor<6x4xf32>
        %r = frit.reshape %t : tensor<6x4xf32> -> tensor<3x2x4xf32>
        frit.yield %x, %r : tensor<4x6xf32>, tensor<3x2x4xf32>)",
     "3, 2, 4", "6, 4", "24"},
    {"RefinedByAnotherResult",
     "(%x: tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<4x12xf32>, tensor<48x1xf32>)",
     R"(%r = frit.reshape %x : tensor<8x6xf32> -> tensor<4x12xf32>
        %f = frit.reshape %x : tensor<8x6xf32> -> tensor<48x1xf32>
        frit.yield %x, %r, %f : tensor<8x6xf32>, tensor<4x12xf32>, tensor<48x1xf32>)",
     "4, 2, 6", "48", "48"},
    {"PiecesOfAConcatenation", "(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<8xf32>",
     R"(%c = frit.concat %x, %y dim 0 : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>
        frit.yield %c : tensor<8xf32>)",
     "4", "4", "4"},
    {"ReducedRows", "(%x: tensor<4x6xf32>) -> tensor<4xf32>",
     R"(%s = frit.reduce <sum> %x dims [1] : tensor<4x6xf32> -> tensor<4xf32>
        frit.yield %s : tensor<4xf32>)",
     "4 | 6", "4 | 6"},
    {"ReducedColumns", "(%x: tensor<4x6x5xf32>) -> tensor<6x5xf32>",
     R"(%s = frit.reduce <sum> %x dims [0] : tensor<4x6x5xf32> -> tensor<6x5xf32>
        frit.yield %s : tensor<6x5xf32>)",
     "6, 5 | 4", "30 | 4", "30", true},
    {"ReducedInTheMiddle", "(%x: tensor<4x6x5xf32>) -> tensor<4x5xf32>",
     R"(%s = frit.reduce <sum> %x dims [1] : tensor<4x6x5xf32> -> tensor<4x5xf32>
        frit.yield %s : tensor<4x5xf32>)",
     "4, 5 | 6", "4, 5 | 6", "5", true},
    {"ReducedAroundAParallelDim", "(%x: tensor<4x6x5xf32>) -> tensor<6xf32>",
     R"(%s = frit.reduce <sum> %x dims [0, 2] : tensor<4x6x5xf32> -> tensor<6xf32>
        frit.yield %s : tensor<6xf32>)",
     "6 | 4, 5", "6 | 4, 5"},
    {"AllReduced", "(%x: tensor<4x6xf32>) -> tensor<f32>",
     R"(%s = frit.reduce <sum> %x dims [0, 1] : tensor<4x6xf32> -> tensor<f32>
        frit.yield %s : tensor<f32>)",
     " | 4, 6", " | 24"},
    {"RowsRefinedByTheirEpilogue", "(%x: tensor<4x6xf32>) -> (tensor<4xf32>, tensor<2x2x3x2xf32>)",
     R"(%s = frit.reduce <sum> %x dims [1] : tensor<4x6xf32> -> tensor<4xf32>
        %e = math.exp %x : tensor<4x6xf32>
        %r = frit.reshape %e : tensor<4x6xf32> -> tensor<2x2x3x2xf32>
        frit.yield %s, %r : tensor<4xf32>, tensor<2x2x3x2xf32>)",
     "2, 2 | 3, 2", "4 | 6"},
    {"RowsRefinedByOtherRows", "(%x: tensor<4x6xf32>) -> (tensor<4xf32>, tensor<2x2xf32>)",
     R"(%r = frit.reshape %x : tensor<4x6xf32> -> tensor<2x2x6xf32>
        %s = frit.reduce <sum> %x dims [1] : tensor<4x6xf32> -> tensor<4xf32>
        %m = frit.reduce <max> %r dims [2] : tensor<2x2x6xf32> -> tensor<2x2xf32>
        frit.yield %s, %m : tensor<4xf32>, tensor<2x2xf32>)",
     "2, 2 | 6", "4 | 6"},
    {"DynamicPointwise",
     "(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> tensor<?x?xf32, #frit.dims<[p0, p1]>>",
     R"(%y = math.exp %x : tensor<?x?xf32, #frit.dims<[p0, p1]>>
        frit.yield %y : tensor<?x?xf32, #frit.dims<[p0, p1]>>)",
     "p0, p1", "p0 * p1", "p0 * p1"},
    {"DynamicRowsUnderAnotherShape",
     "(%x: tensor<?x8xf32, #frit.dims<[p0 * p1, 8]>>) -> "
     "(tensor<?xf32, #frit.dims<[p0 * p1]>>, tensor<?x?x8xf32, #frit.dims<[p0, p1, 8]>>)",
     R"(%s = frit.reduce <sum> %x dims [1]
            : tensor<?x8xf32, #frit.dims<[p0 * p1, 8]>> -> tensor<?xf32, #frit.dims<[p0 * p1]>>
        %r = frit.reshape %x
            : tensor<?x8xf32, #frit.dims<[p0 * p1, 8]>> -> tensor<?x?x8xf32, #frit.dims<[p0, p1, 8]>>
        frit.yield %s, %r
            : tensor<?xf32, #frit.dims<[p0 * p1]>>, tensor<?x?x8xf32, #frit.dims<[p0, p1, 8]>>)",
     "p0, p1 | 8", "p0 * p1 | 8"},
    {"DynamicColumns",
     "(%x: tensor<?x?xf32, #frit.dims<[p0, p1]>>) -> tensor<?xf32, #frit.dims<[p1]>>",
     R"(%s = frit.reduce <sum> %x dims [0]
            : tensor<?x?xf32, #frit.dims<[p0, p1]>> -> tensor<?xf32, #frit.dims<[p1]>>
        frit.yield %s : tensor<?xf32, #frit.dims<[p1]>>)",
     "p1 | p0", "p1 | p0", "p1", true},
    {"DimsOfSizeOne", "(%x: tensor<1x4x1xf32>) -> tensor<1x4x1xf32>",
     R"(%y = math.exp %x : tensor<1x4x1xf32>
        frit.yield %y : tensor<1x4x1xf32>)",
     "4", "4", "4"},
    // A column reduction over rows of one element is contiguous in memory.
    {"ReducedBesideSizeOne", "(%x: tensor<4x1xf32>) -> tensor<1xf32>",
     R"(%s = frit.reduce <sum> %x dims [0] : tensor<4x1xf32> -> tensor<1xf32>
        frit.yield %s : tensor<1xf32>)",
     " | 4", " | 4"},
    {"ReducedSizeOne", "(%x: tensor<4x1xf32>) -> tensor<4xf32>",
     R"(%s = frit.reduce <sum> %x dims [1] : tensor<4x1xf32> -> tensor<4xf32>
        frit.yield %s : tensor<4xf32>)",
     "4 | 1", "4 | 1", "4"},
    {"SizeZero", "(%x: tensor<0x4xf32>) -> tensor<0xf32>",
     R"(%s = frit.reduce <sum> %x dims [1] : tensor<0x4xf32> -> tensor<0xf32>
        frit.yield %s : tensor<0xf32>)",
     "0 | 4", "0 | 4"},
    {"RankZero", "(%x: tensor<f32>) -> tensor<f32>",
     R"(%y = math.exp %x : tensor<f32>
        frit.yield %y : tensor<f32>)",
     "", ""},
    {"RankZeroReduced", "(%x: tensor<f32>) -> tensor<f32>",
     R"(%s = frit.reduce <sum> %x dims [] : tensor<f32> -> tensor<f32>
        frit.yield %s : tensor<f32>)",
     " | 1", " | 1"},
};

std::string text(ArrayRef<SizeExpr> parallel, ArrayRef<SizeExpr> reduced) {
  auto join = [](ArrayRef<SizeExpr> sizes) {
    std::string list;
    for (SizeExpr size : sizes) {
      list += (list.empty() ? "" : ", ") + size.str();
    }
    return list;
  };
  return join(parallel) + (reduced.empty() ? "" : " | " + join(reduced));
}

struct LoopDomainTest : testing::TestWithParam<DomainCase> {
  LoopDomainTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<FritDialect, arith::ArithDialect, math::MathDialect>();
  }

  MLIRContext context;
};

TEST_P(LoopDomainTest, IsThatOfTheBodyAndOfTheProgram) {
  const DomainCase &test = GetParam();
  StringRef symbols = R"([#frit.symbol<"p0", min = 2>, #frit.symbol<"p1", min = 2>])";
  std::string kernel = (Twine("frit.kernel @k") + test.signature +
                        " attributes {symbols = " + symbols + "} {" + test.body + "}")
                           .str();
  auto module = parseSourceString<ModuleOp>(kernel, &context);
  ASSERT_TRUE(module);
  KernelOp op = *module->getOps<KernelOp>().begin();
  LoopDomain domain = LoopDomain::ofBody(op.getBody().front());
  EXPECT_EQ(text(domain.getParallelSizes(), domain.getReducedSizes()), test.domain);
  EXPECT_EQ(domain.getInnerWidth().str(), test.innerWidth);
  EXPECT_EQ(domain.isColumn(), test.isColumn);
  EXPECT_EQ(domain.getTotal(), domain.countRows() * domain.getRowLength());

  FailureOr<KernelProgram> program = KernelProgram::build(op);
  ASSERT_TRUE(succeeded(program));
  ArrayRef<SizeExpr> sizes = program->getDomain();
  EXPECT_EQ(text(sizes.drop_back(program->numReduced()), sizes.take_back(program->numReduced())),
            test.program);
}

INSTANTIATE_TEST_SUITE_P(Bodies, LoopDomainTest, testing::ValuesIn(cases),
                         [](const auto &test) { return std::string(test.param.name); });

TEST(LoopDomain, RefiningKeepsWhatIsReduced) {
  MLIRContext context;
  context.loadDialect<FritDialect>();
  auto sizes = [&](ArrayRef<int64_t> numbers) {
    SmallVector<SizeExpr> result;
    for (int64_t number : numbers) {
      result.push_back(SizeExpr::constant(&context, number));
    }
    return result;
  };
  // [8, 6 reduced, 10] as [4, 2, 2, 3, 10].
  LoopDomain domain = LoopDomain::reduction(sizes({8, 6, 10}), {1}, &context), same = domain;
  ASSERT_TRUE(domain.refine(sizes({4, 4, 30})));
  EXPECT_EQ(text(domain.getParallelSizes(), domain.getReducedSizes()), "4, 2, 10 | 2, 3");
  EXPECT_EQ(domain.getParallel(), same.getParallel());
  EXPECT_EQ(domain.getReduced(), same.getReduced());
  EXPECT_EQ(domain.getInnerWidth().str(), "10");
  // Neither 10 nor 15 divides the other: nothing changes.
  EXPECT_FALSE(domain.refine(sizes({32, 15})));
  EXPECT_EQ(text(domain.getParallelSizes(), domain.getReducedSizes()), "4, 2, 10 | 2, 3");
}
} // namespace
