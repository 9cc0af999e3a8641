// Assumptions have two forms: attributes, which passes evaluate and simplify, and instructions in a
// plan, which the executor runs. For random assumptions and sizes, both must give the same result.

#include "compiler/Compiler.h"
#include "ir/FritOps.h"
#include "passes/ShapeGuards.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Artifact_generated.h"
#include "runtime/cpu/CpuBackend.h"
#include "runtime/plan/PlanExecutor.h"
#include "runtime/standalone/StandaloneHost.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <random>

using namespace frit;
using mlir::frit::AssumptionAttr;
using mlir::frit::GuardKind;
using mlir::frit::SizeExpr;

namespace {

constexpr int kSymbols = 4;
constexpr int64_t kMost = 40;

class Randomly {
public:
  explicit Randomly(unsigned seed) : random(seed) {}
  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }

  SizeExpr size(mlir::MLIRContext &context, int depth = 2) {
    int64_t kind = depth == 0 ? number(0, 1) : number(0, 8);
    auto part = [&] { return size(context, depth - 1); };
    auto constant = [&](int64_t low, int64_t high) {
      return SizeExpr::constant(&context, number(low, high));
    };
    switch (kind) {
    case 0:
      return constant(-3, 9);
    case 1:
    case 2:
      return SizeExpr::symbol(&context, "s" + std::to_string(number(0, kSymbols - 1)));
    case 3:
      return part() + part();
    case 4:
      return part() - part();
    case 5:
      return part() * part();
    case 6:
      return part().floorDiv(constant(1, 6));
    case 7:
      return part().mod(constant(1, 6));
    default:
      return number(0, 1) ? part().max(part()) : part().min(part());
    }
  }

  AssumptionAttr assumption(mlir::MLIRContext &context) {
    auto make = [&](GuardKind kind, llvm::ArrayRef<mlir::frit::SizeAttr> sizes) {
      return AssumptionAttr::get(&context, kind, {}, sizes, "random");
    };
    SizeExpr a = size(context);
    switch (number(0, 4)) {
    case 0: // often true
      return make(
          GuardKind::Equal,
          {a, number(0, 1) ? size(context, 1) : a.floorDiv(SizeExpr::constant(&context, 2)) * 2});
    case 1:
      return make(GuardKind::Range, {a, SizeExpr::constant(&context, number(-9, 9)),
                                     size(context, 1) + number(0, 90)});
    case 2:
    case 3:
      return make(GuardKind::Divisor, {a, SizeExpr::constant(&context, number(1, 8))});
    default:
      return make(GuardKind::Index32, {a * number(1, 100000000)});
    }
  }

private:
  std::mt19937 random;
};

/// The artifact of a graph of four integers with these guards, or the error.
CompileResult compileGuards(const std::vector<AssumptionAttr> &assumptions) {
  std::string text =
      "frit.graph @main(%a: i64, %b: i64, %c: i64, %d: i64) -> i64 attributes {symbols = [";
  llvm::raw_string_ostream ir(text);
  for (int i = 0; i < kSymbols; ++i) {
    ir << (i ? ", " : "") << "#frit.symbol<\"s" << i << "\", min = 1, max = " << kMost << ">";
  }
  ir << "], arg_attrs = [";
  for (int i = 0; i < kSymbols; ++i) {
    ir << (i ? ", " : "") << "{frit.size = #frit.size<s" << i << ">}";
  }
  ir << "]} {\n";
  for (AssumptionAttr assumption : assumptions) {
    ir << "frit.guard ";
    static_cast<mlir::Attribute>(assumption).print(ir);
    ir << "\n";
  }
  ir << "frit.return %a : i64\n}\n";
  // The prefix of an operation's own attribute is omitted.
  for (size_t at; (at = text.find("frit.guard #frit.assume")) != std::string::npos;) {
    text.erase(at + 11, std::string("#frit.assume").size());
  }
  return compileIr(text, CompileOptions());
}

TEST(GuardPrograms, SayWhatTheAttributesSay) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::frit::FritDialect>();
  int ran = 0, refused = 0, broken = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    Randomly random(seed);
    std::vector<AssumptionAttr> assumptions;
    for (int64_t i = random.number(1, 3); i > 0; --i) {
      assumptions.push_back(random.assumption(context));
    }
    CompileResult compiled = compileGuards(assumptions);
    std::unique_ptr<PlanExecutor> executor;
    std::unique_ptr<StandaloneHost> host;
    std::unique_ptr<CpuBackend> backend;
    if (compiled.ok()) {
      auto artifact = Artifact::fromBytes(
          {reinterpret_cast<const uint8_t *>(compiled.artifact.data()), compiled.artifact.size()});
      ASSERT_TRUE(artifact.isOk()) << artifact.status().message();
      auto plan = DecodedPlan::decode(*artifact, *(*artifact)->plan(format::Target::Cpu));
      ASSERT_TRUE(plan.isOk()) << plan.status().message();
      host = std::move(*StandaloneHost::create(**plan, 1));
      backend = std::move(*CpuBackend::create(**plan));
      executor = std::make_unique<PlanExecutor>(*plan, *host, *backend);
    } else {
      ASSERT_NE(compiled.errorText().find("can never run"), std::string::npos)
          << compiled.errorText();
      ++refused;
    }
    for (int round = 0; round < 60; ++round) {
      std::vector<InputValue> inputs(kSymbols);
      for (InputValue &input : inputs) {
        input.kind = InputValue::Kind::Int;
        input.integer = random.number(1, round % 2 ? kMost : 6);
      }
      auto lookup = [&](llvm::StringRef name) {
        return std::optional(inputs[name.back() - '0'].integer);
      };
      bool expected = true;
      std::string text;
      for (AssumptionAttr assumption : assumptions) {
        auto one = holds(assumption, lookup);
        ASSERT_TRUE(one.has_value());
        expected = expected && *one;
        text += describe(assumption, [](int64_t) { return std::string(); }) + "\n";
      }
      if (!executor) {
        EXPECT_FALSE(expected) << "refused at compile time:\n" << text;
        continue;
      }
      std::vector<OutputValue> outputs(1);
      Status status = executor->run(inputs, outputs);
      EXPECT_EQ(status.isOk(), expected) << text << "seed " << seed << ", " << status.message();
      ++ran;
      if (!status.isOk()) {
        ++broken;
        EXPECT_NE(status.message().find("assumed by random"), std::string::npos)
            << status.message();
      }
    }
  }
  // Both outcomes must be frequent.
  EXPECT_GT(ran, 3000);
  EXPECT_GT(broken, 500);
  EXPECT_GT(ran - broken, 500);
  EXPECT_GT(refused, 2);
}

} // namespace
