// Tests every decision of listCpuSchedules.
#include "passes/schedule/CpuSchedule.h"
#include "passes/schedule/DescribeSchedule.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::frit;

namespace {
class CpuSchedule : public ::testing::Test {
protected:
  CpuSchedule() { context.loadDialect<FritDialect>(); }

  template <typename Family> Family first(const CpuKernelSummary &kernel) {
    return cast<Family>(list(kernel).front());
  }
  SmallVector<Attribute> list(const CpuKernelSummary &kernel) {
    return listCpuSchedules(&context, kernel, vectors);
  }

  static CpuKernelSummary pointwise(int64_t elements) {
    CpuKernelSummary kernel;
    kernel.lane = 0;
    kernel.elementsOfThread = 100000;
    kernel.laneLength = elements;
    kernel.isSmall = elements < 1 << 14;
    return kernel;
  }
  static CpuKernelSummary rows(unsigned weight, unsigned reductions) {
    CpuKernelSummary kernel = pointwise(1 << 20);
    kernel.lane = 1;
    kernel.isLaneReduced = true;
    kernel.laneLength = kernel.reducedLength = 1024;
    kernel.rounds = {{reductions, weight, false}};
    return kernel;
  }
  static CpuKernelSummary columns(unsigned reductions) {
    CpuKernelSummary kernel = rows(4, reductions);
    kernel.lane = 0;
    kernel.isLaneReduced = false;
    kernel.reductions = reductions;
    return kernel;
  }

  MLIRContext context;
  CpuVectors vectors{.lanes = 16, .masksNarrow = true};
};

TEST_F(CpuSchedule, OnePointHasNoLanes) {
  CpuKernelSummary kernel;
  auto one = first<CpuPointwiseAttr>(kernel);
  EXPECT_FALSE(one.getLane());
  EXPECT_EQ(list(kernel).size(), 1u);
  EXPECT_EQ(describeCpuSchedule(one), "pointwise: one point");
}

TEST_F(CpuSchedule, FewElementsAndColumnsHaveNothingToChoose) {
  EXPECT_EQ(list(pointwise(100)).size(), 1u);
  CpuKernelSummary kernel = rows(1, 1);
  kernel.isSmall = true;
  EXPECT_EQ(list(kernel).size(), 1u);
  EXPECT_EQ(list(columns(1)).size(), 1u);
}

TEST_F(CpuSchedule, CandidatesDiffer) {
  CpuKernelSummary kept = rows(20, 1), split = rows(1, 1);
  kept.keptValues = 1;
  split.canSplit = true;
  for (const CpuKernelSummary &kernel : {pointwise(1 << 20), rows(1, 1), kept, split}) {
    SmallVector<Attribute> schedules = list(kernel);
    EXPECT_GE(schedules.size(), 3u);
    for (size_t i = 0; i < schedules.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        EXPECT_NE(schedules[i], schedules[k]);
      }
    }
  }
}

TEST_F(CpuSchedule, TransposesHaveTiles) {
  CpuKernelSummary kernel = pointwise(1 << 20);
  EXPECT_EQ(first<CpuPointwiseAttr>(kernel).getTileRows(), 1);
  kernel.tileDim = 1;
  EXPECT_EQ(first<CpuPointwiseAttr>(kernel).getTileRows(), 16);
}

TEST_F(CpuSchedule, UnitsOfLittleWorkShareAThread) {
  CpuKernelSummary kernel = pointwise(64);
  EXPECT_EQ(first<CpuPointwiseAttr>(kernel).getGrain(), 100000 / 64);
  kernel.laneLength = 1 << 20; // a unit is a part of it
  EXPECT_EQ(first<CpuPointwiseAttr>(kernel).getGrain(), 100000 / 4096);
  kernel.elementsOfThread = 1;
  EXPECT_EQ(first<CpuPointwiseAttr>(kernel).getGrain(), 1);
  EXPECT_EQ(first<CpuRowsAttr>(rows(1, 1)).getGrain(), 100000 / 1024);
}

TEST_F(CpuSchedule, HeavyRowsHaveFewerAccumulators) {
  EXPECT_EQ(first<CpuRowsAttr>(rows(12, 2)).getUnroll()[0], 4);
  EXPECT_EQ(first<CpuRowsAttr>(rows(13, 1)).getUnroll()[0], 2);
  EXPECT_EQ(first<CpuRowsAttr>(rows(1, 3)).getUnroll()[0], 2);
  CpuKernelSummary kernel = rows(100, 3);
  kernel.rounds[0].isLong = true;
  EXPECT_EQ(first<CpuRowsAttr>(kernel).getUnroll()[0], 4) << "emitted once, they cost no code";
  EXPECT_TRUE(first<CpuRowsAttr>(kernel).getOnce()[0]);
}

TEST_F(CpuSchedule, OneRowIsSharedOut) {
  CpuKernelSummary kernel = rows(1, 1);
  EXPECT_EQ(first<CpuRowsAttr>(kernel).getSplitElements(), 0);
  kernel.canSplit = true;
  auto schedule = first<CpuRowsAttr>(kernel);
  EXPECT_EQ(schedule.getSplitElements(), kSplitRowElements);
  EXPECT_EQ(schedule.getMostParts(), 64);
  EXPECT_EQ(schedule.getGrain(), 1);
}

TEST_F(CpuSchedule, WithoutKeptValuesTheLastSweepIsAsLongAsItIs) {
  CpuKernelSummary kernel = rows(20, 1);
  kernel.keptValues = 1;
  kernel.isRecomputeLong = true;
  for (Attribute one : list(kernel)) {
    auto schedule = cast<CpuRowsAttr>(one);
    EXPECT_EQ(schedule.getWriteOnce(), schedule.getKeep() == 0);
    EXPECT_TRUE(schedule.getRecomputeOnce());
  }
}

TEST_F(CpuSchedule, TilesOfColumnsFitIntoRegisters) {
  auto tile = [&](unsigned reductions, bool hasRows, bool isLong = false) {
    CpuKernelSummary kernel = columns(reductions);
    kernel.rowDim = hasRows ? std::optional(1u) : std::nullopt;
    kernel.isLong = isLong;
    auto schedule = first<CpuColumnsAttr>(kernel);
    return std::pair(schedule.getRows(), schedule.getVectors());
  };
  EXPECT_EQ(tile(1, false), std::pair(int64_t(1), int64_t(4)));
  EXPECT_EQ(tile(2, false), std::pair(int64_t(1), int64_t(4)));
  EXPECT_EQ(tile(3, false), std::pair(int64_t(1), int64_t(1)));
  EXPECT_EQ(tile(1, true), std::pair(int64_t(4), int64_t(2)));
  EXPECT_EQ(tile(2, true), std::pair(int64_t(2), int64_t(2)));
  EXPECT_EQ(tile(1, true, true), std::pair(int64_t(1), int64_t(1)));
}

TEST_F(CpuSchedule, PackedOperandsServeMoreRows) {
  CpuKernelSummary kernel = columns(1);
  kernel.rowDim = 1;
  EXPECT_EQ(first<CpuColumnsAttr>(kernel).getUnitRows(), 32);
  kernel.canPack = true;
  EXPECT_EQ(first<CpuColumnsAttr>(kernel).getUnitRows(), 128);
  EXPECT_TRUE(first<CpuColumnsAttr>(kernel).getPacks());
}

TEST_F(CpuSchedule, SumsOfManyRowsTakeTurnsAndAreSharedOut) {
  CpuKernelSummary kernel = columns(1);
  kernel.laneLength = 1536;
  kernel.reducedLength = 100;
  EXPECT_EQ(first<CpuColumnsAttr>(kernel).getTiles(), 1);
  kernel.canSumInBlocks = true;
  // Twelve vectors of a row in tiles of four; no more than there are.
  EXPECT_EQ(first<CpuColumnsAttr>(kernel).getTiles(), 3);
  kernel.laneLength = 20;
  EXPECT_EQ(first<CpuColumnsAttr>(kernel).getTiles(), 1);
  kernel.laneLength = 1536;
  kernel.reducedLength = 16;
  EXPECT_EQ(first<CpuColumnsAttr>(kernel).getTiles(), 1);
  EXPECT_EQ(first<CpuColumnsAttr>(kernel).getPartSteps(), 0);
  kernel.canShareOut = true;
  auto schedule = first<CpuColumnsAttr>(kernel);
  EXPECT_EQ(schedule.getTiles(), 8);
  EXPECT_EQ(schedule.getPartSteps(), 128);
  EXPECT_EQ(describeCpuSchedule(schedule),
            "columns: vectors along d0, tiles of 4 vectors, 8 together, shared out in parts of 128 "
            "steps");
}

TEST_F(CpuSchedule, ReportsSayItInWords) {
  EXPECT_EQ(
      describeCpuSchedule(first<CpuPointwiseAttr>(pointwise(1 << 20))),
      "pointwise: vectors along d0, 1 vector a step, 4096 elements a unit, large stores bypass "
      "the cache");
  EXPECT_EQ(describeCpuSchedule(first<CpuRowsAttr>(rows(1, 1))),
            "rows: reduces along vectors of d1, accumulators 4");
  CpuKernelSummary pairs = columns(1);
  pairs.rowDim = 1;
  pairs.canPack = true;
  EXPECT_EQ(describeCpuSchedule(first<CpuColumnsAttr>(pairs)),
            "columns: vectors along d0, tiles of 2 vectors by 4 along d1, strided operands are "
            "packed");
}
} // namespace
