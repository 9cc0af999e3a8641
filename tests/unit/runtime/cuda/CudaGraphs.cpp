// Calls as CUDA graphs, with a driver that records launches while a stream is captured and runs
// them when the graph is launched. Results with graphs equal those without, whatever is held,
// moved, resized or fails in between.

#include "tests/unit/runtime/cuda/GraphSession.h"

#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fakecuda;

namespace {

TEST_F(CudaGraphsTest, TheSecondCallIsCapturedAndAHundredAreReplayed) {
  Graphs session(chainOf(5));
  HostTensor *w = session.weight({10, 20, 30});
  ASSERT_EQ(*session.call({1, 2, 3}, w), (Values{51, 102, 153}));
  EXPECT_EQ(count("launch"), 5);
  EXPECT_EQ(count("begin"), 0);
  for (int turn = 0; turn < 100; ++turn) {
    auto start = static_cast<float>(turn);
    auto result = session.call({start, start + 1, start + 2}, w);
    ASSERT_TRUE(result.isOk()) << result.status().message();
    EXPECT_EQ(*result, expected({start, start + 1, start + 2}, {10, 20, 30}));
  }
  EXPECT_EQ(count("launch"), 5);
  EXPECT_EQ(count("begin 1"), 1);
  EXPECT_EQ(count("record"), 5);
  EXPECT_EQ(count("graph"), 100);
  // Copies of the argument and of the result, but not of the static argument.
  EXPECT_EQ(count("copy 12"), 200);
  EXPECT_EQ(count("copy"), 200);
  EXPECT_EQ(fake.stream, reinterpret_cast<void *>(0x77)) << "on the caller's stream";
  GraphCounters counters = session.graphs->counters();
  EXPECT_EQ(counters.captures, 1u);
  EXPECT_EQ(counters.replays, 100u);
  EXPECT_EQ(counters.evictions, 0u);
  EXPECT_TRUE(counters.notCaptured.empty());
  EXPECT_EQ(session.host().held.load(), 1) << "only the weight";
}

TEST_F(CudaGraphsTest, NothingIsAllocatedButTheResultOnceCaptured) {
  Graphs session(chainOf(5));
  HostTensor *w = session.weight({1, 1});
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_TRUE(session.call({1, 2}, w).isOk());
  }
  int requests = session.host().requests, taken = poolRequests;
  fake.log.clear();
  ASSERT_TRUE(session.call({1, 2}, w).isOk());
  EXPECT_EQ(session.host().requests, requests + 1);
  EXPECT_EQ(poolRequests.load(), taken);
  EXPECT_EQ(fake.log, (std::vector<std::string>{"copy 8", "graph", "copy 8"}));
}

TEST_F(CudaGraphsTest, ResultsCanBeKept) {
  Graphs session(chainOf(5));
  HostTensor *w = session.weight({1, 1});
  std::vector<HostTensor *> kept;
  for (int turn = 0; turn < 6; ++turn) {
    kept.push_back(*session.keep({static_cast<float>(turn), 100}, w));
  }
  for (size_t turn = 0; turn < kept.size(); ++turn) {
    EXPECT_EQ(Graphs::valuesOf(kept[turn]), (Values{static_cast<float>(turn) + 5, 105}));
    for (size_t other = 0; other < turn; ++other) {
      EXPECT_NE(kept[turn]->data, kept[other]->data);
    }
  }
  for (HostTensor *tensor : kept) {
    session.host().releaseTensor(tensor);
  }
}

TEST_F(CudaGraphsTest, StaticArgumentsAreReadWhereTheyLie) {
  Graphs session(chainOf(5));
  HostTensor *w = session.weight({1, 1}), *moved = session.weight({7, 7});
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(*session.call({0, 1}, w), (Values{5, 6}));
  }
  reinterpret_cast<float *>(w->data)[0] = 2; // an optimizer's step
  EXPECT_EQ(*session.call({0, 1}, w), (Values{10, 6}));
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(*session.call({0, 1}, moved), (Values{35, 36}))
        << "another parameter is another graph";
  }
  EXPECT_EQ(session.graphs->counters().captures, 2u);
}

TEST_F(CudaGraphsTest, ArgumentsThatAreNotStaticAreCopied) {
  Graphs session(chainOf(5), std::make_shared<GraphPool>(blocks()), false);
  for (int turn = 0; turn < 4; ++turn) {
    auto value = static_cast<float>(turn);
    EXPECT_EQ(*session.call({0, 1}, session.weight({value, value})),
              (Values{5 * value, 5 * value + 1}));
  }
  EXPECT_EQ(session.graphs->counters().replays, 3u);
}

TEST_F(CudaGraphsTest, EverySizeHasItsGraphAndTheirNumberIsBounded) {
  Graphs session(chainOf(5));
  session.graphs->setMostGraphs(2);
  std::map<size_t, HostTensor *> weights;
  for (size_t size : {1, 2, 3, 300}) {
    weights[size] = session.weight(Values(size, 1));
  }
  auto run = [&](size_t size) {
    EXPECT_EQ(*session.call(Values(size, 2), weights[size]), Values(size, 7)) << size;
  };
  for (size_t size : {1, 1, 2, 2, 1, 1, 3, 3}) {
    run(size);
  }
  EXPECT_EQ(session.graphs->counters().captures, 3u);
  EXPECT_EQ(session.graphs->counters().evictions, 1u);
  run(1); // used after 2, so it is still cached
  EXPECT_EQ(session.graphs->counters().captures, 3u);
  run(2); // a new key again
  run(2);
  EXPECT_EQ(session.graphs->counters().captures, 4u);
  EXPECT_EQ(session.graphs->counters().evictions, 2u);
  EXPECT_EQ(count("destroy graph"), 2);
  EXPECT_EQ(fake.liveGraphs, 4) << "two, each with the one it was made from";
  for (int turn = 0; turn < 10; ++turn) {
    for (size_t size : {1, 1, 2, 2, 3, 3, 300, 300}) {
      run(size);
    }
  }
  ASSERT_EQ(session.reasons().size(), 1u);
  EXPECT_NE(session.reasons().begin()->first.find("its calls differ too often: "),
            std::string::npos);
}

TEST_F(CudaGraphsTest, GraphsOfOneStreamShareTheirMemory) {
  auto pool = std::make_shared<GraphPool>(blocks());
  {
    Graphs first(chainOf(5), pool), second(chainOf(8), pool);
    HostTensor *w = first.weight(Values(1000, 1)), *v = second.weight(Values(1000, 2));
    auto run = [&](float x) {
      EXPECT_EQ(*first.call(Values(1000, x), w), Values(1000, x + 5));
      EXPECT_EQ(*second.call(Values(1000, x), v), Values(1000, x + 16));
    };
    run(1);
    run(2);
    int together = poolBlocks;
    EXPECT_LE(together, 5)
        << "an argument, an arena, a temporary, a workspace and a result, for both";
    for (float x : {3, 4, 5}) {
      run(x);
    }
    first.host().stream = reinterpret_cast<void *>(0x88);
    EXPECT_EQ(*first.call(Values(1000, 1), w), Values(1000, 6));
    EXPECT_EQ(*first.call(Values(1000, 1), w), Values(1000, 6));
    EXPECT_GT(poolBlocks, together) << "another stream runs beside and has its own";
    EXPECT_EQ(first.graphs->counters().captures, 2u);
  }
  EXPECT_EQ(poolBlocks.load(), 0);
}

/// y = x + w + ..., and as further results: y from its second element on, x itself, w from its
/// second element on, and the size.
std::string manyResults() {
  return changed(chainOf(5), [](format::PlanT &plan) {
    uint32_t s0 = plan.symbols[0]->reg, one = 0, y = plan.outputs[0]->reg, w = plan.inputs[1]->reg;
    uint32_t less = plan.int_count++;
    plan.programs[0]->code.emplace_back(format::Op::Sub, less, s0, one, 0u);
    uint32_t ofY = addView(plan, y, y, one, less), ofW = addView(plan, y, w, one, less);
    addOutput(plan, format::OutputKind::Tensor, ofY);
    addOutput(plan, format::OutputKind::Input, 0);
    addOutput(plan, format::OutputKind::Tensor, ofW);
    addOutput(plan, format::OutputKind::Int, s0);
    addOutput(plan, format::OutputKind::IntTensor, s0);
    addOutput(plan, format::OutputKind::None, 0);
  });
}

TEST_F(CudaGraphsTest, ResultsShareMemoryAsWithoutGraphs) {
  Graphs session(manyResults());
  HostTensor *w = session.weight({1, 2, 3});
  for (int turn = 0; turn < 4; ++turn) {
    auto value = static_cast<float>(turn);
    HostTensor *x = newTensor({value, value, value});
    OutputValue outputs[7];
    Status status = session.callInto(x, w, outputs);
    ASSERT_TRUE(status.isOk()) << status.message();
    auto tensor = [&](int number) { return static_cast<HostTensor *>(outputs[number].handle); };
    EXPECT_EQ(Graphs::valuesOf(tensor(0)), (Values{value + 5, value + 10, value + 15}));
    EXPECT_EQ(tensor(1)->data, tensor(0)->data + 4);
    EXPECT_EQ(tensor(1)->sizes, std::vector<int64_t>{2});
    EXPECT_EQ(tensor(1)->storage, tensor(0)->storage);
    EXPECT_EQ(tensor(2), x);
    EXPECT_EQ(tensor(3)->data, w->data + 4);
    EXPECT_EQ(outputs[4].kind, OutputValue::Kind::Int);
    EXPECT_EQ(outputs[4].integer, 3);
    EXPECT_EQ(*reinterpret_cast<int64_t *>(tensor(5)->data), 3);
    EXPECT_EQ(outputs[6].kind, OutputValue::Kind::None);
    for (OutputValue &output : outputs) {
      if (output.handle) {
        session.host().releaseTensor(output.handle);
      }
    }
    EXPECT_EQ(session.host().held.load(), 1);
  }
  EXPECT_EQ(session.graphs->counters().replays, 3u);
}

/// The chain, whose last step writes its values into w.
std::string updating() { return changed(chainOf(5), addWriteBack); }

TEST_F(CudaGraphsTest, StaticArgumentsAreWrittenInPlace) {
  Graphs session(updating());
  HostTensor *w = session.weight({1, 2});
  Values state = {1, 2};
  for (int turn = 0; turn < 5; ++turn) {
    state = expected({1, 1}, state);
    EXPECT_EQ(*session.call({1, 1}, w), state);
    EXPECT_EQ(Graphs::valuesOf(w), state);
  }
  EXPECT_EQ(session.graphs->counters().replays, 4u);
  EXPECT_EQ(session.host().bumps.load(), 4) << "the version counter, once a replay";
}

TEST_F(CudaGraphsTest, WhatIsNotCapturedIsCountedWithItsReason) {
  auto reasonOf = [](Graphs &session, int calls = 3) {
    HostTensor *w = session.weight({1, 1});
    for (int turn = 0; turn < calls; ++turn) {
      auto result = session.call({0, 0}, w);
      EXPECT_TRUE(result.isOk()) << result.status().message();
    }
    EXPECT_EQ(session.graphs->counters().captures, 0u);
    auto reasons = session.reasons();
    EXPECT_EQ(reasons.size(), 1u);
    return reasons.empty() ? std::pair<std::string, uint64_t>()
                           : std::pair(reasons.begin()->first, reasons.begin()->second);
  };
  {
    Graphs session(chainOf(3));
    EXPECT_EQ(reasonOf(session),
              (std::pair<std::string, uint64_t>("it launches 3 kernels, fewer than 4", 3)));
    ASSERT_EQ(session.host().notes.size(), 2u) << "said once";
    EXPECT_EQ(session.host().notes[0],
              "graph 'chain' is not captured in a CUDA graph: it launches 3 kernels, fewer than 4");
    EXPECT_EQ(poolRequests.load(), 0);
  }
  {
    Graphs session(updating(), std::make_shared<GraphPool>(blocks()), false);
    EXPECT_EQ(reasonOf(session),
              (std::pair<std::string, uint64_t>(
                  "it writes to input 1 ('w'), which is no parameter or buffer", 3)));
  }
  {
    Graphs session(chainOf(5));
    fake.capturing = 0;
    HostTensor *w = session.weight({1, 1});
    EXPECT_TRUE(session.call({0, 0}, w).isOk());
    fake.capturing = 1;
    EXPECT_EQ(reasonOf(session).first, "the caller captures the stream already");
    fake.capturing = 0;
  }
  {
    Graphs session(chainOf(5));
    HostTensor *w = session.weight(Values(4 << 20, 1));
    for (int turn = 0; turn < 2; ++turn) {
      EXPECT_TRUE(session.call(Values(4 << 20, 1), w).isOk());
    }
    EXPECT_EQ(session.reasons().begin()->first, "it would copy 32 MiB to save 5 launches");
  }
}

TEST_F(CudaGraphsTest, ACallOfAnOperatorIsNamed) {
  std::string bytes = changed(chainOf(5), [](format::PlanT &plan) {
    for (int number = 0; number < 2; ++number) {
      format::AtenT call;
      call.name = "aten::mm";
      addStep(plan, std::move(call));
    }
  });
  Graphs session(bytes, std::make_shared<GraphPool>(blocks()));
  EXPECT_FALSE(session.call({0, 0}, session.weight({1, 1})).isOk())
      << "this host has no dispatcher";
  EXPECT_EQ(session.reasons().begin()->first,
            "it calls aten::mm and 1 other operators, which take memory of their own");
}

TEST_F(CudaGraphsTest, NoMemoryAtTheKthRequestForAllK) {
  Graphs session(chainOf(5));
  int most = 0;
  for (int failAt = 0; failAt < 30; ++failAt) {
    // Each round runs a new size, captures it, and runs it again.
    size_t size = static_cast<size_t>(failAt) + 2000 * static_cast<size_t>(failAt + 1);
    HostTensor *w = session.weight(Values(size, 1));
    poolRequests = 0;
    poolFailAt = failAt;
    for (int turn = 0; turn < 3; ++turn) {
      auto result = session.call(Values(size, 1), w);
      ASSERT_TRUE(result.isOk()) << result.status().message();
      EXPECT_EQ(*result, Values(size, 6)) << failAt;
    }
    most = std::max(most, poolRequests.load());
    EXPECT_EQ(session.host().held.load(), failAt + 1);
  }
  EXPECT_GT(most, 3);
  EXPECT_EQ(session.graphs->counters().captures, 30u)
      << "memory that was missing once may be there the next time";
  EXPECT_GE(session.graphs->counters().notCaptured.size(), 2u);
}

TEST_F(CudaGraphsTest, NoMemoryForAResultDropsTheGraphsAndRunsWithout) {
  Graphs session(chainOf(5));
  HostTensor *w = session.weight({1, 1});
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_TRUE(session.call({1, 2}, w).isOk());
  }
  session.host().requests = 0;
  session.host().failAt = 0;
  EXPECT_EQ(*session.call({1, 2}, w), (Values{6, 7}));
  EXPECT_EQ(poolBlocks.load(), 0);
  EXPECT_EQ(session.graphs->counters().evictions, 1u);
  EXPECT_EQ(session.reasons().begin()->first,
            "there was no memory for its results beside that of its graphs, which were dropped");
  session.host().failAt = -1;
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(*session.call({1, 2}, w), (Values{6, 7}));
  }
  EXPECT_EQ(session.graphs->counters().captures, 2u);
  EXPECT_EQ(session.host().held.load(), 1);
}

TEST_F(CudaGraphsTest, ADriverWithoutMemoryIsAskedTwice) {
  Graphs session(chainOf(5));
  HostTensor *w = session.weight({1, 1});
  ASSERT_TRUE(session.call({1, 2}, w).isOk());
  for (int what = 0; what < 2; ++what) { // instantiating the graph, then launching it
    fake.memoryCalls = fake.failMemoryAt = 0;
    EXPECT_EQ(*session.call({1, 2}, w), (Values{6, 7}));
    EXPECT_EQ(session.host().releases.load(), what + 1);
  }
  EXPECT_EQ(session.graphs->counters().replays, 2u);
  EXPECT_TRUE(session.reasons().empty());
}

TEST_F(CudaGraphsTest, ACaptureThatFailsLosesNothing) {
  for (DriverCode FakeDriver::*where :
       {&FakeDriver::beginCode, &FakeDriver::endCode, &FakeDriver::makeCode}) {
    SetUp();
    Graphs session(chainOf(5));
    HostTensor *w = session.weight({1, 1});
    fake.*where = 901;
    for (int turn = 0; turn < 3; ++turn) {
      EXPECT_EQ(*session.call({1, 2}, w), (Values{6, 7}));
    }
    EXPECT_EQ(count("launch"), 15);
    EXPECT_EQ(count("begin"), 1) << "tried once";
    EXPECT_EQ(count("end"), where == &FakeDriver::beginCode ? 0 : 1)
        << "a capture that was begun is ended";
    EXPECT_EQ(session.reasons().begin()->second, 2u);
    EXPECT_NE(session.reasons().begin()->first.find("(901)"), std::string::npos);
    EXPECT_EQ(session.host().held.load(), 1);
  }
}

TEST_F(CudaGraphsTest, StickyErrorsNameTheKernels) {
  Graphs session(chainOf(5));
  HostTensor *w = session.weight({1, 1});
  ASSERT_TRUE(session.call({1, 2}, w).isOk());
  ASSERT_TRUE(session.call({1, 2}, w).isOk());
  fake.graphCode = 700;
  auto failed = session.call({1, 2}, w);
  ASSERT_FALSE(failed.isOk());
  EXPECT_EQ(failed.status().message(),
            "CUDA graph of frit_add, frit_add, frit_add, frit_add, frit_add (graph 'chain'): "
            "CUDA_ERROR_ILLEGAL_ADDRESS (700): as scripted; "
            "it may stem from a kernel launched before this one, FRIT_CUDA_SYNC=1 names the one at "
            "fault; the process's GPU state is lost: "
            "restart it");
  fake.graphCode = 0;
  EXPECT_EQ(session.call({1, 2}, w).status().message(), failed.status().message());
  EXPECT_EQ(session.host().held.load(), 1);
  session.graphs.reset();
  EXPECT_EQ(count("destroy"), 0) << "a lost driver is left alone";
  fake.liveGraphs = 0;
  poolBlocks = 0;
}

TEST_F(CudaGraphsTest, ThreadsGetTheirOwnResults) {
  Graphs session(chainOf(5));
  HostTensor *w = session.weight({1, 2, 3});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 16; ++number) {
    threads.emplace_back([&, number] {
      for (int turn = 0; turn < 100; ++turn) {
        auto value = static_cast<float>(number * 1000 + turn);
        auto result = session.call({value, value, value}, w);
        wrong += !result.isOk() || *result != Values{value + 5, value + 10, value + 15};
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(session.graphs->counters().captures, 1u);
  EXPECT_GE(session.graphs->counters().replays, 1599u);
}

TEST_F(CudaGraphsTest, ForkedChildrenAreTold) {
  Graphs session(chainOf(5));
  HostTensor *w = session.weight({1, 1});
  ASSERT_TRUE(session.call({1, 2}, w).isOk());
  ASSERT_TRUE(session.call({1, 2}, w).isOk());
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
