// Calls of graphs without torch: what a file must have, and which graph runs. What they compute is
// tested in tests/python/capture/test_control_flow.py.

#include "runtime/standalone/Model.h"
#include "tests/unit/runtime/standalone/BrokenArtifact.h"

using namespace frit;

namespace {

std::unique_ptr<format::ValueT> valueOf(format::ValueKind kind, uint32_t reg) {
  auto value = std::make_unique<format::ValueT>();
  value->kind = kind;
  value->reg = reg;
  return value;
}

/// y, z = cond(flag, x) with the graph of SmallArtifact.h in both branches. Its kernel writes
/// nothing.
struct Branching {
  format::ArtifactT artifact;
  PlanBuilder builder{format::Target::Cpu};
  format::AtenT *call;

  Branching() {
    artifact.graph = "branching";
    uint32_t one = builder.intConstant(1), s0 = builder.newInt(), flag = builder.newInt();
    auto tensor = [&](uint32_t size) {
      return builder.newTensor(format::Dtype::F32, {size}, {one}, format::Device::Cpu);
    };
    uint32_t x = tensor(s0), y = tensor(s0), z = tensor(one);
    auto input = [&](const char *name, format::InputKind kind, uint32_t reg) {
      auto &made = *builder.plan.inputs.emplace_back(std::make_unique<format::InputT>());
      made.name = name, made.kind = kind, made.reg = reg;
    };
    input("flag", format::InputKind::Int, flag);
    input("x", format::InputKind::Tensor, x);
    auto &symbol = *builder.plan.symbols.emplace_back(std::make_unique<format::SymbolT>());
    symbol.name = "s0", symbol.reg = s0, symbol.input = 1, symbol.dim = 0;
    call = &builder.step<format::AtenT>();
    call->name = "higher_order::cond";
    call->graphs = {"yes", "no"};
    call->arguments.push_back(valueOf(format::ValueKind::IntReg, flag));
    call->arguments.push_back(valueOf(format::ValueKind::List, kNoRegister));
    call->arguments.back()->items.push_back(valueOf(format::ValueKind::Tensor, x));
    for (uint32_t result : {y, z}) {
      call->results.push_back(valueOf(format::ValueKind::Tensor, result));
      builder.plan.outputs.emplace_back(std::make_unique<format::OutputT>())->reg = result;
    }
    add("yes", Small().pack());
    add("no", Small().pack());
  }

  void add(const char *name, std::string_view bytes) {
    auto &graph = *artifact.subgraphs.emplace_back(std::make_unique<format::SubgraphT>());
    graph.name = name;
    graph.bytes.assign(bytes.begin(), bytes.end());
  }

  std::string pack() {
    artifact.plans.push_back(builder.take());
    return packArtifact(artifact, {});
  }
};

Result<std::vector<Value>> run(const std::string &file, int64_t flag) {
  TemporaryFile stored(file);
  auto model = Model::load(stored.path);
  FRIT_RETURN_IF_ERROR(model.status());
  std::vector<float> memory(3, 1.0f);
  return model->run({{flag, Tensor{DataType::F32, {3}, {}, memory.data(), nullptr}}});
}

void expectRefused(std::string_view part, const std::function<void(Branching &)> &damage) {
  Branching branching;
  damage(branching);
  expectError(run(branching.pack(), 1).status(), part);
}

} // namespace

TEST(ControlFlow, RunsTheGraphThatThePredicateNames) {
  for (int64_t flag : {0, 1}) {
    auto results = run(Branching().pack(), flag);
    ASSERT_TRUE(results.isOk()) << results.status().message();
    ASSERT_EQ(results->size(), 2u);
    EXPECT_EQ(std::get<Tensor>((*results)[0]).sizes, std::vector<int64_t>{3});
    EXPECT_EQ(std::get<Tensor>((*results)[1]).sizes, std::vector<int64_t>{1});
  }
  // Only the branch that is not taken has a guard that does not hold.
  Branching guarded;
  Small narrow;
  narrow.plan().symbols[0]->max = 2;
  guarded.artifact.subgraphs.pop_back();
  guarded.add("no", narrow.pack());
  std::string file = guarded.pack();
  EXPECT_TRUE(run(file, 1).isOk());
  expectError(run(file, 0).status(), "its size along dimension 0 is 3", ErrorKind::BadInput);
}

TEST(ArtifactConstraint, A34_SubgraphsAreThereAndFit) {
  expectRefused("it has no graph 'other'", [](Branching &b) { b.call->graphs[1] = "other"; });
  expectRefused("the name of subgraph",
                [](Branching &b) { b.artifact.subgraphs[0]->name = std::string("\xff"); });
  expectRefused("its SHA-256 does not match",
                [](Branching &b) { b.artifact.subgraphs[0]->bytes[200] ^= 1; });
  expectRefused("a wrong number of graphs", [](Branching &b) { b.call->graphs.pop_back(); });
  expectRefused("another number of arguments", [](Branching &b) {
    b.call->results.push_back(valueOf(format::ValueKind::None, kNoRegister));
  });
  expectRefused("another number of arguments",
                [](Branching &b) { b.call->arguments[1]->items.clear(); });
  expectRefused("takes lists", [](Branching &b) { b.call->name = "higher_order::while_loop"; });
  expectRefused("writes to its arguments", [](Branching &b) {
    Small writing;
    writing.plan().inputs[0]->mutated = true;
    b.artifact.subgraphs.pop_back();
    b.add("no", writing.pack());
  });
  Branching unknown;
  unknown.call->name = "higher_order::until";
  expectError(run(unknown.pack(), 1).status(), "does not know the control flow",
              ErrorKind::Unsupported);
}
