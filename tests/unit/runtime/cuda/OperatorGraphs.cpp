// CUDA graphs of calls with operators of torch.

#include "tests/unit/runtime/cuda/OperatorSession.h"

#include <sys/wait.h>
#include <unistd.h>

using namespace fakecuda;

namespace {

struct OperatorGraphsTest : CudaGraphsTest {};

TEST_F(OperatorGraphsTest, TheSecondCallIsCapturedBehindItselfAndLaterOnesReplayed) {
  Operators session;
  HostTensor *w = session.weight({10, 20, 30});
  for (int turn = 0; turn < 50; ++turn) {
    auto start = static_cast<float>(turn);
    EXPECT_EQ(session.run({start, 1, 2}, w), expectedTwice({start, 1, 2}, {10, 20, 30}));
    EXPECT_EQ(count("graph"), std::max(turn - 1, 0));
  }
  EXPECT_EQ(count("launch"), 6) << "two calls ran as they are";
  EXPECT_EQ(count("operator"), 4);
  EXPECT_EQ(count("record operator"), 2);
  EXPECT_EQ(count("begin 1"), 1);
  EXPECT_EQ(count("copy 12"), 96) << "the argument in and the result out, of 48 calls";
  EXPECT_EQ(fake.stream, reinterpret_cast<void *>(0x77)) << "on the caller's stream";
  GraphCounters counters = session.graphs->counters();
  EXPECT_EQ(counters.captures, 1u);
  EXPECT_EQ(counters.replays, 48u);
  EXPECT_TRUE(counters.notCaptured.empty());
  EXPECT_EQ(session.executor->counters().calls.load(), 2u) << "what was only captured is no call";
  EXPECT_EQ(session.host().held.load(), 1) << "only the weight";
  EXPECT_EQ(session.torch.replays, 0) << "the driver launches what draws no random numbers";
}

TEST_F(OperatorGraphsTest, OperatorsResultsCanBeKept) {
  Operators session;
  HostTensor *w = session.weight({1, 1});
  std::vector<HostTensor *> kept;
  for (int turn = 0; turn < 6; ++turn) {
    kept.push_back(*session.keep({static_cast<float>(turn), 100}, w));
    session.torch.fillWithJunk();
  }
  for (size_t turn = 0; turn < kept.size(); ++turn) {
    EXPECT_EQ(Graphs::valuesOf(kept[turn]), (Values{static_cast<float>(4 * turn + 7), 407}));
    session.host().releaseTensor(kept[turn]);
  }
}

TEST_F(OperatorGraphsTest, OperatorsStaticArgumentsAreReadWhereTheyLie) {
  Operators session;
  HostTensor *w = session.weight({1, 1}), *moved = session.weight({2, 2});
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_EQ(session.run({0, 1}, w), (Values{7, 11}));
  }
  reinterpret_cast<float *>(w->data)[0] = 3; // an optimizer's step
  EXPECT_EQ(session.run({0, 1}, w), (Values{21, 11}));
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(session.run({0, 1}, moved), (Values{14, 18})) << "another parameter is another graph";
  }
  EXPECT_EQ(session.graphs->counters().captures, 2u);
}

TEST_F(OperatorGraphsTest, EverySizeHasItsGraphTheirNumberIsBoundedAndTheirMemoryShared) {
  auto pool = std::make_shared<GraphPool>(blocks());
  Operators session(withOperators(), {}, pool), other(withOperators(), {}, pool);
  session.graphs->setMostGraphs(2);
  for (int round = 0; round < 2; ++round) {
    for (size_t size : {1, 2, 3}) {
      HostTensor *w = session.weight(Values(size, 1));
      for (int turn = 0; turn < 4; ++turn) {
        EXPECT_EQ(session.run(Values(size, 2), w), Values(size, 15)) << size;
      }
    }
  }
  EXPECT_EQ(session.graphs->counters().captures, 6u);
  EXPECT_EQ(session.graphs->counters().evictions, 4u);
  EXPECT_EQ(fake.liveGraphs, 2);
  EXPECT_EQ(session.torch.memory.size(), 1u);
  EXPECT_EQ(session.graphs->counters().exact,
            (std::map<std::string, uint64_t>{{"it calls aten::mm", 6}}));
  EXPECT_EQ(session.graphs->counters().updates, 0u);
  HostTensor *w = other.weight({1});
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(other.run({2}, w), Values{15});
  }
  EXPECT_EQ(other.torch.memory.size(), 0u) << "another plan on the same stream has the same memory";
  EXPECT_EQ(poolBlocks.load(), 0) << "all of it is torch's";
}

TEST_F(OperatorGraphsTest, StaticArgumentsAreWrittenOnceACall) {
  Operators session(changed(withOperators(), addWriteBack));
  HostTensor *w = session.weight({1, 2});
  Values state = {1, 2};
  for (int turn = 0; turn < 6; ++turn) {
    state = expectedTwice({1, 1}, state);
    EXPECT_EQ(session.run({1, 1}, w), state)
        << "the second call was captured behind itself, and wrote once";
    EXPECT_EQ(Graphs::valuesOf(w), state);
  }
  EXPECT_EQ(session.graphs->counters().replays, 4u);
  EXPECT_EQ(session.host().bumps.load(), 4) << "the version counter, once a replay";
}

TEST_F(OperatorGraphsTest, RandomNumbersAreLaunchedByTorch) {
  Operators session(withOperators("aten::native_dropout"), {"", true});
  HostTensor *w = session.weight({1, 1});
  for (int turn = 0; turn < 5; ++turn) {
    EXPECT_EQ(session.run({1, 2}, w), expectedTwice({1, 2}, {1, 1}));
  }
  EXPECT_EQ(session.torch.replays, 3);
  EXPECT_EQ(session.graphs->counters().replays, 3u);
  fake.graphCode = 700;
  EXPECT_EQ(session.call({1, 2}, w).status().message(), "torch cannot");
  EXPECT_EQ(session.host().held.load(), 1);
}

/// The operators' plan with the results r4, the operator's result r3, r3 from its second element
/// on, r3 again, w from its second element on, and x.
std::string lookingAround() {
  return changed(withOperators(), [](format::PlanT &plan) {
    uint32_t one = 0, s0 = plan.symbols[0]->reg, w = plan.inputs[1]->reg, r4 = plan.outputs[0]->reg,
             r3 = r4 - 1;
    uint32_t less = plan.int_count++;
    plan.programs[0]->code.emplace_back(format::Op::Sub, less, s0, one, 0u);
    std::erase_if(plan.steps, [&](auto &step) {
      return step->action.AsFree() && step->action.AsFree()->tensor == r3;
    });
    uint32_t ofR3 = addView(plan, r4, r3, one, less), ofW = addView(plan, r4, w, one, less);
    for (auto [kind, reg] : {std::pair(format::OutputKind::Tensor, r3),
                             {format::OutputKind::Tensor, ofR3},
                             {format::OutputKind::Tensor, r3},
                             {format::OutputKind::Tensor, ofW},
                             {format::OutputKind::Input, 0u},
                             {format::OutputKind::IntTensor, s0}}) {
      addOutput(plan, kind, reg);
    }
  });
}

TEST_F(OperatorGraphsTest, OperatorsResultsShareMemoryAsWithoutGraphs) {
  Operators session(lookingAround());
  HostTensor *w = session.weight({1, 2, 3});
  for (int turn = 0; turn < 4; ++turn) {
    auto value = static_cast<float>(turn);
    HostTensor *x = newTensor({value, value, value});
    OutputValue outputs[7];
    Status status = session.callInto(x, w, outputs);
    ASSERT_TRUE(status.isOk()) << status.message();
    session.torch.fillWithJunk();
    auto tensor = [&](int number) { return static_cast<HostTensor *>(outputs[number].handle); };
    EXPECT_EQ(Graphs::valuesOf(tensor(0)), expectedTwice({value, value, value}, {1, 2, 3}));
    EXPECT_EQ(Graphs::valuesOf(tensor(1)), (Values{4 * value + 6, 4 * value + 12, 4 * value + 18}));
    EXPECT_NE(tensor(1)->storage, tensor(0)->storage);
    EXPECT_EQ(tensor(2)->data, tensor(1)->data + 4);
    EXPECT_EQ(tensor(2)->sizes, std::vector<int64_t>{2});
    EXPECT_EQ(tensor(2)->storage, tensor(1)->storage);
    EXPECT_EQ(tensor(3), tensor(1));
    EXPECT_EQ(tensor(4)->data, w->data + 4);
    EXPECT_EQ(tensor(4)->storage, w->storage);
    EXPECT_EQ(tensor(5), x);
    EXPECT_EQ(*reinterpret_cast<int64_t *>(tensor(6)->data), 3);
    for (OutputValue &output : outputs) {
      session.host().releaseTensor(output.handle);
    }
    EXPECT_EQ(session.host().held.load(), 1);
  }
  EXPECT_EQ(session.graphs->counters().replays, 2u);
}

TEST_F(OperatorGraphsTest, AnOperatorThatBreaksACaptureLosesNothing) {
  for (uint32_t where : {0, 1}) {
    SetUp();
    Operators session;
    session.breaksAt = where;
    HostTensor *w = session.weight({1, 1});
    for (int turn = 0; turn < 4; ++turn) {
      EXPECT_EQ(session.run({1, 2}, w), expectedTwice({1, 2}, {1, 1}));
    }
    EXPECT_FALSE(session.torch.isUnderway)
        << "torch ended its capture without an error, or its allocator would be lost";
    EXPECT_FALSE(fake.isInvalid);
    EXPECT_EQ(count("begin 1"), 2) << "the broken one, and an empty one in its place";
    EXPECT_EQ(session.reasons(),
              (std::map<std::string, uint64_t>{
                  {"CUDA error: operation not permitted when stream is capturing", 3}}));
    EXPECT_EQ(fake.liveGraphs, 0);
    EXPECT_EQ(session.host().held.load(), 1);
    HostTensor *v = session.weight({1});
    session.breaksAt = 99;
    for (int turn = 0; turn < 3; ++turn) {
      EXPECT_EQ(session.run({1}, v), Values{11});
    }
    EXPECT_EQ(session.graphs->counters().captures, 1u) << "other sizes are tried";
  }
}

TEST_F(OperatorGraphsTest, ACaptureThatCannotBeginOrEndLosesNothing) {
  auto check = [&](auto spoil, const std::string &why) {
    SetUp();
    Operators session;
    HostTensor *w = session.weight({1, 1});
    spoil(session);
    for (int turn = 0; turn < 3; ++turn) {
      EXPECT_EQ(session.run({1, 2}, w), expectedTwice({1, 2}, {1, 1}));
    }
    EXPECT_EQ(session.reasons(), (std::map<std::string, uint64_t>{{why, 2}}));
    EXPECT_EQ(count("launch"), 9);
    EXPECT_EQ(session.host().held.load(), 1);
  };
  check([](Operators &session) { session.torch.openFails = true; }, "no stream");
  check([](Operators &session) { session.torch.doesNotCapture = true; },
        "torch does not capture its current stream");
  check([](Operators &) { fake.beginCode = 900; }, "cannot begin");
}

TEST_F(OperatorGraphsTest, OperatorsNoMemoryAtTheKthRequestForAllK) {
  Operators session;
  int whole = 0, captured = 0;
  for (int failAt = 0; failAt < 30; ++failAt) {
    size_t size = static_cast<size_t>(failAt) + 1;
    HostTensor *w = session.weight(Values(size, 1));
    EXPECT_EQ(session.run(Values(size, 1), w), Values(size, 11));
    session.host().requests = 0;
    session.host().failAt = failAt;
    auto result = session.call(Values(size, 1), w); // runs, then is captured
    bool failed = session.host().requests > failAt;
    session.host().failAt = -1;
    if (!result.isOk()) {
      EXPECT_EQ(result.status().kind(), ErrorKind::OutOfMemory);
      ++whole;
    } else {
      EXPECT_EQ(*result, Values(size, 11));
      captured += failed;
    }
    EXPECT_EQ(session.host().held.load(), failAt + 1);
    for (int turn = 0; turn < 2; ++turn) {
      EXPECT_EQ(session.run(Values(size, 1), w), Values(size, 11)) << failAt;
    }
  }
  EXPECT_GT(whole, 5) << "of the call itself";
  EXPECT_GT(captured, 5) << "of the capture";
  EXPECT_EQ(session.graphs->counters().captures, 30u)
      << "memory that was missing once may be there the next time";
  uint64_t counted = 0;
  for (const auto &[why, calls] : session.reasons()) {
    EXPECT_NE(why.find("out of memory"), std::string::npos) << why;
    counted += calls;
  }
  EXPECT_EQ(counted, static_cast<uint64_t>(captured));
}

TEST_F(OperatorGraphsTest, OperatorsNoMemoryForAResultDropsTheGraphsAndRunsWithout) {
  Operators session;
  HostTensor *w = session.weight({1, 1});
  for (int turn = 0; turn < 3; ++turn) {
    session.run({1, 2}, w);
  }
  session.host().requests = 0;
  session.host().failAt = 0;
  EXPECT_EQ(session.run({1, 2}, w), expectedTwice({1, 2}, {1, 1}));
  EXPECT_EQ(fake.liveGraphs, 0);
  EXPECT_EQ(session.graphs->counters().evictions, 1u);
}

TEST_F(OperatorGraphsTest, OperatorsWhatIsNotCapturedIsCountedWithItsReason) {
  auto reasonOf = [](Operators &session) {
    HostTensor *w = session.weight({1, 1});
    for (int turn = 0; turn < 3; ++turn) {
      EXPECT_EQ(session.run({1, 2}, w), expectedTwice({1, 2}, {1, 1}));
    }
    EXPECT_EQ(session.graphs->counters().captures, 0u);
    auto reasons = session.reasons();
    EXPECT_EQ(reasons.size(), 1u);
    EXPECT_EQ(reasons.begin()->second, 3u);
    EXPECT_EQ(session.torch.memory.size(), 0u);
    return reasons.begin()->first;
  };
  {
    Operators session(withOperators(), {"it has a Python step, frit_callback::f_0", false});
    EXPECT_EQ(reasonOf(session), "it has a Python step, frit_callback::f_0");
    EXPECT_EQ(
        session.host().notes.front(),
        "graph 'chain' is not captured in a CUDA graph: it has a Python step, frit_callback::f_0");
  }
  {
    format::ArtifactT artifact;
    std::string bytes = withOperators("aten::nonzero");
    auto read =
        *Artifact::fromBytes({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
    read->root().UnPackTo(&artifact);
    format::PlanT &plan = *artifact.plans[0];
    auto step = std::make_unique<format::StepT>();
    format::DimT dim;
    dim.tensor = plan.outputs[0]->reg;
    dim.dst = plan.int_count++;
    step->action.Set(dim);
    plan.steps.push_back(std::move(step));
    Operators session(packArtifact(artifact));
    EXPECT_EQ(reasonOf(session), "a size of a result is known only when it is there");
  }
  {
    Operators session;
    session.make(true, nullptr);
    EXPECT_EQ(reasonOf(session),
              "it calls aten::mm and 1 other operators, which take memory of their own")
        << "where nobody captures them";
  }
}

TEST_F(OperatorGraphsTest, OperatorsOnTheCpuAreNotCaptured) {
  Operators session(changed(withOperators(), [](format::PlanT &plan) {
    plan.tensors[plan.outputs[0]->reg - 1]->device = format::Device::Cpu;
  }));
  static_cast<void>(session.call({1, 2}, session.weight({1, 1})));
  EXPECT_EQ(session.reasons().begin()->first, "it calls aten::mm on the CPU");
}

TEST_F(OperatorGraphsTest, OperatorsThreadsGetTheirOwnResults) {
  Operators session;
  HostTensor *w = session.weight({1, 2, 3});
  std::atomic<int> wrong{0};
  // The fake of torch has one current stream for all threads, so the capture comes first.
  session.run({1, 1, 1}, w);
  session.run({1, 1, 1}, w);
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; ++number) {
    threads.emplace_back([&, number] {
      for (int turn = 0; turn < 100; ++turn) {
        auto value = static_cast<float>(number * 1000 + turn);
        auto result = session.call({value, value, value}, w);
        wrong += !result.isOk() || *result != expectedTwice({value, value, value}, {1, 2, 3});
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(session.graphs->counters().replays, 800u);
}

TEST_F(OperatorGraphsTest, ForkedChildrenLeaveGraphsAlone) {
  Operators session;
  HostTensor *w = session.weight({1, 1});
  session.run({1, 2}, w);
  session.run({1, 2}, w);
  pid_t child = fork();
  if (child == 0) {
    ::alarm(20);
    auto result = session.call({1, 2}, w);
    bool told = !result.isOk() && result.status().message().find("forked") != std::string::npos;
    session.graphs.reset();
    _exit(told && count("destroy") == 0 ? 0 : 1);
  }
  int code = -1;
  waitpid(child, &code, 0);
  EXPECT_EQ(code, 0);
}

} // namespace
