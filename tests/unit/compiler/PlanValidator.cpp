// Mistakes planted in correct plans must be found, and correct plans must pass.

#include "compiler/PlanValidator.h"

#include "compiler/Compiler.h"
#include "compiler/Registration.h"
#include "ir/FritAttributes.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Artifact_generated.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace frit {
namespace {

using mlir::frit::GraphOp;

/// An outlined graph and the plan that was written from it.
struct Planned {
  explicit Planned(const char *ir, bool reuse = true) {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    CompileOptions options;
    options.strict = true;
    options.reuse = reuse;
    CompileResult whole = compileIr(ir, options);
    options.stopAfter = "outlined";
    CompileResult outlined = compileIr(ir, options);
    error = whole.errorText() + outlined.errorText();
    if (!error.empty()) {
      return;
    }
    module = mlir::parseSourceString<mlir::ModuleOp>(outlined.ir, &context);
    for (auto one : module->getOps<GraphOp>()) {
      graph = one;
    }
    auto read = Artifact::fromBytes(
        {reinterpret_cast<const uint8_t *>(whole.artifact.data()), whole.artifact.size()});
    error = read.isOk() ? "" : read.status().message();
    if (read.isOk()) {
      plan.reset((*read)->plan(format::Target::Cpu)->UnPack());
    }
  }

  /// Changes what the graph promises of a result, as if the passes had not read it.
  void promise(unsigned result, const char *storage) {
    auto promised = mlir::cast<mlir::frit::StorageAttr>(mlir::parseAttribute(storage, &context));
    mlir::frit::kResultStorageAttr.set(graph, result, promised);
  }

  std::string verdict() { return validatePlan(graph, *plan).value_or(""); }

  /// The position of the n-th step of a kind.
  size_t find(format::Action kind, unsigned n = 0) const {
    for (size_t at = 0; at != plan->steps.size(); ++at) {
      if (plan->steps[at]->action.type == kind && n-- == 0) {
        return at;
      }
    }
    ADD_FAILURE() << "the plan has too few steps " << format::EnumNameAction(kind) << ": "
                  << steps();
    return 0;
  }
  format::ActionUnion &action(format::Action kind, unsigned n = 0) {
    return plan->steps[find(kind, n)]->action;
  }
  std::vector<uint32_t> &launched(unsigned n) {
    return action(format::Action::Launch, n).AsLaunch()->tensors;
  }
  void drop(size_t at) { plan->steps.erase(plan->steps.begin() + at); }
  void move(size_t from, size_t to) {
    auto step = std::move(plan->steps[from]);
    plan->steps.erase(plan->steps.begin() + from);
    plan->steps.insert(plan->steps.begin() + to, std::move(step));
  }
  uint32_t number(int64_t value) {
    plan->int_constants.emplace_back(value, plan->int_count);
    return plan->int_count++;
  }
  std::string steps() const {
    std::string text;
    for (const auto &step : plan->steps) {
      text += std::string(text.empty() ? "" : " ") + format::EnumNameAction(step->action.type);
    }
    return text;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  GraphOp graph;
  std::unique_ptr<format::PlanT> plan;
  std::string error;
};

#define BINARY                                                                                     \
  "operand_dtypes = [#frit.dtype<f32>, #frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]"
#define UNARY "operand_dtypes = [#frit.dtype<f32>], result_dtypes = [#frit.dtype<f32>]"
#define SQUARE "tensor<?x?xf32, #frit.dims<[s0, s0]>>"

/// Kernels before and after library calls, a view of a call's result, a result that overwrites an
/// operand, and one kernel with a result in an argument's storage and one that is copied into
/// another argument.
constexpr const char *kProgram =
    "frit.graph @main(%a: " SQUARE ", %b: " SQUARE ", %c: " SQUARE ") -> (" SQUARE ", " SQUARE R"()
    attributes {symbols = [#frit.symbol<"s0", min = 2, hint = 8>],
                res_attrs = [{frit.storage = #frit.storage<fresh, 0>, frit.layout = #frit.layout<[s0, 1]>},
                             {frit.storage = #frit.storage<fresh, 1>, frit.layout = #frit.layout<[s0, 1]>}]} {
  %0 = frit.aten "aten.sub.Tensor"(%a, %b) [#frit.operand<0>, #frit.operand<1>, 1 : i64] {)" BINARY
    "} : (" SQUARE ", " SQUARE ") -> " SQUARE R"(
  %1 = frit.aten "aten.mm.default"(%0, %b) [#frit.operand<0>, #frit.operand<1>] {)" BINARY
    "} : (" SQUARE ", " SQUARE ") -> " SQUARE R"(
  %2 = frit.aten "aten.t.default"(%1) [#frit.operand<0>] {)" UNARY
    R"(, result_layouts = [#frit.layout<[1, s0]>]} : ()" SQUARE ") -> " SQUARE R"(
  %3 = frit.aten "aten.add.Tensor"(%2, %0) [#frit.operand<0>, #frit.operand<1>, 1 : i64] {)" BINARY
    "} : (" SQUARE ", " SQUARE ") -> " SQUARE R"(
  %4 = frit.aten "aten.mm.default"(%3, %2) [#frit.operand<0>, #frit.operand<1>] {)" BINARY
    "} : (" SQUARE ", " SQUARE ") -> " SQUARE R"(
  %5 = frit.aten "aten.exp.default"(%4) [#frit.operand<0>] {)" UNARY "} : (" SQUARE ") -> " SQUARE
    R"(
  frit.store %5 into %c : )" SQUARE ", " SQUARE R"(
  %6 = frit.aten "aten.mul.Tensor"(%5, %a) [#frit.operand<0>, #frit.operand<1>] {)" BINARY
    "} : (" SQUARE ", " SQUARE ") -> " SQUARE R"(
  frit.store %6 into %b : )" SQUARE ", " SQUARE R"(
  frit.return %4, %6 : )" SQUARE ", " SQUARE "\n}\n";

using format::Action;

TEST(PlanValidator, PassesWhatIsRight) {
  Planned planned(kProgram);
  ASSERT_EQ(planned.error, "");
  EXPECT_EQ(planned.verdict(), "") << planned.steps();
}

TEST(PlanValidator, PassesPlansWithoutReuse) {
  Planned planned(kProgram, /*reuse=*/false);
  ASSERT_EQ(planned.error, "");
  EXPECT_EQ(planned.verdict(), "") << planned.steps();
  std::string steps = planned.steps();
  EXPECT_EQ(steps.find("Touch"), std::string::npos) << steps;
}

struct Mistake {
  const char *name;
  void (*plant)(Planned &);
  /// A part of the expected error.
  const char *says;
};

const Mistake kMistakes[] = {
    {"an operand of a kernel is another value",
     [](Planned &p) { std::swap(p.launched(0)[0], p.launched(0)[1]); }, "reads"},
    {"a launch runs another kernel",
     [](Planned &p) { p.action(Action::Launch, 0).AsLaunch()->kernel ^= 1; }, "another kernel"},
    {"a launch passes another size",
     [](Planned &p) {
       auto &launch = *p.action(Action::Launch, 0).AsLaunch();
       launch.ints[0] = p.number(7);
     },
     "size"},
    {"a library call reads another value",
     [](Planned &p) {
       auto &call = *p.action(Action::Aten, 0).AsAten();
       std::swap(call.arguments[0]->reg, call.arguments[1]->reg);
     },
     "reads"},
    {"a library call is another one",
     [](Planned &p) { p.action(Action::Aten, 0).AsAten()->name = "aten::bmm"; }, "calls"},
    {"a view begins an element late",
     [](Planned &p) {
       size_t view = p.find(Action::View, 0);
       for (size_t n = 0; p.plan->steps[view]->action.AsView()->tensor == p.launched(1)[2]; ++n) {
         view = p.find(Action::View, static_cast<unsigned>(n + 1));
       }
       p.plan->steps[view]->action.AsView()->offset = p.number(1);
     },
     "other places"},
    {"a view is not transposed",
     [](Planned &p) {
       for (auto &tensor : p.plan->tensors) {
         if (tensor->strides.size() == 2 && tensor->sizes[0] == tensor->strides[1]) {
           std::swap(tensor->strides[0], tensor->strides[1]);
         }
       }
     },
     "other places"},
    {"a temporary is dropped before its last reader",
     [](Planned &p) {
       auto drop = std::make_unique<format::StepT>();
       format::FreeT freed;
       freed.tensor = p.launched(0)[2];
       drop->action.Set(freed);
       p.plan->steps.insert(p.plan->steps.begin() + p.find(Action::Aten, 0), std::move(drop));
     },
     "dropped"},
    {"storage is handed on before its last reader",
     [](Planned &p) {
       // A launch writes the first product's result over the sum, which is read later.
       p.launched(2)[2] = p.launched(1)[2];
     },
     ""},
    {"a result is written over an operand that is read across",
     [](Planned &p) { p.launched(1)[2] = p.launched(1)[0]; }, "over operand"},
    {"storage is too small",
     [](Planned &p) { p.action(Action::Alloc, 0).AsAlloc()->bytes = p.number(8); },
     "beyond the end"},
    {"a store is missing", [](Planned &p) { p.drop(p.find(Action::CopyInto)); }, ""},
    {"a store writes to another argument",
     [](Planned &p) { p.action(Action::CopyInto).AsCopyInto()->tensor = p.launched(0)[0]; },
     "dropped"},
    {"a store comes from another value",
     [](Planned &p) { p.action(Action::CopyInto).AsCopyInto()->source = p.launched(2)[2]; },
     "dropped"},
    {"an argument is written before its last reader",
     [](Planned &p) {
       // The first kernel already writes to c, like the third one.
       uint32_t c = p.launched(2)[2];
       p.launched(0)[2] = c;
     },
     ""},
    {"a write is not said", [](Planned &p) { p.plan->inputs[1]->mutated = false; }, "does not say"},
    {"a result is another value",
     [](Planned &p) { std::swap(p.plan->outputs[0]->reg, p.plan->outputs[1]->reg); }, ""},
    {"a result is in the storage of an argument",
     [](Planned &p) { p.plan->outputs[1]->reg = p.action(Action::CopyInto).AsCopyInto()->tensor; },
     "dropped"},
    {"two results share storage",
     [](Planned &p) { p.plan->outputs[1]->reg = p.plan->outputs[0]->reg; }, ""},
    {"a result begins elsewhere",
     [](Planned &p) {
       uint32_t result = p.plan->outputs[1]->reg;
       for (auto &step : p.plan->steps) {
         if (auto *alloc = step->action.AsAlloc(); alloc && alloc->tensor == result) {
           alloc->offset = p.number(2);
           alloc->bytes = p.number(1 << 20);
         }
       }
     },
     "begins"},
    {"a kernel gets other strides than it is made for",
     [](Planned &p) {
       auto &strides = p.plan->tensors[p.launched(0)[2]]->strides;
       std::swap(strides[0], strides[1]);
     },
     ""},
};

class Planted : public testing::TestWithParam<Mistake> {};

TEST_P(Planted, IsFound) {
  Planned planned(kProgram);
  ASSERT_EQ(planned.error, "");
  GetParam().plant(planned);
  std::string verdict = planned.verdict();
  EXPECT_NE(verdict, "") << "not found: " << GetParam().name << "\n" << planned.steps();
  EXPECT_NE(verdict.find(GetParam().says), std::string::npos) << verdict;
}

/// A kernel reads a result with a data-dependent size.
constexpr const char *kFound = R"(
frit.graph @main(%x: tensor<8xi1>) -> (tensor<?x1xi64, #frit.dims<[u0, 1]>>)
    attributes {symbols = [#frit.symbol<"u0", min = 0, unbacked>]} {
  %found = frit.aten "aten.nonzero.default"(%x) [#frit.operand<0>]
    {operand_dtypes = [#frit.dtype<bool>], result_dtypes = [#frit.dtype<i64>]}
    : (tensor<8xi1>) -> tensor<?x1xi64, #frit.dims<[u0, 1]>>
  frit.bind "u0" = %found dim 0 : tensor<?x1xi64, #frit.dims<[u0, 1]>>
  %more = frit.aten "aten.add.Scalar"(%found) [#frit.operand<0>, 1 : i64, 1 : i64]
    {operand_dtypes = [#frit.dtype<i64>], result_dtypes = [#frit.dtype<i64>]}
    : (tensor<?x1xi64, #frit.dims<[u0, 1]>>) -> tensor<?x1xi64, #frit.dims<[u0, 1]>>
  frit.return %more : tensor<?x1xi64, #frit.dims<[u0, 1]>>
}
)";

TEST(PlanValidator, AsksForChecksOfShapesThatOnlyACallKnows) {
  Planned planned(kFound);
  ASSERT_EQ(planned.error, "");
  EXPECT_EQ(planned.verdict(), "") << planned.steps();
  auto &view = *planned.action(Action::View).AsView();
  ASSERT_TRUE(view.checks);
  view.checks = false;
  EXPECT_NE(planned.verdict().find("whose shape nothing has checked"), std::string::npos)
      << planned.verdict();
}

TEST(PlanValidator, RefusesKernelsThatReadUncheckedShapes) {
  Planned planned(kFound);
  ASSERT_EQ(planned.error, "");
  uint32_t &read = planned.launched(0)[0];
  ASSERT_EQ(read, planned.action(Action::View).AsView()->tensor);
  read = planned.action(Action::View).AsView()->source;
  EXPECT_NE(planned.verdict().find("has a shape that nothing has checked"), std::string::npos)
      << planned.verdict();
}

// The mistakes of the first four finds of programs that nobody here had written.

TEST(PlanValidator, FindsArgumentsThatAreWrittenFromEachOther) {
  Planned planned(R"(
frit.graph @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> () {
  frit.store %b into %a : tensor<4xf32>, tensor<4xf32>
  frit.store %a into %b : tensor<4xf32>, tensor<4xf32>
  frit.return
}
)");
  ASSERT_EQ(planned.error, "");
  EXPECT_EQ(planned.verdict(), "") << planned.steps();
  // The copy is gone, and b is written from what is then in a.
  planned.drop(planned.find(Action::Free));
  auto &store = *planned.action(Action::CopyInto, 1).AsCopyInto();
  store.source = planned.action(Action::CopyInto).AsCopyInto()->tensor;
  EXPECT_NE(planned.verdict().find("where the storage holds argument 1"), std::string::npos)
      << planned.verdict();
}

/// A view of an argument, from its second row on.
constexpr const char *kView = R"(
frit.graph @main(%a: tensor<4x3xf32>)
    -> (tensor<3x3xf32> {frit.layout = #frit.layout<[3, 1], offset 3>,
                         frit.storage = #frit.storage<argument, 0>}) {
  %v = frit.aten "aten.slice.Tensor"(%a) [#frit.operand<0>, 0, 1, 9223372036854775807, 1]
    {operand_layouts = [#frit.layout<[3, 1]>], result_layouts = [#frit.layout<[3, 1], offset 3>],
     result_storage = [#frit.storage<argument, 0>], )" UNARY
                              R"(} : (tensor<4x3xf32>) -> tensor<3x3xf32>
  frit.return %v : tensor<3x3xf32>
}
)";

TEST(PlanValidator, FindsAReturnedViewInAnotherPlace) {
  Planned planned(kView);
  ASSERT_EQ(planned.error, "");
  EXPECT_EQ(planned.verdict(), "") << planned.steps();
  planned.action(Action::View).AsView()->offset = planned.number(0);
  EXPECT_NE(planned.verdict().find("begins at element 0"), std::string::npos) << planned.verdict();
}

TEST(PlanValidator, FindsAViewOfAnArgumentThatMustBeFresh) {
  Planned planned(kView);
  ASSERT_EQ(planned.error, "");
  planned.promise(0, "#frit.storage<fresh, 0>");
  EXPECT_NE(planned.verdict().find("is in the storage of argument 0"), std::string::npos)
      << planned.verdict();
}

TEST(PlanValidator, FindsResultsThatDoNotShareMemory) {
  Planned planned(R"(
frit.graph @main(%a: tensor<4x3xf32>)
    -> (tensor<4x3xf32> {frit.layout = #frit.layout<[3, 1]>,
                         frit.storage = #frit.storage<fresh, 0>},
        tensor<3x3xf32> {frit.layout = #frit.layout<[3, 1]>,
                         frit.storage = #frit.storage<fresh, 1>}) {
  %m = frit.aten "aten.maximum.default"(%a, %a) [#frit.operand<0>, #frit.operand<1>]
    {)" BINARY R"(} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %v = frit.aten "aten.slice.Tensor"(%m) [#frit.operand<0>, 0, 1, 9223372036854775807, 1]
    {)" UNARY R"(} : (tensor<4x3xf32>) -> tensor<3x3xf32>
  frit.return %m, %v : tensor<4x3xf32>, tensor<3x3xf32>
}
)");
  ASSERT_EQ(planned.error, "");
  EXPECT_EQ(planned.verdict(), "") << planned.steps();
  planned.promise(1, "#frit.storage<fresh, 0>");
  EXPECT_NE(planned.verdict().find("must share its storage"), std::string::npos)
      << planned.verdict();
}

INSTANTIATE_TEST_SUITE_P(PlanValidator, Planted, testing::ValuesIn(kMistakes),
                         [](const auto &info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

} // namespace
} // namespace frit
