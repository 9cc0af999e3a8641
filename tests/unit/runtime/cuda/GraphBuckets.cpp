// CUDA graphs for dynamic sizes: one for each bucket, whose nodes are updated to the sizes of a
// call before it is launched.

#include "tests/unit/runtime/cuda/GraphSession.h"

using namespace fakecuda;

namespace {

std::string withBuckets(std::vector<int64_t> sizes) {
  return changed(chainOf(5), [&](format::PlanT &plan) {
    plan.buckets.push_back(std::make_unique<format::BucketT>());
    plan.buckets[0]->symbol = plan.symbols[0]->reg;
    plan.buckets[0]->dst = plan.int_count++;
    plan.buckets[0]->sizes = std::move(sizes);
  });
}

struct Sizes : Graphs {
  using Graphs::Graphs;
  /// A weight of this many elements, in the same memory for all sizes.
  HostTensor *weightOf(size_t size) {
    if (!all) {
      all = weight(Values(5000, 3));
    }
    auto *view = new HostTensor{all->storage, all->data,         0, {static_cast<int64_t>(size)},
                                {1},          format::Dtype::F32};
    return view;
  }
  void run(size_t size, float x) {
    HostTensor *w = weightOf(size);
    ++host().held;
    auto result = call(Values(size, x), w);
    host().releaseTensor(w);
    ASSERT_TRUE(result.isOk()) << result.status().message();
    EXPECT_EQ(*result, Values(size, x + 15)) << size;
  }
  GraphCounters counters() { return graphs->counters(); }

  HostTensor *all = nullptr;
};

struct GraphBucketsTest : CudaGraphsTest {};

TEST_F(GraphBucketsTest, OneGraphServesAllSizesOfABucket) {
  Sizes session(chainOf(5));
  float x = 0;
  for (size_t size : {12, 16}) {
    session.run(size, ++x);
  }
  EXPECT_EQ(session.counters().replays, 1u) << "the bucket was met, with another size";
  fake.log.clear();
  for (size_t size : {9, 16, 16, 11, 10, 10, 9}) {
    session.run(size, ++x);
  }
  EXPECT_EQ(count("launch"), 0);
  EXPECT_EQ(count("begin"), 0);
  EXPECT_EQ(count("graph"), 7);
  EXPECT_EQ(count("node"), 5 * 5) << "only for other sizes than before";
  EXPECT_EQ(count("copy 40"), 4) << "no more than the call's own bytes";
  EXPECT_EQ(session.counters().captures, 1u);
  EXPECT_EQ(session.counters().replays, 8u);
  EXPECT_EQ(session.counters().updates, 5u);
  EXPECT_EQ(session.counters().evictions, 0u);
  EXPECT_TRUE(session.counters().exact.empty());
  EXPECT_TRUE(session.reasons().empty());
  session.run(8, 1); // another bucket
  session.run(7, 1);
  EXPECT_EQ(session.counters().captures, 2u);
}

TEST_F(GraphBucketsTest, ListsOfTheUserDecideAndWhatIsAboveHasAGraphOfItsSize) {
  Sizes session(withBuckets({20, 1000}));
  float x = 0;
  for (size_t size : {3, 20, 7, 21, 999, 500, 1000}) {
    session.run(size, ++x);
  }
  EXPECT_EQ(session.counters().captures, 2u);
  EXPECT_EQ(session.counters().replays, 5u);
  for (size_t size : {1001, 1002, 1001, 1002}) {
    session.run(size, ++x);
  }
  EXPECT_EQ(session.counters().captures, 4u);
  EXPECT_EQ(session.counters().updates, 3u);
}

TEST_F(GraphBucketsTest, ResultsOfOtherSizesCanBeKept) {
  Sizes session(chainOf(5));
  std::vector<std::pair<HostTensor *, Values>> kept;
  for (size_t size : {16, 15, 14, 13, 12, 16, 9}) {
    HostTensor *w = session.weightOf(size);
    ++session.host().held;
    auto x = static_cast<float>(100 * size + kept.size());
    kept.emplace_back(*session.keep(Values(size, x), w), Values(size, x + 15));
    session.host().releaseTensor(w);
  }
  for (auto &[tensor, values] : kept) {
    EXPECT_EQ(Graphs::valuesOf(tensor), values);
    session.host().releaseTensor(tensor);
  }
  EXPECT_EQ(session.counters().updates, 5u);
  EXPECT_EQ(session.host().held.load(), 1);
}

TEST_F(GraphBucketsTest, StaticArgumentsStillTellGraphsApart) {
  Sizes session(chainOf(5));
  HostTensor *v = session.weight(Values(16, 1));
  for (int turn = 0; turn < 3; ++turn) {
    session.run(16, 1);
    EXPECT_EQ(*session.call(Values(16, 1), v), Values(16, 6));
  }
  EXPECT_EQ(session.counters().captures, 2u);
  EXPECT_EQ(session.counters().updates, 0u);
}

/// A plan in which the last kernel is launched once more for 12 elements, with no other effect.
std::string withLaunchThatFallsAway() {
  return changed(chainOf(5), [](format::PlanT &plan) {
    uint32_t twelve = plan.int_count++, blocks = plan.int_count++;
    plan.int_constants.emplace_back(12, twelve);
    plan.programs[0]->code.emplace_back(format::Op::FloorDiv, blocks, plan.symbols[0]->reg, twelve,
                                        0u);
    auto last = std::find_if(plan.steps.rbegin(), plan.steps.rend(),
                             [](auto &step) { return step->action.AsLaunch(); });
    auto again = std::make_unique<format::StepT>();
    again->action.Set(format::LaunchT(*(*last)->action.AsLaunch()));
    again->action.AsLaunch()->variants[0]->launches[0]->x = blocks;
    plan.steps.insert(last.base(), std::move(again));
  });
}

TEST_F(GraphBucketsTest, WhereSizesTakeOtherLaunchesTheGraphIsMadeAnew) {
  Sizes session(withLaunchThatFallsAway());
  for (size_t size : {16, 15, 11, 10, 9, 12, 16}) {
    session.run(size, 1);
  }
  EXPECT_EQ(session.counters().captures, 3u) << "with it, without, and with it again";
  EXPECT_EQ(session.counters().evictions, 2u);
  EXPECT_EQ(session.counters().updates, 3u);
  EXPECT_EQ(session.counters().replays, 6u);
  EXPECT_EQ(count("launch"), 6) << "no call but the first ran without a graph";
  EXPECT_EQ(fake.liveGraphs, 2)
      << "the one that is launched, and the one whose nodes stand for its own";
}

TEST_F(GraphBucketsTest, NumbersThatFollowFromSizesAreThoseOfTheCall) {
  Sizes session(changed(chainOf(5), [](format::PlanT &plan) {
    plan.outputs.push_back(std::make_unique<format::OutputT>());
    plan.outputs.back()->kind = format::OutputKind::Int;
    plan.outputs.back()->reg = plan.symbols[0]->reg;
  }));
  for (int64_t size : {16, 15, 14, 9, 16}) {
    InputValue inputs[2];
    inputs[0].kind = inputs[1].kind = InputValue::Kind::Tensor;
    inputs[0].handle = newTensor(Values(static_cast<size_t>(size), 1));
    inputs[1].handle = session.weightOf(static_cast<size_t>(size));
    session.host().held += 2;
    OutputValue outputs[2];
    ASSERT_TRUE(session.graphs->run(inputs, outputs).isOk());
    EXPECT_EQ(outputs[1].integer, size);
    EXPECT_EQ(static_cast<HostTensor *>(outputs[0].handle)->sizes, std::vector<int64_t>{size});
    session.host().releaseTensor(outputs[0].handle);
  }
  EXPECT_EQ(session.counters().updates, 3u);
}

TEST_F(GraphBucketsTest, NoMemoryForALargerSizeLosesNothing) {
  Sizes session(withBuckets({5000}));
  int most = 0;
  for (int failAt = 0; failAt < 12; ++failAt) {
    session.run(2050, 1);
    session.run(2050, 2);
    session.run(2050, 3);
    poolRequests = 0;
    poolFailAt = failAt;
    session.run(5000, 4);
    most = std::max(most, poolRequests.load());
    EXPECT_EQ(session.reasons().size(), poolRequests > failAt) << "said, where it happened";
    poolFailAt = -1;
    for (size_t size : {5000, 2050, 5000, 2050}) {
      session.run(size, 5);
    }
    EXPECT_EQ(session.host().held.load(), 1);
    session.graphs.reset();
    EXPECT_EQ(poolBlocks.load(), 0);
    EXPECT_EQ(fake.liveGraphs, 0);
    session.make(true, nullptr);
  }
  EXPECT_GE(most, 4);
}

TEST_F(GraphBucketsTest, ANodeThatCannotBeWrittenToLosesNothing) {
  for (int failAfter = 0; failAfter < 5; ++failAfter) {
    SetUp();
    Sizes session(chainOf(5));
    session.run(16, 1);
    session.run(16, 2);
    fake.nodeCode = 1;
    fake.nodeCodeAfter = failAfter;
    session.run(15, 3);
    EXPECT_EQ(count("launch"), 10) << "without a graph";
    EXPECT_EQ(fake.liveGraphs, 0) << "half of it was for another call";
    ASSERT_EQ(session.reasons().size(), 1u);
    EXPECT_EQ(session.reasons().begin()->first,
              "kernel frit_add, grid (1, 1, 1), block (128, 1, 1), from model.py:6 in forward: "
              "return x + y (graph 'chain'): CUDA_ERROR (1): as scripted");
    EXPECT_EQ(session.counters().evictions, 1u);
    fake.nodeCode = 0;
    session.run(15, 4);
    session.run(16, 5);
    EXPECT_EQ(session.counters().captures, 2u);
    EXPECT_EQ(session.counters().updates, 1u);
  }
}

TEST_F(GraphBucketsTest, StickyErrorsOfNodesAreNeverRetried) {
  Sizes session(chainOf(5));
  session.run(16, 1);
  session.run(16, 2);
  fake.nodeCode = 700;
  HostTensor *w = session.weight(Values(15, 1));
  session.graphs->setMostGraphs(16);
  // The address is that of the graph's static argument, but the size differs.
  reinterpret_cast<HostTensor *>(w)->data = session.all->data;
  auto failed = session.call(Values(15, 1), w);
  ASSERT_FALSE(failed.isOk());
  EXPECT_NE(failed.status().message().find("CUDA_ERROR_ILLEGAL_ADDRESS (700)"), std::string::npos);
  EXPECT_EQ(count("node"), 1);
  EXPECT_EQ(count("launch"), 5);
  EXPECT_EQ(session.host().held.load(), 2);
  session.graphs.reset();
  fake.liveGraphs = 0;
  poolBlocks = 0;
}

TEST_F(GraphBucketsTest, GraphsOfOneSizeAreCountedWithTheReason) {
  Sizes session(changed(chainOf(5), addWriteBack));
  HostTensor *w = session.weight(Values(16, 1)), *v = session.weight(Values(15, 1));
  Values ofW(16, 1), ofV(15, 1);
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_EQ(*session.call(Values(16, 2), w), ofW = expected(Values(16, 2), ofW));
    EXPECT_EQ(*session.call(Values(15, 2), v), ofV = expected(Values(15, 2), ofV));
  }
  EXPECT_EQ(session.counters().captures, 2u);
  EXPECT_EQ(session.counters().updates, 0u);
  EXPECT_EQ(session.counters().exact,
            (std::map<std::string, uint64_t>{{"it copies into an argument", 2}}));
  std::string said =
      "graph 'chain' has a CUDA graph for each of its sizes: it copies into an argument";
  EXPECT_EQ(std::count(session.host().notes.begin(), session.host().notes.end(), said), 1);
}

TEST_F(GraphBucketsTest, SizesThatChangeAtEveryCallTakeFewBlocks) {
  Sizes session(chainOf(5));
  session.run(1025, 1);
  session.run(1025, 1);
  int blocksOfOne = poolBlocks;
  for (size_t size = 1026; size <= 1152; ++size) {
    session.run(size, static_cast<float>(size));
  }
  EXPECT_LE(poolBlocks.load(), 2 * blocksOfOne);
  EXPECT_EQ(session.counters().captures, 1u);
  EXPECT_EQ(session.counters().updates, 127u);
}

} // namespace
