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
} // namespace
