// Results that a forward saves for its backward stay in the memory of its graph, and no graph
// overwrites them while they are in use.

#include "tests/unit/runtime/cuda/OperatorSession.h"

using namespace fakecuda;

namespace {

using Reasons = std::map<std::string, uint64_t>;

/// The operators' plan that also returns r3, the last operator's result: 2 * (2 * (x + w) + w).
std::string givingMore(bool twice = false) {
  return changed(withOperators(), [&](format::PlanT &plan) {
    uint32_t r3 = plan.outputs[0]->reg - 1;
    std::erase_if(plan.steps, [&](auto &step) {
      return step->action.AsFree() && step->action.AsFree()->tensor == r3;
    });
    for (int number = 0; number < 1 + twice; ++number) {
      addOutput(plan, format::OutputKind::Tensor, r3);
    }
  });
}

Values keptOf(Values x, const Values &w) {
  for (size_t at = 0; at < x.size(); ++at) {
    x[at] = 4 * x[at] + 6 * w[at];
  }
  return x;
}

/// Results from 1 on are saved for a backward.
struct Forward : Operators {
  explicit Forward(std::shared_ptr<GraphPool> shared = std::make_shared<GraphPool>(blocks()),
                   bool twice = false, const std::string &plan = "")
      : Operators(plan.empty() ? givingMore(twice) : plan, {}, std::move(shared)) {
    keptResults = {1};
    make(true, &torch);
  }
  /// Runs a call, checks the result, and returns the saved tensor.
  HostTensor *forward(const Values &x, HostTensor *w) {
    std::vector<OutputValue> outputs(executor->outputCount());
    Status status = callInto(newTensor(x), w, outputs);
    EXPECT_TRUE(status.isOk()) << status.message();
    torch.fillWithJunk();
    auto *result = static_cast<HostTensor *>(outputs[0].handle),
         *kept = static_cast<HostTensor *>(outputs[1].handle);
    EXPECT_EQ(valuesOf(result), expectedTwice(x, valuesOf(w)));
    EXPECT_EQ(valuesOf(kept), keptOf(x, valuesOf(w)));
    host().releaseTensor(result);
    return kept;
  }
};

/// Argument 0 is a saved tensor of a forward.
struct Backward : Operators {
  explicit Backward(std::shared_ptr<GraphPool> shared)
      : Operators(withOperators(), {}, std::move(shared)) {
    keptArguments = {0};
    make(true, &torch);
  }
  /// Like autograd, releases the tensor after the backward.
  void backward(Forward &of, HostTensor *kept, HostTensor *w) {
    Values values = valuesOf(kept);
    OutputValue output;
    // The call takes the reference; each host counts its own.
    --of.host().held, ++host().held;
    Status status = callInto(kept, w, {&output, 1});
    ASSERT_TRUE(status.isOk()) << status.message();
    torch.fillWithJunk();
    EXPECT_EQ(valuesOf(static_cast<HostTensor *>(output.handle)),
              expectedTwice(values, valuesOf(w)));
    host().releaseTensor(output.handle);
  }
};

struct KeptResultsTest : CudaGraphsTest {
  std::shared_ptr<GraphPool> pool = std::make_shared<GraphPool>(blocks());
};

TEST_F(KeptResultsTest, TrainingCopiesOnlyWhatItsUserSees) {
  Forward forward(pool);
  Backward backward(pool);
  HostTensor *w = forward.weight({1, 2, 3}), *v = backward.weight({5, 5, 5});
  for (int turn = 0; turn < 30; ++turn) {
    auto start = static_cast<float>(turn);
    int before = count("copy 12");
    backward.backward(forward, forward.forward({start, 1, 2}, w), v);
    if (turn > 8) {
      EXPECT_EQ(count("copy 12") - before, 3)
          << "the forward's argument and result, and the backward's result";
    }
  }
  GraphCounters ofForward = forward.graphs->counters(), ofBackward = backward.graphs->counters();
  EXPECT_EQ(ofForward.captures, 1u);
  EXPECT_EQ(ofForward.replays, 28u);
  EXPECT_EQ(ofForward.keptBytes, 12u);
  EXPECT_EQ(ofBackward.captures, 1u) << "it waited for its forward";
  EXPECT_EQ(ofBackward.replays, 26u);
  EXPECT_EQ(ofForward.evictions + ofBackward.evictions, 0u);
  EXPECT_TRUE(ofForward.notCaptured.empty() && ofBackward.notCaptured.empty());
}

TEST_F(KeptResultsTest, ABackwardWhoseForwardIsNoGraphBecomesOneLater) {
  Forward forward(pool);
  Backward backward(pool);
  forward.make(true, nullptr);
  HostTensor *w = forward.weight({1}), *v = backward.weight({5});
  for (int turn = 0; turn < 6; ++turn) {
    backward.backward(forward, forward.forward({1}, w), v);
    EXPECT_EQ(backward.graphs->counters().captures, turn < 3 ? 0u : 1u);
  }
  EXPECT_EQ(backward.graphs->counters().replays, 2u);
}

/// A forward often saves a view of a parameter, such as its transpose.
TEST_F(KeptResultsTest, LooksAtParametersAreReadWhereTheyLie) {
  Forward forward(pool, false, changed(withOperators(), [](format::PlanT &plan) {
                    uint32_t one = 0, s0 = plan.symbols[0]->reg, w = plan.inputs[1]->reg,
                             less = plan.int_count++;
                    plan.programs[0]->code.emplace_back(format::Op::Sub, less, s0, one, 0u);
                    addOutput(plan, format::OutputKind::Tensor,
                              addView(plan, plan.outputs[0]->reg, w, one, less));
                  }));
  Backward backward(pool);
  HostTensor *w = forward.weight({1, 2, 3}), *v = backward.weight({5, 5});
  for (int turn = 0; turn < 10; ++turn) {
    reinterpret_cast<float *>(w->data)[1] = static_cast<float>(turn); // an optimizer's step
    OutputValue outputs[2];
    ASSERT_TRUE(forward.callInto(newTensor({1, 2, 3}), w, outputs).isOk());
    forward.torch.fillWithJunk();
    forward.host().releaseTensor(outputs[0].handle);
    int before = count("copy 8");
    backward.backward(forward, static_cast<HostTensor *>(outputs[1].handle), v);
    EXPECT_EQ(count("copy 8") - before, turn < 3 ? 0 : 1) << "the backward's result";
  }
  EXPECT_EQ(backward.graphs->counters().captures, 1u);
  EXPECT_EQ(forward.graphs->counters().keptBytes, 0u);
}

TEST_F(KeptResultsTest, AForwardWhoseBackwardIsToComeRunsWithoutItsGraph) {
  Forward forward(pool);
  Backward backward(pool);
  HostTensor *w = forward.weight({1, 2}), *v = backward.weight({5, 5});
  for (int turn = 0; turn < 8; ++turn) {
    auto start = static_cast<float>(turn);
    HostTensor *first = forward.forward({start, 1}, w), *second = forward.forward({start, 7}, w),
               *third = forward.forward({start, 8}, w);
    EXPECT_EQ(Graphs::valuesOf(first), keptOf({start, 1}, {1, 2}));
    EXPECT_EQ(Graphs::valuesOf(second), keptOf({start, 7}, {1, 2}));
    for (HostTensor *kept : {third, first, second}) {
      backward.backward(forward, kept, v);
    }
  }
  GraphCounters counters = forward.graphs->counters();
  EXPECT_EQ(counters.captures, 1u);
  EXPECT_EQ(counters.replays, 8u) << "one a turn";
  EXPECT_EQ(
      counters.notCaptured,
      (Reasons{{"its backward, or somebody else, still has what it kept in an earlier call", 14}}));
}

TEST_F(KeptResultsTest, AGraphThatSharedTheirMemoryIsMadeAnewBesideThem) {
  Operators before(withOperators(), {}, pool), after(withOperators(), {}, pool);
  Forward forward(pool);
  HostTensor *w = forward.weight({1, 2}), *u = before.weight({3, 4}), *v = after.weight({3, 4});
  auto run = [&](Operators &session, HostTensor *weight) {
    EXPECT_EQ(session.run({1, 2}, weight), expectedTwice({1, 2}, {3, 4}));
    before.torch.fillWithJunk(); // its pool is shared by all
  };
  for (int turn = 0; turn < 3; ++turn) {
    run(before, u);
  }
  for (int turn = 0; turn < 2; ++turn) {
    forward.host().releaseTensor(forward.forward({1, 1}, w));
  }
  for (int turn = 0; turn < 3; ++turn) {
    run(after, v);
  }
  HostTensor *kept = forward.forward({5, 6}, w);
  for (int turn = 0; turn < 4; ++turn) {
    run(before, u);
    run(after, v);
    EXPECT_EQ(Graphs::valuesOf(kept), keptOf({5, 6}, {1, 2})) << turn;
  }
  EXPECT_EQ(before.graphs->counters().captures, 2u)
      << "its memory was decided about before the forward's";
  EXPECT_EQ(before.graphs->counters().evictions, 1u);
  EXPECT_EQ(before.graphs->counters().replays, 4u);
  EXPECT_EQ(after.graphs->counters().captures, 1u);
  forward.host().releaseTensor(kept);
}

TEST_F(KeptResultsTest, ResultsOutliveTheirGraph) {
  for (bool othersStay : {false, true}) {
    Operators other(withOperators(), {}, pool), third(withOperators(), {}, pool);
    HostTensor *u = other.weight({3, 4}), *v = third.weight({3, 4});
    for (int turn = 0; turn < 3; ++turn) {
      other.run({1, 2}, u);
    }
    auto forward = std::make_unique<Forward>(pool);
    HostTensor *w = forward->weight({1, 2});
    for (int turn = 0; turn < 2; ++turn) {
      forward->host().releaseTensor(forward->forward({1, 1}, w));
    }
    for (int turn = 0; turn < (othersStay ? 3 : 0); ++turn) {
      third.run({1, 2}, v);
    }
    HostTensor *kept = forward->forward({5, 6}, w);
    ++other.host().held;
    forward.reset();
    for (int turn = 0; turn < 4; ++turn) {
      EXPECT_EQ(other.run({1, 2}, u), expectedTwice({1, 2}, {3, 4}));
      EXPECT_EQ(Graphs::valuesOf(kept), keptOf({5, 6}, {1, 2})) << turn;
    }
    EXPECT_EQ(other.graphs->counters().captures, 2u);
    other.host().releaseTensor(kept);
  }
}

TEST_F(KeptResultsTest, WhatTheUserSeesTooIsCopied) {
  Forward forward(pool, true);
  HostTensor *w = forward.weight({1, 2});
  std::vector<HostTensor *> seen;
  for (int turn = 0; turn < 6; ++turn) {
    auto value = static_cast<float>(turn);
    OutputValue outputs[3];
    ASSERT_TRUE(forward.callInto(newTensor({value, value}), w, outputs).isOk());
    forward.torch.fillWithJunk();
    EXPECT_EQ(outputs[1].handle, outputs[2].handle) << "result 2 is the user's";
    forward.host().releaseTensor(outputs[0].handle);
    forward.host().releaseTensor(outputs[1].handle);
    seen.push_back(static_cast<HostTensor *>(outputs[2].handle));
  }
  for (size_t turn = 0; turn < seen.size(); ++turn) {
    auto value = static_cast<float>(turn);
    EXPECT_EQ(Graphs::valuesOf(seen[turn]), keptOf({value, value}, {1, 2}));
    forward.host().releaseTensor(seen[turn]);
  }
  EXPECT_EQ(forward.graphs->counters().replays, 4u);
  EXPECT_EQ(forward.graphs->counters().keptBytes, 0u);
}

TEST_F(KeptResultsTest, HooksThatGetThemKeepTheCallFromItsGraph) {
  Forward forward(pool);
  HostTensor *w = forward.weight({1, 2});
  for (int turn = 0; turn < 9; ++turn) {
    forward.host().showsKept = turn >= 5;
    forward.host().releaseTensor(forward.forward({1, static_cast<float>(turn)}, w));
  }
  EXPECT_EQ(forward.graphs->counters().replays, 3u);
  EXPECT_EQ(forward.graphs->counters().notCaptured,
            (Reasons{{"saved_tensors_hooks get what it keeps for its backward", 4}}));
}

TEST_F(KeptResultsTest, FewGraphsMayHoldMemory) {
  Forward forward(pool);
  for (int round = 0; round < 2; ++round) {
    for (size_t size = 1; size <= 6; ++size) {
      HostTensor *w = forward.weight(Values(size, 1));
      for (int turn = 0; turn < 4; ++turn) {
        forward.host().releaseTensor(forward.forward(Values(size, 2), w));
      }
      EXPECT_LE(fake.liveGraphs, 4);
    }
  }
  GraphCounters counters = forward.graphs->counters();
  EXPECT_EQ(counters.captures, 12u);
  EXPECT_EQ(counters.evictions, 8u);
  EXPECT_EQ(counters.keptBytes, 4u * (3 + 4 + 5 + 6));
}

TEST_F(KeptResultsTest, MemoryOfTheCallBeforeIsGivenBackForThem) {
  for (bool isLasting : {false, true}) {
    SetUp();
    Forward forward(std::make_shared<GraphPool>(blocks()));
    HostTensor *w = forward.weight({1, 2});
    forward.host().releaseTensor(forward.forward({1, 1}, w));
    int tries = 0;
    auto operation = forward.host().aten;
    forward.host().aten = [&](DeviceHost &host, uint32_t number, RunState &state) {
      bool fails = isCaptured(host.stream) && number == 1 && (isLasting || tries == 0);
      tries += fails;
      return fails ? Status::error(ErrorKind::OutOfMemory, "CUDA out of memory")
                   : operation(host, number, state);
    };
    for (int turn = 0; turn < 5; ++turn) {
      forward.host().releaseTensor(forward.forward({1, 1}, w));
    }
    EXPECT_EQ(tries, isLasting ? 2 : 1)
        << "a training step's memory will not be there the next time either";
    EXPECT_EQ(forward.host().releases.load(), 1);
    EXPECT_EQ(forward.graphs->counters().replays, isLasting ? 0u : 4u);
    EXPECT_EQ(forward.graphs->counters().keptBytes, isLasting ? 0u : 8u);
    EXPECT_EQ(forward.reasons(), isLasting ? (Reasons{{"CUDA out of memory", 5}}) : Reasons{});
  }
}

} // namespace
