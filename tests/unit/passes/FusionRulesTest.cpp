// Digits, refinement and the decisions of FusionRules, for shapes without operations.
#include "passes/FusionRules.h"

#include "llvm/ADT/StringSet.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::frit;

namespace {
struct FusionRulesTest : testing::Test {
  FusionRulesTest() { context.loadDialect<FritDialect>(); }

  SizeExpr size(StringRef text) {
    std::string error;
    SizeExpr expr = SizeExpr::parse(&context, text, error);
    EXPECT_TRUE(static_cast<bool>(expr)) << error;
    return expr;
  }
  SmallVector<SizeExpr> sizes(ArrayRef<StringRef> texts) {
    SmallVector<SizeExpr> result;
    for (StringRef text : texts) {
      result.push_back(size(text));
    }
    return result;
  }
  LoopDomain pointwise(ArrayRef<StringRef> texts) {
    return LoopDomain::pointwise(sizes(texts), &context);
  }
  /// Reduces the last `count` dims.
  LoopDomain rows(ArrayRef<StringRef> texts, size_t count = 1) {
    SmallVector<int64_t> dims =
        llvm::to_vector(llvm::seq<int64_t>(texts.size() - count, texts.size()));
    return LoopDomain::reduction(sizes(texts), dims, &context);
  }
  LinkedRead whole(ArrayRef<StringRef> texts, LoopLevel level = LoopLevel::Full) {
    return {level, ReadPlace::rowMajor(sizes(texts), &context)};
  }

  MLIRContext context;
  FusionRules rules{[](SizeExpr e) { return double(e.getConstant().value_or(4096)); }};
};

TEST_F(FusionRulesTest, RefinesToTheCoarsestCommonShape) {
  auto refined = refineSizes(sizes({"s0 * s1", "64"}), sizes({"s0", "64 * s1"}), &context);
  ASSERT_TRUE(succeeded(refined));
  EXPECT_EQ(ArrayRef(*refined), ArrayRef(sizes({"s0", "s1", "64"})));
  EXPECT_TRUE(failed(refineSizes(sizes({"s0", "s1"}), sizes({"s1", "s0"}), &context)));
  EXPECT_TRUE(succeeded(refineSizes(sizes({"1", "s0"}), sizes({"s0", "1", "1"}), &context)));
  EXPECT_TRUE(succeeded(refineSizes(sizes({"4", "8"}), sizes({"8", "4"}), &context)));
}

TEST_F(FusionRulesTest, DigitsThatContinueEachOtherMerge) {
  ReadPlace place = ReadPlace::rowMajor(sizes({"s0", "1", "s1", "64"}), &context);
  Signature merged = place.getSignature();
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].extent, size("64 * s0 * s1"));
  Signature gap = mergeDigits({place.getDigits()[0], place.getDigits()[3]});
  EXPECT_EQ(gap.size(), 2u);
}

TEST_F(FusionRulesTest, SameElementsUnderAnotherShapeJoin) {
  FusionVerdict verdict = rules.join(pointwise({"s0 * s1", "64"}), pointwise({"s0", "s1", "64"}),
                                     {whole({"s0", "s1", "64"})});
  EXPECT_TRUE(static_cast<bool>(verdict));
  EXPECT_EQ(verdict.domain.getSizes().size(), 3u);
}

TEST_F(FusionRulesTest, OtherDomainsDoNotJoin) {
  EXPECT_EQ(rules.join(pointwise({"s0", "64"}), pointwise({"s0", "32"}), {}).refusal,
            FusionRefusal::DomainsDiffer);
}

TEST_F(FusionRulesTest, AnEpilogueReadsItsOwnRow) {
  LoopDomain kernel = rows({"s0", "s1", "64"});
  // Digits (s1*64, s0) (64, s1) of a loop over [s0, s1, 64].
  ReadPlace all = ReadPlace::rowMajor(kernel.getSizes(), &context);
  EXPECT_EQ(mergeDigits(all.getDigits().drop_back()), kernel.getParallel());
  FusionVerdict rowLevel =
      rules.join(kernel, pointwise({"s0", "s1"}), {whole({"s0", "s1"}, LoopLevel::Row)});
  EXPECT_TRUE(static_cast<bool>(rowLevel));
  EXPECT_EQ(rowLevel.level, LoopLevel::Row);
  // A full value is read at every element, but the kernel's value is one per row.
  EXPECT_EQ(rules.join(kernel, kernel, {whole({"s0", "s1", "64"}, LoopLevel::Row)}).refusal,
            FusionRefusal::ReadsElsewhere);
  EXPECT_EQ(rules.join(kernel, kernel, {{LoopLevel::Full, ReadPlace::elsewhere()}}).refusal,
            FusionRefusal::ReadsElsewhere);
}

TEST_F(FusionRulesTest, ReductionsOfOneKernelReduceTheSameDims) {
  EXPECT_EQ(rules.join(rows({"s0", "s1", "64"}), rows({"s0", "s1", "64"}, 2), {}).refusal,
            FusionRefusal::ReducesOtherDims);
  EXPECT_EQ(rules.merge(rows({"s0", "64"}), rows({"s0", "64"}, 2)).refusal,
            FusionRefusal::ReducesOtherDims);
  EXPECT_TRUE(static_cast<bool>(rules.merge(rows({"s0 * s1", "64"}), rows({"s0", "s1", "64"}))));
}

TEST_F(FusionRulesTest, NothingFollowsARowThatIsSplit) {
  LoopDomain kernel = rows({"1000000"});
  LinkedRead read{LoopLevel::Row, ReadPlace::rowMajor({}, &context)};
  EXPECT_EQ(rules.join(kernel, pointwise({"1000000"}), {read}).refusal,
            FusionRefusal::NeedsWholeReduction);
  EXPECT_TRUE(static_cast<bool>(rules.join(rows({"1000"}), pointwise({"1000"}), {read})));
}

TEST_F(FusionRulesTest, EveryRefusalHasWords) {
  llvm::StringSet<> seen;
  for (int i = 0; i <= static_cast<int>(FusionRefusal::WouldMakeCycle); ++i) {
    StringRef words = stringify(static_cast<FusionRefusal>(i));
    EXPECT_NE(words, "unknown");
    EXPECT_TRUE(seen.insert(words).second);
  }
}
} // namespace
