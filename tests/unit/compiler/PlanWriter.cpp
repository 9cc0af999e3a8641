// The plans of small graphs, step by step: allocations, views, calls, and the end of lifetimes.

#include "compiler/Compiler.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Artifact_generated.h"

#include <gtest/gtest.h>

namespace frit {
namespace {

/// An artifact compiled from IR, with its first plan.
struct Compiled {
  explicit Compiled(const char *ir) {
    CompileResult result = compileIr(ir, CompileOptions());
    error = result.errorText();
    report = result.report;
    if (result.ok()) {
      auto read = Artifact::fromBytes(
          {reinterpret_cast<const uint8_t *>(result.artifact.data()), result.artifact.size()});
      error = read.isOk() ? "" : read.status().message();
      if (read.isOk()) {
        artifact = *read;
        plan = artifact->plan(format::Target::Cpu);
      }
    }
  }

  std::string steps() const {
    std::string text;
    for (const format::Step *step : *plan->steps()) {
      text += std::string(text.empty() ? "" : " ") + format::EnumNameAction(step->action_type());
    }
    return text;
  }

  std::string error, report;
  std::shared_ptr<const Artifact> artifact;
  const format::Plan *plan = nullptr;
};

constexpr const char *kChain = R"(
frit.graph @main(%a: tensor<?xf32, #frit.dims<[s0]>>, %b: tensor<?xf32, #frit.dims<[s0]>>) -> tensor<?xf32, #frit.dims<[s0]>>
    attributes {symbols = [#frit.symbol<"s0", min = 2>]} {
  %0:2 = frit.aten "aten.sort.default"(%a) [#frit.operand<0>, -1 : i64, false]
       {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>, #frit.dtype<i64>]}
       : (tensor<?xf32, #frit.dims<[s0]>>) -> (tensor<?xf32, #frit.dims<[s0]>>, tensor<?xi64, #frit.dims<[s0]>>)
  %1 = frit.aten "aten.cumsum.default"(%0#0) [#frit.operand<0>, 0 : i64, unit]
       {operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]}
       : (tensor<?xf32, #frit.dims<[s0]>>) -> tensor<?xf32, #frit.dims<[s0]>>
  frit.return %1 : tensor<?xf32, #frit.dims<[s0]>>
}
)";

TEST(PlanWriter, CallsInOrderAndEveryTensorDroppedAtItsLastUse) {
  Compiled compiled(kChain);
  ASSERT_EQ(compiled.error, "");
  // b is never read; sort's positions are freed at once, a with the call, the sorted values after
  // cumsum.
  EXPECT_EQ(compiled.steps(), "Free Aten Free Free Aten Free");
  const format::Aten *sort = compiled.plan->steps()->Get(1)->action_as_Aten();
  EXPECT_EQ(sort->name()->str(), "aten::sort");
  EXPECT_EQ(flatbuffers::GetString(sort->overload()), ""); // an empty string is not stored
  EXPECT_EQ(sort->arguments()->Get(1)->integer(), -1);
  EXPECT_EQ(sort->arguments()->Get(2)->kind(), format::ValueKind::Bool);
  EXPECT_EQ(sort->results()->size(), 2u);
  EXPECT_EQ(compiled.plan->outputs()->Get(0)->kind(), format::OutputKind::Tensor);
}

TEST(PlanWriter, BindsASymbolFromTheFirstDimensionThatIsIt) {
  Compiled compiled(kChain);
  ASSERT_EQ(compiled.error, "");
  ASSERT_EQ(compiled.plan->symbols()->size(), 1u);
  const format::Symbol *symbol = compiled.plan->symbols()->Get(0);
  EXPECT_EQ(symbol->name()->str(), "s0");
  EXPECT_EQ(symbol->input(), 0u);
  EXPECT_EQ(symbol->dim(), 0);
  EXPECT_EQ(symbol->min(), 2);
}

TEST(PlanWriter, ReturnsArgumentsAndScalarsAsTheyAre) {
  Compiled compiled(R"(
frit.graph @main(%n: i64, %x: tensor<4xf32>) -> (tensor<4xf32>, i64, i64)
    attributes {symbols = [#frit.symbol<"s0", min = 0>], arg_attrs = [{frit.size = #frit.size<s0>}, {}]} {
  %two = arith.constant 2 : i64
  %m = arith.muli %n, %two : i64
  %s = frit.size <s0 * s0 + 1>
  frit.return %x, %m, %s : tensor<4xf32>, i64, i64
}
)");
  ASSERT_EQ(compiled.error, "");
  EXPECT_EQ(compiled.plan->outputs()->Get(0)->kind(), format::OutputKind::Input);
  EXPECT_EQ(compiled.plan->outputs()->Get(0)->reg(), 1u);
  EXPECT_EQ(compiled.plan->outputs()->Get(1)->kind(), format::OutputKind::Int);
  EXPECT_NE(compiled.plan->size_program(), kNoRegister);
}

TEST(PlanWriter, ReportsCallsWithTheirReason) {
  Compiled compiled(kChain);
  EXPECT_NE(compiled.report.find(R"("op":"aten.sort.default")"), std::string::npos)
      << compiled.report;
  EXPECT_NE(compiled.report.find(R"("phases_ms")"), std::string::npos);
}

TEST(PlanWriter, SaysWhatItCannotPlan) {
  Compiled compiled("frit.graph @main(%x: tensor<?xf32, #frit.dims<[s7]>>) -> tensor<?xf32, "
                    "#frit.dims<[s7 * 2]>> attributes {symbols = []} {\n"
                    "  %0 = frit.aten \"aten.repeat.default\"(%x) [#frit.operand<0>, [2 : i64]] "
                    "{operand_dtypes = [#frit.dtype<f32>], "
                    "result_dtypes = [#frit.dtype<f32>]} : (tensor<?xf32, #frit.dims<[s7]>>) -> "
                    "tensor<?xf32, #frit.dims<[s7 * 2]>>\n"
                    "  frit.return %0 : tensor<?xf32, #frit.dims<[s7 * 2]>>\n}");
  EXPECT_NE(compiled.error.find("s7"), std::string::npos) << compiled.error;
}

} // namespace
} // namespace frit
