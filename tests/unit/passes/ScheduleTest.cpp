// Tests every decision of listSchedules over a grid of regions.
#include "passes/schedule/Schedule.h"

#include <gtest/gtest.h>

#include <cmath>

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
  {
    for (double rows : {1.0, 2.0, 7.0, 64.0, 4096.0, 1e7}) {
      for (double columns : {1.0, 3.0, 32.0, 1000.0, 65536.0, 1e8}) {
        for (int flags = 0; flags < 8; ++flags) {
          RegionSummary region = reduction(rows, columns);
          region.reduces = flags & 1;
          region.hasEpilogue = flags & 2;
          region.bytesAlongParallel = flags & 4 ? 16 : 0;
          for (unsigned bytes : {1u, 2u, 4u, 8u}) {
            region.widestBytes = region.narrowestBytes = bytes;
            auto list = listSchedules(region);
            ASSERT_FALSE(list.empty());
            for (const ScheduleCandidate &candidate : list) {
              EXPECT_EQ(candidate.kind == ScheduleKind::Pointwise, !region.reduces);
              EXPECT_LE(candidate.numbers.threads, 1024);
              EXPECT_LE(candidate.numbers.threads * std::max<int64_t>(1, candidate.numbers.rows),
                        4096);
              EXPECT_LE(candidate.numbers.unroll, 8);
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
      for (int64_t columns :
           {100, 4096, 5001, 16384, 32768, 40960, 50257, 65536, 131072, 262144, 262145, 1 << 20}) {
        for (unsigned operands : {1u, 2u, 3u}) {
          for (unsigned bytes : {1u, 2u, 4u, 8u}) {
            RegionSummary region = reduction(rows, double(columns));
            region.knownColumns = columns;
            region.keptOperands = operands;
            region.hasEpilogue = true;
            region.widestBytes = region.narrowestBytes = bytes;
            auto list = listSchedules(region, {arch});
            for (const ScheduleCandidate &candidate : list) {
              int64_t blocks = candidate.numbers.cluster, vector = candidate.numbers.vector;
              EXPECT_LE(blocks, arch >= 90 ? 8 : 0);
              EXPECT_FALSE(blocks && candidate.numbers.split);
              if (blocks) {
                EXPECT_TRUE(blocks == 2 || blocks == 4 || blocks == 8);
                EXPECT_EQ(columns % vector, 0);
                // The registers of blocks of 512 threads, 64 each, with at most 16 loads of an
                // operand.
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
  auto first = [](double rows, int64_t columns, unsigned arch, unsigned operands = 1,
                  unsigned bytes = 4) {
    RegionSummary region = reduction(rows, double(columns));
    region.knownColumns = columns;
    region.keptOperands = operands;
    region.hasEpilogue = true;
    region.widestBytes = region.narrowestBytes = bytes;
    return listSchedules(region, {arch}).front();
  };
  EXPECT_EQ(first(4096, 16384, 90).numbers.cluster, 0);
  // A block of 512 threads would be alone on its processor.
  auto isOf = [&](double rows, int64_t columns, unsigned arch, int64_t blocks, int64_t threads,
                  unsigned bytes = 2) {
    GpuNumbers numbers = first(rows, columns, arch, 1, bytes).numbers;
    return numbers.cluster == blocks && numbers.threads == threads;
  };
  EXPECT_TRUE(isOf(4096, 24576, 90, 4, 256));
  EXPECT_TRUE(isOf(4096, 32768, 90, 4, 256));
  EXPECT_TRUE(isOf(4096, 65536, 90, 8, 256));
  EXPECT_TRUE(isOf(4096, 131072, 90, 8, 256));
  EXPECT_TRUE(isOf(4096, 131072, 100, 8, 256));
  EXPECT_TRUE(isOf(4096, 32768, 90, 4, 256, 4));
  EXPECT_TRUE(isOf(4096, 65536, 90, 8, 256, 4));
  EXPECT_TRUE(isOf(4096, 131072, 90, 8, 256, 4));
  EXPECT_EQ(first(4096, 262144, 90).numbers.cluster, 8);
  EXPECT_EQ(first(4096, 262144, 90).numbers.threads, 512);
  // One is alone anyway where rows are fewer than processors.
  EXPECT_EQ(first(8, 24576, 90, 1, 2).numbers.cluster, 0);
  EXPECT_EQ(first(4096, 262144 + 4, 90).numbers.cluster, 0);
  EXPECT_EQ(first(4096, 65536, 90, 2).numbers.cluster, 8);
  EXPECT_EQ(first(4096, 50257, 90, 1, 2).numbers.cluster, 8);
  EXPECT_EQ(first(4096, 131072, 80).numbers.cluster, 0);
  // Few rows: as many blocks as fill the device and have work. Older devices split the rows.
  EXPECT_EQ(first(16, 131072, 90).numbers.cluster, 8);
  EXPECT_EQ(first(32, 40960, 90, 1, 2).numbers.cluster, 4);
  EXPECT_EQ(first(16, 4096, 90).numbers.cluster, 0);
  EXPECT_EQ(first(16, 131072, 80).numbers.cluster, 0);
  EXPECT_GT(first(16, 131072, 80).numbers.split, 1);
  // Rows that are read once, whatever their length.
  RegionSummary sum = reduction(4096, 131072);
  sum.knownColumns = 131072;
  EXPECT_EQ(listSchedules(sum, {90}).front().numbers.cluster, 0);
}

TEST(Schedule, LongRowsThatNothingKeepsAreShared) {
  auto region = [](double rows, int64_t columns, unsigned bytes = 4) {
    RegionSummary summary = reduction(rows, double(columns));
    summary.knownColumns = columns;
    summary.hasEpilogue = true;
    summary.widestBytes = summary.narrowestBytes = bytes;
    return summary;
  };
  auto split = [&](double rows, int64_t columns, unsigned arch) {
    return listSchedules(region(rows, columns), {arch}).front().numbers.split;
  };
  for (unsigned arch : {80u, 90u, 100u}) {
    EXPECT_TRUE(keepsRows(region(64, 0), {arch}));
    EXPECT_TRUE(keepsRows(region(64, 4096), {arch}));
    EXPECT_TRUE(keepsRows(region(64, 32768), {arch}));
    EXPECT_EQ(keepsRows(region(64, 65536), {arch}), arch >= 90);
    EXPECT_EQ(keepsRows(region(64, 262144), {arch}), arch >= 90);
    EXPECT_FALSE(keepsRows(region(64, 262144 + 4), {arch}));
    EXPECT_FALSE(keepsRows(region(64, 802816, 2), {arch}));
    // Channels of images, and their statistics, are computed by all processors.
    EXPECT_GE(split(64, 802816, arch), 6);
    EXPECT_GE(split(255, 802816, arch), 2);
    EXPECT_EQ(split(256, 802816, arch), 0);
    EXPECT_EQ(split(255, 32768, arch), 0);
  }
  EXPECT_EQ(split(64, 131072, 90), 0);
  EXPECT_GT(split(64, 131072, 80), 1);
}

TEST(Schedule, OneOperandIsLoadedAheadWhereALoadAThreadIsTooLittle) {
  auto unroll = [](double elements, unsigned bytes, unsigned arch, unsigned weight = 4) {
    RegionSummary region;
    region.rows = elements;
    region.streamedBytes = bytes;
    region.weight = weight;
    region.widestBytes = region.narrowestBytes = bytes ? bytes : 4;
    auto list = listSchedules(region, {arch});
    // The alternative is worth a try.
    if (elements >= 1 << 20) {
      EXPECT_EQ(std::max<int64_t>(list[0].numbers.unroll, 1) +
                    std::max<int64_t>(list[1].numbers.unroll, 1),
                3);
    }
    return std::max<int64_t>(list.front().numbers.unroll, 1);
  };
  constexpr double many = 1 << 28;
  for (unsigned bytes : {2u, 4u}) {
    // 16 bytes of 2048 threads are 32 KB; twice 15, 29 and 43 KB are needed in flight.
    EXPECT_EQ(unroll(many, bytes, 80), 1);
    EXPECT_EQ(unroll(many, bytes, 90), 2);
    EXPECT_EQ(unroll(many, bytes, 100), 2);
    // Elements for eight rounds of blocks.
    int64_t chunk = 16 / bytes;
    double rounds = 8.0 * 132 * 2048 * static_cast<double>(chunk) * 2;
    EXPECT_EQ(unroll(rounds, bytes, 90), 2);
    EXPECT_EQ(unroll(rounds - 1, bytes, 90), 1);
    EXPECT_EQ(unroll(rounds, bytes, 100), 1);
    // Bound by math.
    EXPECT_EQ(unroll(many, bytes, 90, 17), 1);
  }
  // Several operands, or other access patterns.
  EXPECT_EQ(unroll(many, 0, 90), 1);
  EXPECT_EQ(unroll(many, 0, 100), 1);
}

TEST(Schedule, SeveralAreWorthATryOnADevice) {
  RegionSummary region = reduction(4096, 4096);
  region.reduces = false;
  EXPECT_EQ(listSchedules(region).size(), 3u);
  EXPECT_EQ(listSchedules(region)[1].numbers.unroll, 2);
  region.rows = 1;
  region.columns = 100;
  EXPECT_EQ(listSchedules(region).size(), 1u);
  RegionSummary rows = reduction(4096, 4096);
  rows.knownColumns = 4096;
  rows.hasEpilogue = true;
  auto list = listSchedules(rows, {90});
  ASSERT_EQ(list.size(), 3u);
  EXPECT_NE(list[1].numbers.rowThreads, list[2].numbers.rowThreads);
  rows.knownColumns = 131072;
  rows.columns = 131072;
  list = listSchedules(rows, {90});
  ASSERT_GE(list.size(), 3u);
  EXPECT_EQ(list[0].numbers.cluster, 8);
  EXPECT_EQ(list[0].numbers.threads, 256);
  EXPECT_EQ(list[1].numbers.cluster, 4);
  EXPECT_EQ(list[2].numbers.cluster, 8);
  EXPECT_EQ(list[2].numbers.threads, 512);
  RegionSummary columns = reduction(64, 100000);
  columns.bytesAlongParallel = 8;
  list = listSchedules(columns);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_GT(list[0].numbers.split, 1);
  EXPECT_EQ(list[1].numbers.split, 1);
}

TEST(Schedule, ContiguityDecidesBetweenRowsAndColumns) {
  RegionSummary region = reduction(2000, 256);
  EXPECT_EQ(chooseFamily(region), ScheduleKind::RowReduction);
  region.bytesAlongParallel = 8;
  EXPECT_EQ(chooseFamily(region), ScheduleKind::ColumnReduction);
}

TEST(Schedule, FewLongRowsAreSplitOnADevice) {
  EXPECT_GT(listSchedules(reduction(16, 1 << 20)).front().numbers.split, 1);
  EXPECT_EQ(listSchedules(reduction(16, 4096)).front().numbers.split, 0);
  EXPECT_EQ(listSchedules(reduction(4096, 1 << 20)).front().numbers.split, 0);
  // A row that is needed again stays in the registers of one block if it fits.
  RegionSummary region = reduction(16, 16384);
  EXPECT_GT(listSchedules(region).front().numbers.split, 1);
  region.hasEpilogue = true;
  EXPECT_EQ(listSchedules(region).front().numbers.split, 0);
  region.columns = 1 << 17;
  EXPECT_GT(listSchedules(region).front().numbers.split, 1);
}

TEST(Schedule, OneRowIsAFullReductionUnlessSomethingFollows) {
  RegionSummary region = reduction(1, 1e6);
  EXPECT_EQ(chooseFamily(region), ScheduleKind::FullReduction);
  region.hasEpilogue = true;
  EXPECT_EQ(chooseFamily(region), ScheduleKind::RowReduction);
}

TEST(Schedule, LongRowsTakeABlockShortOnesAWarp) {
  EXPECT_EQ(listSchedules(reduction(4096, 512)).front().numbers.threads, 32);
  EXPECT_GE(listSchedules(reduction(4096, 8192)).front().numbers.threads, 128);
}

/// `width` columns of `depth` rows; the width is only an estimate unless `isKnown`.
RegionSummary columnsOf(double width, double depth, unsigned bytes = 2, unsigned values = 1,
                        bool isKnown = true) {
  RegionSummary region = reduction(width, depth);
  region.singleRow = false;
  region.bytesAlongReduced = 0;
  region.bytesAlongParallel = bytes;
  region.narrowestBytes = bytes;
  region.widestBytes = std::max(bytes, 4u);
  region.knownWidth = isKnown ? static_cast<int64_t>(width) : 0;
  region.carriedValues = values;
  region.carriedRegisters = values * (bytes > 4 ? 2 : 1);
  return region;
}

int64_t groupsOf(const RegionSummary &region, const ScheduleCandidate &schedule) {
  double chunk = static_cast<double>(schedule.numbers.vector * schedule.numbers.threadsX);
  return static_cast<int64_t>(std::ceil(region.rows / chunk));
}

TEST(Schedule, ColumnsKeepTheirBudgets) {
  for (unsigned arch : {80u, 86u, 90u, 100u, 120u}) {
    for (double width : {1.0, 6.0, 64.0, 100.0, 768.0, 4096.0, 8191.0, 8192.0, 1e6}) {
      for (double depth : {1.0, 100.0, 2048.0, 16384.0, 1e6}) {
        for (unsigned bytes : {1u, 2u, 4u, 8u}) {
          for (unsigned values : {1u, 2u, 5u, 12u}) {
            RegionSummary region = columnsOf(width, depth, bytes, values);
            for (const ScheduleCandidate &schedule : listSchedules(region, {arch})) {
              if (schedule.kind != ScheduleKind::ColumnReduction) {
                continue;
              }
              int64_t vector = schedule.numbers.vector, lanes = schedule.numbers.threadsX,
                      unroll = schedule.numbers.unroll;
              for (int64_t number : {vector, lanes, unroll}) {
                EXPECT_EQ(number & (number - 1), 0);
              }
              EXPECT_LE(lanes, 32);
              EXPECT_LE(unroll, 8);
              EXPECT_LE(vector * bytes, 16);
              EXPECT_EQ(int64_t(width) % vector, 0);
              EXPECT_LE(8 * 8 * lanes * vector * values, 48 << 10);
              // Registers for running values and loaded rows.
              EXPECT_LE(vector * region.carriedRegisters + unroll * vector * bytes / 4, 128);
              // Every part has rows, and there is no second wave of blocks.
              int64_t split = schedule.numbers.split;
              EXPECT_TRUE(split == 1 || double(split * schedule.numbers.rowsOfPart) <= depth);
              EXPECT_TRUE(split == 1 || schedule.numbers.rowsOfPart >= 16 * 256 / lanes);
              EXPECT_TRUE(split == 1 || split == 8 ||
                          split * groupsOf(region, schedule) <=
                              4 * ScheduleDevice{arch}.processors());
            }
          }
        }
      }
    }
  }
}

TEST(Schedule, ColumnsFillADevice) {
  auto first = [](const RegionSummary &region, unsigned arch) {
    return listSchedules(region, {arch}).front();
  };
  for (unsigned arch : {80u, 90u, 100u}) {
    for (double width : {64.0, 100.0, 768.0, 4096.0, 8192.0, 16384.0}) {
      for (unsigned bytes : {2u, 4u}) {
        RegionSummary region = columnsOf(width, 1e6, bytes);
        ScheduleCandidate schedule = first(region, arch);
        int64_t blocks = groupsOf(region, schedule) * schedule.numbers.split;
        EXPECT_GE(2 * blocks, 4 * ScheduleDevice{arch}.processors())
            << width << " of " << bytes << " on sm_" << arch;
      }
    }
  }
  RegionSummary sum = columnsOf(8192, 16384);
  EXPECT_EQ(32 * first(sum, 80).numbers.split, 416);
  EXPECT_EQ(32 * first(sum, 90).numbers.split, 512);
  EXPECT_EQ(32 * first(sum, 100).numbers.split, 576);
  EXPECT_EQ(first(sum, 90).numbers.vector, 8);
  // Loads in flight: fewer for older devices and for several operands.
  EXPECT_EQ(first(sum, 80).numbers.unroll, 2);
  EXPECT_EQ(first(sum, 90).numbers.unroll, 4);
  RegionSummary two = sum;
  two.bytesAlongParallel = 4;
  EXPECT_EQ(first(two, 90).numbers.unroll, 2);
  // Registers of many sums.
  EXPECT_LE(first(columnsOf(8192, 16384, 2, 5), 100).numbers.unroll,
            first(sum, 100).numbers.unroll);
  // Registers are limited so that four blocks are resident; fewer blocks if much is computed per
  // element.
  EXPECT_EQ(first(sum, 90).numbers.resident, 4);
  EXPECT_EQ(first(columnsOf(8192, 16384, 4, 3), 90).numbers.resident, 1);
  RegionSummary heavy = sum;
  heavy.weight = 40;
  EXPECT_EQ(first(heavy, 90).numbers.resident, 1);
  EXPECT_LE(first(heavy, 90).numbers.unroll, 2);
  EXPECT_LT(first(heavy, 90).numbers.split, first(sum, 90).numbers.split);
  // Enough columns for all blocks, so rows are not split.
  EXPECT_EQ(first(columnsOf(262144, 16384), 90).numbers.split, 1);
  EXPECT_EQ(first(columnsOf(8192, 200), 90).numbers.split, 1);
  // Few columns: threads without columns take rows.
  EXPECT_EQ(first(columnsOf(64, 1e6), 90).numbers.threadsX, 8);
  EXPECT_EQ(first(columnsOf(8, 1e6, 4), 90).numbers.threadsX, 2);
  EXPECT_EQ(first(columnsOf(8192, 1e6), 90).numbers.threadsX, 32);
  // An odd number of columns is read one by one; an unknown number may be a multiple of a vector.
  EXPECT_EQ(first(columnsOf(8191, 16384), 90).numbers.vector, 1);
  EXPECT_EQ(first(columnsOf(8191, 16384, 2, 1, false), 90).numbers.vector, 8);
}

TEST(Schedule, FullReductionsFillADevice) {
  auto first = [](const RegionSummary &region, unsigned arch) {
    return listSchedules(region, {arch}).front();
  };
  for (unsigned arch : {80u, 90u, 100u}) {
    int64_t processors = ScheduleDevice{arch}.processors();
    for (unsigned bytes : {1u, 2u, 4u, 8u}) {
      for (unsigned values : {1u, 2u, 5u, 20u}) {
        for (double count : {1.0, 5000.0, 1e5, 1e6, 1e9}) {
          RegionSummary region = reduction(1, count);
          region.bytesAlongReduced = region.narrowestBytes = region.widestBytes = bytes;
          region.carriedValues = region.carriedRegisters = values;
          ScheduleCandidate schedule = first(region, arch);
          EXPECT_EQ(schedule.kind, ScheduleKind::FullReduction);
          int64_t split = schedule.numbers.split, unroll = schedule.numbers.unroll;
          EXPECT_LE(split, 4 * processors);
          EXPECT_GE(split, count >= 1e9 ? processors : 1);
          EXPECT_LE(unroll, 8);
          // At least four chunks per thread.
          EXPECT_TRUE(split == 1 || double(split * 4 * 256 * schedule.numbers.vector) <= count);
          // Loads ahead never exceed 128 registers of a thread.
          EXPECT_TRUE(unroll == 1 ||
                      schedule.numbers.vector * (values + unroll * bytes / 4) <= 128);
        }
      }
    }
    EXPECT_EQ(first(reduction(1, 1e9), arch).numbers.split, 4 * processors);
    // Several rows share the blocks.
    EXPECT_EQ(first(reduction(16, 1 << 20), arch).numbers.split, 4 * processors / 16);
  }
  EXPECT_EQ(first(reduction(1, 1e9), 80).numbers.unroll, 2);
  EXPECT_EQ(first(reduction(1, 1e9), 90).numbers.unroll, 4);
}

TEST(Schedule, BytesInFlightAreThoseOfADevice) {
  EXPECT_EQ(ScheduleDevice{80}.bytesInFlight(), 800 * 2039 / 108);
  EXPECT_EQ(ScheduleDevice{90}.bytesInFlight(), 800 * 4800 / 132);
  EXPECT_EQ(ScheduleDevice{100}.bytesInFlight(), 800 * 8000 / 148);
}

/// Gradients of a norm: two tensors of the domain and a weight, and two sums over rows that would
/// otherwise read both tensors again.
BothWays bothWays(double rows, int64_t columns, unsigned arch, unsigned bytes = 2,
                  unsigned operands = 2, unsigned results = 2) {
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
            int64_t threads = both.numbers.threads, rows = both.numbers.rows,
                    vector = both.numbers.vector;
            EXPECT_GE(threads, 8);
            EXPECT_LE(threads * rows, 512);
            EXPECT_EQ(threads & (threads - 1), 0);
            EXPECT_EQ(columns % vector, 0);
            // Every thread has a chunk, except in the shortest rows.
            EXPECT_LE(threads, std::max<int64_t>(8, 2 * columns / vector));
            int64_t share = (columns / vector + threads - 1) / threads * vector;
            EXPECT_GE(both.registers, share * (operands + results + 1));
            EXPECT_LE(both.registers, 128);
            EXPECT_LE(both.sharedBytes, 48 << 10);
            // All blocks run at once.
            int64_t processors = ScheduleDevice{arch}.processors(), parts = both.numbers.parts;
            EXPECT_EQ(parts % processors, 0);
            EXPECT_EQ(parts, processors * both.numbers.resident);
            EXPECT_LE(both.numbers.resident * threads * rows * both.registers, 65536);
          }
        }
      }
    }
  }
  EXPECT_GT(taken, 200u);
}

TEST(Schedule, RowsAndColumnsFillADevice) {
  EXPECT_EQ(bothWays(32768, 4096, 80).numbers.parts, 216);
  EXPECT_EQ(bothWays(32768, 4096, 90).numbers.parts, 264);
  EXPECT_EQ(bothWays(32768, 4096, 100).numbers.parts, 296);
  EXPECT_EQ(bothWays(32768, 4096, 90).numbers.threads, 256);
  EXPECT_EQ(bothWays(262144, 512, 90).numbers.rows, 8);
  // One block per processor.
  EXPECT_EQ(bothWays(16384, 8192, 90).numbers.threads, 512);
  EXPECT_EQ(bothWays(16384, 8192, 90).numbers.parts, 132);
}

TEST(Schedule, RowsAndColumnsLoadAheadWhereRegistersAllow) {
  // Two blocks of 256 threads have no register to spare; one of 512 has.
  BothWays two = bothWays(32768, 4096, 90), one = bothWays(32768, 4096, 90, 2, 2, 3);
  EXPECT_EQ(two.numbers.resident, 2);
  EXPECT_EQ(two.numbers.unroll, 0);
  EXPECT_EQ(one.numbers.resident, 1);
  EXPECT_EQ(one.numbers.unroll, 2);
  EXPECT_LE(one.registers, 128);
}

TEST(Schedule, RowsAndColumnsMustPay) {
  EXPECT_EQ(bothWays(1024, 4096, 90).refusal, BothWays::Refusal::TooFewRows);
  EXPECT_EQ(bothWays(16, 64, 90).refusal, BothWays::Refusal::TooFewRows);
  EXPECT_EQ(bothWays(1e6, 16384, 90).refusal, BothWays::Refusal::TooManyRegisters);
  EXPECT_EQ(bothWays(1e6, 0, 90).refusal, BothWays::Refusal::UnknownLength);
}
} // namespace
