// The variants of a kernel on a GPU: for aligned pointers and for any pointers. Cold code is a
// separate text.
#include "codegen/Codegen.h"
#include "ir/FritOps.h"
#include "tests/unit/codegen/ScheduleGpuKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::frit;

namespace {

PtxImages compile(const std::string &text, ArrayRef<unsigned> architectures) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<FritDialect, arith::ArithDialect, tensor::TensorDialect>();
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  PtxImages images;
  EXPECT_TRUE(succeeded(test::scheduleGpuKernels(*module)));
  EXPECT_TRUE(succeeded(generatePtx(*module, architectures, images)));
  return images;
}

std::vector<std::string> entriesOf(ArrayRef<LaunchDesc> launches) {
  std::vector<std::string> names;
  llvm::transform(launches, std::back_inserter(names),
                  [](const LaunchDesc &launch) { return launch.entry; });
  return names;
}

bool has(const PtxImages::Text &text, StringRef entry) {
  return StringRef(text.ptx).contains((".entry " + entry + "(").str());
}

constexpr const char *kHalvesAndFloats = R"(
frit.kernel @widen(%x: tensor<4096xbf16>) -> tensor<4096xf32> {
  %0 = arith.extf %x : tensor<4096xbf16> to tensor<4096xf32>
  frit.yield %0 : tensor<4096xf32>
})";

constexpr const char *kTotal = R"(
frit.kernel @total(%x: tensor<1048576xf32>) -> tensor<f32> {
  %0 = frit.reduce <sum> %x dims [0] : tensor<1048576xf32> -> tensor<f32>
  frit.yield %0 : tensor<f32>
})";

/// Rows of `length`.
std::string rowSums(StringRef length) {
  StringRef dim = length == "p1" ? "?" : length;
  std::string tensor = ("tensor<?x" + dim + "xf32, #frit.dims<[p0, " + length + "]>>").str(),
              sums = "tensor<?xf32, #frit.dims<[p0]>>";
  std::string symbols = R"(#frit.symbol<"p0", min = 0, max = 4096>)";
  symbols += length == "p1" ? R"(, #frit.symbol<"p1", min = 0, max = 4096>)" : "";
  return "frit.kernel @rows(%x: " + tensor + ") -> " + sums + " attributes {symbols = [" + symbols +
         "]} {\n%0 = frit.reduce <sum> %x dims [1] : " + tensor + " -> " + sums +
         "\nfrit.yield %0 : " + sums + "\n}\n";
}

} // namespace

TEST(KernelVariants, AlignedPointersAreTriedFirst) {
  PtxImages images = compile(kHalvesAndFloats, {80, 90});
  const KernelDesc &kernel = images.kernels.at(0);
  ASSERT_EQ(kernel.variants.size(), 1u);
  const VariantDesc &aligned = kernel.variants[0];
  EXPECT_FALSE(aligned.number.has_value()) << "it serves all sizes";
  EXPECT_EQ(entriesOf(aligned.launches), std::vector<std::string>{"widen"});
  EXPECT_EQ(entriesOf(kernel.launches), std::vector<std::string>{"widen_u"});
  EXPECT_EQ(&kernel.getHot(), &aligned.launches);
  // Operands, then results: a vector of eight halves, or of four floats.
  ASSERT_EQ(aligned.aligned.size(), 2u);
  for (unsigned number : {0, 1}) {
    EXPECT_EQ(aligned.aligned[number].number, number);
    EXPECT_EQ(aligned.aligned[number].bytes, 16u);
  }
  EXPECT_EQ(aligned.launches[0].grid[0], kernel.launches[0].grid[0]);
  EXPECT_EQ(aligned.launches[0].block[0], kernel.launches[0].block[0]);
}

TEST(KernelVariants, ColdCodeIsATextOfItsOwn) {
  PtxImages images = compile(std::string(kHalvesAndFloats) + kTotal, {80, 90});
  ASSERT_EQ(images.texts.size(), 4u);
  for (auto [number, arch, isCold] :
       {std::tuple(0, 80u, false), {1, 90u, false}, {2, 80u, true}, {3, 90u, true}}) {
    const PtxImages::Text &text = images.texts[static_cast<size_t>(number)];
    EXPECT_EQ(text.arch, arch);
    EXPECT_EQ(text.isCold, isCold);
    EXPECT_EQ(has(text, "widen"), !isCold);
    EXPECT_EQ(has(text, "widen_u"), isCold);
    EXPECT_EQ(StringRef(text.ptx).contains("v4.b32"), !isCold);
  }
}

TEST(KernelVariants, LaunchesThatSeeNoTensorAreShared) {
  PtxImages images = compile(kTotal, {90});
  const KernelDesc &kernel = images.kernels.at(0);
  EXPECT_EQ(entriesOf(kernel.getHot()), (std::vector<std::string>{"total_0", "total_1"}));
  EXPECT_EQ(entriesOf(kernel.launches), (std::vector<std::string>{"total_u_0", "total_1"}));
  EXPECT_TRUE(has(images.texts.at(0), "total_1"));
  EXPECT_FALSE(has(images.texts.at(1), "total_1"));
}

TEST(KernelVariants, SizesThatDecideStayInTheKernel) {
  // Vectors if the row length is a multiple of them: one variant with both paths.
  PtxImages images = compile(rowSums("p1"), {90});
  EXPECT_TRUE(images.kernels.at(0).variants.empty());
  ASSERT_EQ(images.texts.size(), 1u);
  EXPECT_TRUE(StringRef(images.texts[0].ptx).contains("ld.global.nc.v4.b32"));
  // A known length that is not a multiple.
  images = compile(rowSums("1023"), {90});
  EXPECT_TRUE(images.kernels.at(0).variants.empty());
  EXPECT_FALSE(StringRef(images.texts.at(0).ptx).contains("v4.b32"));
  images = compile(rowSums("1024"), {90});
  ASSERT_EQ(images.kernels.at(0).variants.size(), 1u);
  EXPECT_EQ(images.kernels[0].variants[0].aligned.size(), 1u);
}

TEST(KernelVariants, SizesWithoutBoundHaveNarrowIndicesFirst) {
  std::string text = rowSums("1024"), bound = ", max = 4096";
  text.replace(text.find(bound), bound.size(), "");
  text.replace(
      text.find("attributes {"), 12,
      R"(attributes {variants = [#frit.variant<[<index32, sizes [2048 * p0], origin "test">]>], )");
  PtxImages images = compile(text, {90});
  const KernelDesc &kernel = images.kernels.at(0);
  ASSERT_EQ(kernel.variants.size(), 2u);
  EXPECT_EQ(kernel.variants[0].number, 0u);
  EXPECT_EQ(kernel.variants[0].aligned.size(), 1u);
  EXPECT_EQ(kernel.variants[1].number, 0u);
  EXPECT_TRUE(kernel.variants[1].aligned.empty());
  EXPECT_EQ(entriesOf(kernel.variants[0].launches), std::vector<std::string>{"rows_v0"});
  EXPECT_EQ(entriesOf(kernel.variants[1].launches), std::vector<std::string>{"rows_v0_u"});
  EXPECT_EQ(entriesOf(kernel.launches), std::vector<std::string>{"rows"});
  EXPECT_TRUE(has(images.texts.at(0), "rows_v0"));
  EXPECT_FALSE(has(images.texts[0], "rows"));
  EXPECT_TRUE(has(images.texts.at(1), "rows_v0_u") && has(images.texts[1], "rows"));
}
