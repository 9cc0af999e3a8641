// Every decision of listSchedules over a grid of regions.
#include "passes/Schedule.h"

#include <gtest/gtest.h>

using namespace mlir::frit;

namespace {
RegionSummary reduction(double rows, double columns) {
  RegionSummary region;
  region.reduces = true;
  region.rows = rows;
  region.columns = columns;
  region.singleRow = rows == 1;
  region.bytesAlongReduced = 4;
  return region;
}

TEST(Schedule, NeverEmptyAndAlwaysPositive) {
  for (ScheduleTarget target : {ScheduleTarget::Cpu, ScheduleTarget::Gpu}) {
    for (double rows : {1.0, 2.0, 7.0, 64.0, 4096.0, 1e7}) {
      for (double columns : {1.0, 3.0, 32.0, 1000.0, 65536.0, 1e8}) {
        for (int flags = 0; flags < 8; ++flags) {
          RegionSummary region = reduction(rows, columns);
          region.reduces = flags & 1;
          region.hasEpilogue = flags & 2;
          region.bytesAlongParallel = flags & 4 ? 16 : 0;
          for (unsigned bytes : {1u, 2u, 4u, 8u}) {
            region.widestBytes = region.narrowestBytes = bytes;
            auto list = listSchedules(region, target);
            ASSERT_FALSE(list.empty());
            for (const ScheduleCandidate &candidate : list) {
              EXPECT_EQ(candidate.kind == ScheduleKind::Pointwise, !region.reduces);
              for (const auto &[name, value] : candidate.parameters) {
                EXPECT_GT(value, 0) << name.str();
              }
              if (target == ScheduleTarget::Gpu) {
                EXPECT_LE(candidate.get("threads"), 1024);
                EXPECT_LE(candidate.get("threads") * std::max<int64_t>(1, candidate.get("rows")), 4096);
              }
            }
          }
        }
      }
    }
  }
}

TEST(Schedule, BudgetsAreKeptOnEveryDevice) {
  for (unsigned arch : {80u, 90u, 100u}) {
    for (double rows : {1.0, 16.0, 100.0, 4096.0, 1e6}) {
      for (int64_t columns : {100, 4096, 5001, 16384, 32768, 40960, 50257, 65536, 131072, 262144, 262145, 1 << 20}) {
        for (unsigned operands : {1u, 2u, 3u}) {
          for (unsigned bytes : {1u, 2u, 4u, 8u}) {
            RegionSummary region = reduction(rows, double(columns));
            region.knownColumns = columns;
            region.keptOperands = operands;
            region.hasEpilogue = true;
            region.widestBytes = region.narrowestBytes = bytes;
            auto list = listSchedules(region, ScheduleTarget::Gpu, {arch});
            for (const ScheduleCandidate &candidate : list) {
              int64_t blocks = candidate.get("cluster"), vector = candidate.get("vector");
              EXPECT_LE(blocks, arch >= 90 ? 8 : 0);
              EXPECT_FALSE(blocks && candidate.get("split"));
              if (blocks) {
                EXPECT_TRUE(blocks == 2 || blocks == 4 || blocks == 8);
                EXPECT_EQ(columns % vector, 0);
                // Registers of 512 threads a block, 64 each, in at most 16 loads of an operand.
                EXPECT_LE(columns * operands, 512 * 64 * blocks + 512 * 64);
                EXPECT_LE((columns + vector * 512 * blocks - 1) / (vector * 512 * blocks), 16);
              }
            }
          }
        }
      }
    }
  }
}

TEST(Schedule, RowsTooLongForABlockTakeACluster) {
  auto first = [](double rows, int64_t columns, unsigned arch, unsigned operands = 1, unsigned bytes = 4) {
    RegionSummary region = reduction(rows, double(columns));
    region.knownColumns = columns;
    region.keptOperands = operands;
    region.hasEpilogue = true;
    region.widestBytes = region.narrowestBytes = bytes;
    return listSchedules(region, ScheduleTarget::Gpu, {arch}).front();
  };
  EXPECT_EQ(first(4096, 32768, 90).get("cluster"), 0);
  EXPECT_EQ(first(4096, 65536, 90).get("cluster"), 2);
  EXPECT_EQ(first(4096, 131072, 90).get("cluster"), 4);
  EXPECT_EQ(first(4096, 131072, 100, 1, 2).get("cluster"), 4);
  EXPECT_EQ(first(4096, 262144, 90).get("cluster"), 8);
  EXPECT_EQ(first(4096, 262144 + 4, 90).get("cluster"), 0);
  EXPECT_EQ(first(4096, 65536, 90, 2).get("cluster"), 4);
  EXPECT_EQ(first(4096, 50257, 90, 1, 2).get("cluster"), 8);
  EXPECT_EQ(first(4096, 131072, 80).get("cluster"), 0);
  // Few of them: as many blocks as fill the device and have something to do. Older devices split them.
  EXPECT_EQ(first(16, 131072, 90).get("cluster"), 8);
  EXPECT_EQ(first(32, 40960, 90, 1, 2).get("cluster"), 4);
  EXPECT_EQ(first(16, 4096, 90).get("cluster"), 0);
  EXPECT_EQ(first(16, 131072, 80).get("cluster"), 0);
  EXPECT_GT(first(16, 131072, 80).get("split"), 1);
  // Read once, whatever the length.
  RegionSummary sum = reduction(4096, 131072);
  sum.knownColumns = 131072;
  EXPECT_EQ(listSchedules(sum, ScheduleTarget::Gpu, {90}).front().get("cluster"), 0);
}

TEST(Schedule, SeveralAreWorthATryOnADevice) {
  RegionSummary region = reduction(4096, 4096);
  region.reduces = false;
  EXPECT_EQ(listSchedules(region, ScheduleTarget::Gpu).size(), 3u);
  EXPECT_EQ(listSchedules(region, ScheduleTarget::Gpu)[1].get("unroll"), 2);
  EXPECT_EQ(listSchedules(region, ScheduleTarget::Cpu).size(), 1u);
  region.rows = 1;
  region.columns = 100;
  EXPECT_EQ(listSchedules(region, ScheduleTarget::Gpu).size(), 1u);
  RegionSummary rows = reduction(4096, 4096);
  rows.knownColumns = 4096;
  rows.hasEpilogue = true;
  auto list = listSchedules(rows, ScheduleTarget::Gpu, {90});
  ASSERT_EQ(list.size(), 3u);
  EXPECT_NE(list[1].get("lanes"), list[2].get("lanes"));
  rows.knownColumns = 131072;
  rows.columns = 131072;
  list = listSchedules(rows, ScheduleTarget::Gpu, {90});
  ASSERT_GE(list.size(), 3u);
  EXPECT_EQ(list[0].get("cluster"), 4);
  EXPECT_EQ(list[1].get("cluster"), 8);
  EXPECT_EQ(list[2].get("cluster"), 0);
  RegionSummary columns = reduction(64, 100000);
  columns.bytesAlongParallel = 8;
  list = listSchedules(columns, ScheduleTarget::Gpu);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_GT(list[0].get("split"), 1);
  EXPECT_EQ(list[1].get("split"), 1);
}

TEST(Schedule, ContiguityDecidesBetweenRowsAndColumns) {
  RegionSummary region = reduction(2000, 256);
  EXPECT_EQ(listSchedules(region, ScheduleTarget::Cpu).front().kind, ScheduleKind::RowReduction);
  region.bytesAlongParallel = 8;
  EXPECT_EQ(listSchedules(region, ScheduleTarget::Cpu).front().kind, ScheduleKind::ColumnReduction);
}

TEST(Schedule, FewLongRowsAreSplitOnADevice) {
  EXPECT_GT(listSchedules(reduction(16, 1 << 20), ScheduleTarget::Gpu).front().get("split"), 1);
  EXPECT_EQ(listSchedules(reduction(16, 4096), ScheduleTarget::Gpu).front().get("split"), 0);
  EXPECT_EQ(listSchedules(reduction(4096, 1 << 20), ScheduleTarget::Gpu).front().get("split"), 0);
  EXPECT_EQ(listSchedules(reduction(16, 1 << 20), ScheduleTarget::Cpu).front().get("split"), 0);
  // Who needs the row again keeps it in the registers of one block as long as it fits.
  RegionSummary region = reduction(16, 16384);
  EXPECT_GT(listSchedules(region, ScheduleTarget::Gpu).front().get("split"), 1);
  region.hasEpilogue = true;
  EXPECT_EQ(listSchedules(region, ScheduleTarget::Gpu).front().get("split"), 0);
  region.columns = 1 << 17;
  EXPECT_GT(listSchedules(region, ScheduleTarget::Gpu).front().get("split"), 1);
}

TEST(Schedule, OneRowIsAFullReductionUnlessSomethingFollows) {
  RegionSummary region = reduction(1, 1e6);
  EXPECT_EQ(listSchedules(region, ScheduleTarget::Cpu).front().kind, ScheduleKind::FullReduction);
  region.hasEpilogue = true;
  EXPECT_EQ(listSchedules(region, ScheduleTarget::Cpu).front().kind, ScheduleKind::RowReduction);
}

TEST(Schedule, LongRowsTakeABlockShortOnesAWarp) {
  EXPECT_EQ(listSchedules(reduction(4096, 512), ScheduleTarget::Gpu).front().get("threads"), 32);
  EXPECT_GE(listSchedules(reduction(4096, 8192), ScheduleTarget::Gpu).front().get("threads"), 128);
}

TEST(Schedule, FewColumnsSplitTheSweep) {
  RegionSummary region = reduction(64, 100000);
  region.bytesAlongParallel = 8;
  EXPECT_GT(listSchedules(region, ScheduleTarget::Cpu).front().get("split"), 1);
  region.rows = 100000;
  EXPECT_EQ(listSchedules(region, ScheduleTarget::Cpu).front().get("split"), 1);
}

/// Gradients of a norm: two tensors of the domain, a weight; two sums over the rows that would read both tensors again.
BothWays bothWays(double rows, int64_t columns, unsigned arch, unsigned bytes = 2, unsigned operands = 2, unsigned results = 2) {
  RegionSummary region = reduction(rows, double(columns));
  region.knownColumns = columns;
  region.keptOperands = operands;
  region.hasEpilogue = true;
  region.narrowestBytes = bytes;
  region.widestBytes = 4;
  ColumnsBeside beside;
  beside.results = results;
  beside.common = 1;
  beside.bytesSaved = 2 * bytes;
  return scheduleBothWays(region, beside, {arch});
}

TEST(Schedule, RowsAndColumnsKeepTheirBudgets) {
  unsigned taken = 0;
  for (unsigned arch : {80u, 90u, 100u}) {
    for (int64_t columns : {1, 8, 60, 64, 100, 768, 1000, 1024, 4096, 5120, 8192, 16384, 65536}) {
      for (unsigned operands : {1u, 2u, 3u, 6u}) {
        for (unsigned results : {1u, 2u, 5u}) {
          for (unsigned bytes : {1u, 2u, 4u}) {
            BothWays both = bothWays(1e6, columns, arch, bytes, operands, results);
            if (!both) {
              EXPECT_NE(both.refusal, BothWays::Refusal::UnknownLength);
              continue;
            }
            ++taken;
            int64_t threads = both.schedule.get("threads"), rows = both.schedule.get("rows"), vector = both.schedule.get("vector");
            EXPECT_GE(threads, 8);
            EXPECT_LE(threads * rows, 512);
            EXPECT_EQ(threads & (threads - 1), 0);
            EXPECT_EQ(columns % vector, 0);
            // No thread without a chunk but in the shortest rows.
            EXPECT_LE(threads, std::max<int64_t>(8, 2 * columns / vector));
            int64_t share = (columns / vector + threads - 1) / threads * vector;
            EXPECT_GE(both.registers, share * (operands + results + 1));
            EXPECT_LE(both.registers, 128);
            EXPECT_LE(both.sharedBytes, 48 << 10);
            // All blocks run at once.
            int64_t processors = ScheduleDevice{arch}.processors(), parts = both.schedule.get("parts");
            EXPECT_EQ(parts % processors, 0);
            EXPECT_EQ(parts, processors * both.schedule.get("resident"));
            EXPECT_LE(both.schedule.get("resident") * threads * rows * both.registers, 65536);
          }
        }
      }
    }
  }
  EXPECT_GT(taken, 200u);
}

TEST(Schedule, RowsAndColumnsFillADevice) {
  EXPECT_EQ(bothWays(32768, 4096, 80).schedule.get("parts"), 216);
  EXPECT_EQ(bothWays(32768, 4096, 90).schedule.get("parts"), 264);
  EXPECT_EQ(bothWays(32768, 4096, 100).schedule.get("parts"), 296);
  EXPECT_EQ(bothWays(32768, 4096, 90).schedule.get("threads"), 256);
  EXPECT_EQ(bothWays(262144, 512, 90).schedule.get("rows"), 8);
  // One block a processor.
  EXPECT_EQ(bothWays(16384, 8192, 90).schedule.get("threads"), 512);
  EXPECT_EQ(bothWays(16384, 8192, 90).schedule.get("parts"), 132);
}

TEST(Schedule, RowsAndColumnsMustPay) {
  EXPECT_EQ(bothWays(1024, 4096, 90).refusal, BothWays::Refusal::TooFewRows);
  EXPECT_EQ(bothWays(16, 64, 90).refusal, BothWays::Refusal::TooFewRows);
  EXPECT_EQ(bothWays(1e6, 16384, 90).refusal, BothWays::Refusal::TooManyRegisters);
  EXPECT_EQ(bothWays(1e6, 0, 90).refusal, BothWays::Refusal::UnknownLength);
}
} // namespace
