// Tests every decision on a kernel's shape over a grid of rows, accesses and tiles.
#include "passes/schedule/GpuShapes.h"
#include "kernel/StagedAccesses.h"

#include "llvm/Support/MathExtras.h"

#include <gtest/gtest.h>

using namespace mlir::frit;

namespace {

RowNumbers known(int64_t chunks, unsigned width = 8, unsigned loads = 1) {
  RowNumbers row;
  row.chunks = chunks;
  row.width = width;
  row.loads = loads;
  row.isReadAgain = true;
  return row;
}

RowNumbers unknown(int64_t threads, unsigned width = 8, unsigned loads = 1) {
  RowNumbers row = known(0, width, loads);
  row.chunks.reset();
  row.threads = threads;
  row.vector = width;
  return row;
}

void expectShape(const RowNumbers &row, uint32_t threads, uint32_t block, unsigned kept,
                 uint32_t cluster = 1) {
  RowShape shape = shapeRows(row);
  EXPECT_EQ(shape.threads, threads);
  EXPECT_EQ(shape.block, block);
  EXPECT_EQ(shape.kept, kept);
  EXPECT_EQ(shape.cluster, cluster);
}

TEST(GpuShapes, FamiliesFollowTheLaneDimAndTheNumberOfRows) {
  auto facts = [](bool isLaneReduced, bool hasParallel, bool splits) {
    FamilyFacts kernel;
    kernel.reduces = kernel.hasLane = true;
    kernel.isLaneReduced = isLaneReduced;
    kernel.hasParallel = hasParallel;
    kernel.splits = splits;
    return kernel;
  };
  EXPECT_EQ(chooseGpuFamily({}), GpuFamily::Pointwise);
  EXPECT_EQ(chooseGpuFamily(facts(true, true, false)), GpuFamily::Rows);
  EXPECT_EQ(chooseGpuFamily(facts(false, true, false)), GpuFamily::Columns);
  EXPECT_EQ(chooseGpuFamily(facts(false, true, true)), GpuFamily::Columns);
  EXPECT_EQ(chooseGpuFamily(facts(true, true, true)), GpuFamily::SplitRows);
  EXPECT_EQ(chooseGpuFamily(facts(true, false, false)), GpuFamily::SplitRows);
  // One block sweeps such short rows as fast.
  for (auto [chunks, family] : {std::pair(int64_t(4096), GpuFamily::Rows),
                                std::pair(int64_t(4097), GpuFamily::SplitRows)}) {
    FamilyFacts single = facts(true, false, false), shared = facts(true, true, true);
    single.mostChunks = shared.mostChunks = chunks;
    EXPECT_EQ(chooseGpuFamily(single), family);
    EXPECT_EQ(chooseGpuFamily(shared), family);
  }
  // A reduction over one point has no lanes.
  FamilyFacts point = facts(false, false, false);
  point.hasLane = false;
  EXPECT_EQ(chooseGpuFamily(point), GpuFamily::Pointwise);
  FamilyFacts moves;
  moves.hasLane = moves.transposes = true;
  EXPECT_EQ(chooseGpuFamily(moves), GpuFamily::Transpose);
  // The order of precedence: both ways, then lists.
  moves.isList = true;
  EXPECT_EQ(chooseGpuFamily(moves), GpuFamily::Pointwise);
  moves.reducesAcross = true;
  EXPECT_EQ(chooseGpuFamily(moves), GpuFamily::RowsAndColumns);
}

TEST(GpuShapes, SingleElementsAreLoadedTogetherUntilMemoryIsBusy) {
  struct Case {
    int64_t elements;
    unsigned bytes, heavyFunctions;
    int64_t together;
  };
  for (auto [elements, bytes, heavyFunctions, together] :
       {Case{8, 2, 0, 8}, Case{16, 2, 0, 16}, Case{8, 4, 0, 8}, Case{8, 6, 0, 8}, Case{8, 8, 0, 4},
        Case{4, 4, 0, 4}, Case{4, 8, 0, 4}, Case{4, 32, 0, 1}, Case{8, 6, 1, 4}, Case{8, 2, 1, 8},
        Case{8, 0, 0, 1}, Case{1, 4, 0, 1}}) {
    EXPECT_EQ(chooseTogether({elements, bytes, heavyFunctions}), together)
        << elements << " elements of " << bytes << " bytes, " << heavyFunctions << " functions";
  }
}

TEST(GpuShapes, ThreadsTakeSeveralElementsIfNoneAreVectorsAndAllAreMany) {
  constexpr int64_t many = 1 << 24;
  // One operand of halves, of floats, two of floats; a function; none.
  EXPECT_EQ(chooseSingles({.bytes = 2}, many), 16);
  EXPECT_EQ(chooseSingles({.bytes = 4}, many), 8);
  EXPECT_EQ(chooseSingles({.bytes = 8}, many), 4);
  EXPECT_EQ(chooseSingles({.bytes = 4, .heavyFunctions = 1}, many), 4);
  EXPECT_EQ(chooseSingles({.bytes = 0}, many), 1);
  // A quarter of a million threads are left.
  EXPECT_EQ(chooseSingles({.bytes = 4}, 1 << 21), 8);
  EXPECT_EQ(chooseSingles({.bytes = 4}, (1 << 21) - 1), 4);
  EXPECT_EQ(chooseSingles({.bytes = 4}, 1000), 1);
}

TEST(GpuShapes, ScansTakeAThreadAColumnWhereColumnsAreMany) {
  struct Case {
    ScanNumbers scan;
    int64_t threads, block, unroll;
  };
  for (const auto &[scan, threads, block, unroll] :
       {// Rows of f32: 64, 768 and 65536 elements.
        Case{{false, 16, 4, 1000, 4}, 8, 128, 4}, Case{{false, 192, 4, 1000, 4}, 64, 64, 4},
        Case{{false, 16384, 4, 1000, 4}, 512, 512, 4},
        // Chunks of bf16, and of one element.
        Case{{false, 96, 8, 1000, 2}, 64, 64, 2}, Case{{false, 1, 1, 1000, 4}, 8, 128, 4},
        // Columns: many, few short ones, and few long ones.
        Case{{true, 768, 1, 4096, 4}, 1, 32, 8}, Case{{true, 768, 1, 1 << 20, 2}, 1, 128, 16},
        Case{{true, 64, 1, 4, 8}, 1, 32, 4}, Case{{true, 65, 1, 4, 4}, 32, 128, 4}}) {
    ScanShape shape = shapeScan(scan);
    EXPECT_EQ(shape.threads, threads) << scan.chunks << " chunks, " << scan.rows << " rows";
    EXPECT_EQ(shape.block, block) << scan.chunks << " chunks, " << scan.rows << " rows";
    EXPECT_EQ(shape.unroll, unroll) << scan.chunks << " chunks, " << scan.rows << " rows";
  }
}

TEST(GpuShapes, ThreadsOfARowGrowWithItsLength) {
  // Rows of bf16: 64, 128, 256, 1024, 4096, 16384 and 32768 elements.
  expectShape(known(8), 8, 128, 1);
  expectShape(known(16), 16, 128, 1);
  expectShape(known(32), 32, 128, 1);
  expectShape(known(128), 32, 128, 4);
  expectShape(known(512), 128, 128, 4);
  expectShape(known(2048), 512, 512, 4);
  expectShape(known(4096), 512, 512, 8);
  // One chunk more than the registers of one block hold: read twice, unless the schedule has
  // several blocks.
  expectShape(known(4097), 512, 512, 0);
  RowNumbers shared = known(8192);
  shared.cluster = 2;
  expectShape(shared, 512, 512, 8, 2);
  // Blocks are as small as asked for, and as keep the row.
  shared.cluster = 4;
  expectShape(shared, 256, 256, 8, 4);
  // Registers are left for two blocks if a thread keeps 64 elements, and for three if it keeps 32.
  EXPECT_EQ(shapeRows(shared).resident, 2u);
  shared.cluster = 8;
  expectShape(shared, 256, 256, 4, 8);
  EXPECT_EQ(shapeRows(shared).resident, 3u);
  shared.cluster = 4;
  shared.threads = 512;
  expectShape(shared, 512, 512, 4, 4);
  EXPECT_EQ(shapeRows(shared).resident, 1u);
}

TEST(GpuShapes, BlocksAreResidentByTheRegistersOfWhatWaits) {
  // Rows of 4096 halves, 32 elements a thread.
  RowNumbers row = known(512);
  auto residentOf = [](RowNumbers numbers) { return shapeRows(numbers).resident; };
  EXPECT_EQ(shapeRows(row).kept * row.width, 32u);
  EXPECT_EQ(residentOf(row), 8u);
  row.ownRegisters = 48;
  EXPECT_EQ(residentOf(row), 6u);
  row.ownRegisters = 32;
  row.values = 2;
  EXPECT_EQ(residentOf(row), 5u);
  row.values = 3;
  EXPECT_EQ(residentOf(row), 4u);
  row.values = 4;
  EXPECT_EQ(residentOf(row), 1u);
  row.values = 1;
  RowNumbers wide = row, positions = row, unknownLength = unknown(128);
  wide.isWide = positions.hasPositions = true;
  EXPECT_EQ(residentOf(wide), 5u);
  EXPECT_EQ(residentOf(positions), 1u);
  EXPECT_EQ(residentOf(unknownLength), 1u);
  // A cluster: 64 elements a thread in 80 registers; where they cannot be counted, in 128.
  RowNumbers shared = known(16384);
  shared.cluster = 8;
  shared.ownRegisters = 16;
  expectShape(shared, 256, 256, 8, 8);
  EXPECT_EQ(residentOf(shared), 3u);
  shared.ownRegisters = 80;
  EXPECT_EQ(residentOf(shared), 2u);
}

TEST(GpuShapes, ManyShortRowsAreLoadedAtOnce) {
  // 128 bf16: 16 bytes a thread.
  RowNumbers row = known(16);
  row.bytes = 2;
  auto rowsOf = [](RowNumbers numbers, int64_t count) {
    numbers.expectedRows = count;
    return shapeRows(numbers).rows;
  };
  EXPECT_EQ(rowsOf(row, 1 << 20), 2u);
  EXPECT_EQ(rowsOf(row, 1 << 17), 2u);
  EXPECT_EQ(rowsOf(row, (1 << 17) - 1), 1u);
  RowNumbers bytes = row;
  bytes.bytes = 1;
  EXPECT_EQ(rowsOf(bytes, 1 << 20), 4u);
  RowNumbers two = row, wide = row, positions = row, full = row, unknownLength = row;
  two.bytes = 4;
  EXPECT_EQ(rowsOf(two, 1 << 20), 1u);
  full.bytes = 8;
  wide.isWide = positions.hasPositions = true;
  unknownLength.chunks.reset();
  for (const RowNumbers &other : {full, wide, positions, unknownLength, known(256)}) {
    EXPECT_EQ(rowsOf(other, 1 << 24), 1u);
  }
}

TEST(GpuShapes, SeveralOperandsTakeMoreThreads) {
  expectShape(known(512, 8, 2), 128, 128, 4);
  expectShape(known(512, 8, 4), 256, 256, 2);
  expectShape(known(512, 8, 8), 512, 512, 1);
  expectShape(known(1024, 8, 8), 256, 256, 0);
}

TEST(GpuShapes, FewRowsHaveSmallBlocks) {
  for (auto [rows, block] :
       {std::pair(1, 32u), std::pair(2, 64u), std::pair(3, 128u), std::pair(100, 128u)}) {
    RowNumbers row = known(128);
    row.rows = rows;
    expectShape(row, 32, block, 4);
  }
  RowNumbers tiny = known(2);
  tiny.rows = 1;
  expectShape(tiny, 8, 32, 1);
}

TEST(GpuShapes, RowsThatAreNotWholeOrEmptyAreNotKept) {
  RowNumbers partial = known(100);
  partial.hasWholeChunks = false;
  EXPECT_EQ(shapeRows(partial).kept, 0u);
  EXPECT_EQ(shapeRows(known(0)).kept, 0u);
}

TEST(GpuShapes, RowsOfUnknownLengthAreKeptWhereTheyAreReadAgain) {
  expectShape(unknown(128), 256, 256, 4);
  expectShape(unknown(256), 512, 512, 4);
  RowNumbers once = unknown(128);
  once.isReadAgain = false;
  expectShape(once, 128, 128, 0);
  // Threads are at their limit: more registers instead, at least for the expected length.
  expectShape(unknown(512), 512, 512, 8);
  expectShape(unknown(1024), 512, 512, 8);
  // Several operands need more threads first, then more registers.
  expectShape(unknown(128, 8, 2), 512, 512, 2);
  expectShape(unknown(256, 8, 2), 512, 512, 4);
  expectShape(unknown(512, 8, 2), 512, 512, 4);
  expectShape(unknown(1024, 8, 2), 512, 512, 0);
  expectShape(unknown(128, 4, 2), 256, 256, 4);
  expectShape(unknown(128, 8, 8), 512, 512, 1);
  expectShape(unknown(128, 8, 9), 128, 128, 0);
  // Stored values count like operands.
  RowNumbers waiting = unknown(128);
  waiting.values = 3;
  expectShape(waiting, 512, 512, 2);
  // They may take 64 registers at once.
  waiting.values = 2;
  expectShape(waiting, 256, 256, 4);
  // Chunks narrower than the schedule's are more numerous.
  RowNumbers narrow = unknown(128, 1);
  narrow.vector = 8;
  expectShape(narrow, 512, 512, 16);
  // 64-bit numbers.
  RowNumbers wide = unknown(256, 2);
  wide.isWide = true;
  expectShape(wide, 512, 512, 4);
  wide.threads = 512;
  expectShape(wide, 512, 512, 4);
  wide.loads = 2;
  expectShape(wide, 512, 512, 0);
  RowNumbers bounded = unknown(256);
  bounded.mostChunks = 100;
  expectShape(bounded, 32, 128, 4);
  bounded.mostChunks = 0;
  expectShape(bounded, 8, 128, 1);
}

TEST(GpuShapes, RowsAsLongAsInTheFirstCallHaveAFormOfTheirOwn) {
  // Four chunks are kept by each of 256 threads.
  for (auto [chunks, usual] :
       {std::pair(1, 1u), {256, 1u}, {257, 2u}, {512, 2u}, {768, 3u}, {769, 0u}, {0, 0u}}) {
    RowNumbers row = unknown(128);
    row.expectedChunks = chunks;
    EXPECT_EQ(shapeRows(row).usual, usual) << chunks;
  }
  EXPECT_EQ(shapeRows(known(512)).usual, 0u);
}

TEST(GpuShapes, RowsThatAreNoWholeChunksAreKeptByElements) {
  RowNumbers row = unknown(128);
  EXPECT_EQ(shapeRows(row).keptElements, 0u);
  row.hasWholeChunks = false;
  EXPECT_EQ(shapeRows(row).keptElements, 32u);
  row.loads = 2;
  EXPECT_EQ(shapeRows(row).keptElements, 16u);
  // Twice the expected length in both cases.
  EXPECT_EQ(shapeRows(row).keptElements * shapeRows(row).threads, 2u * 4096);
  row.loads = 1;
  row.threads = 512;
  EXPECT_EQ(shapeRows(row).keptElements, 32u);
  row.isReadAgain = false;
  EXPECT_EQ(shapeRows(row).keptElements, 0u);
  // A chunk of one element is stored as one.
  RowNumbers single = unknown(128, 1);
  single.hasWholeChunks = false;
  EXPECT_EQ(shapeRows(single).keptElements, 0u);
  RowNumbers length = known(100);
  length.hasWholeChunks = false;
  EXPECT_EQ(shapeRows(length).keptElements, 0u);
}

TEST(GpuShapes, LanesAskedForAreTaken) {
  for (int64_t lanes : {32, 128, 256}) {
    RowNumbers row = known(256);
    row.rowThreads = lanes;
    EXPECT_EQ(shapeRows(row).threads, lanes);
  }
}

/// Limits of every row, whatever is requested.
TEST(GpuShapes, NoRowExceedsItsBudget) {
  for (int64_t chunks : {-1,  0,   1,    2,    7,    8,    9,    31,    33,    127,    129,
                         500, 512, 1000, 2047, 2049, 4096, 8192, 16384, 65536, 1 << 20}) {
    for (unsigned width : {1, 2, 4, 8}) {
      for (unsigned loads : {0, 1, 2, 3, 5, 9}) {
        for (int64_t rows : {0, 1, 2, 3, 4, 1000}) {
          for (int64_t asked : {0, 1, 3, 32, 512, 4096}) {
            for (int64_t cluster : {1, 2, 3, 8, 64}) {
              RowNumbers row =
                  chunks < 0 ? unknown(asked, width, loads) : known(chunks, width, loads);
              row.rows = rows;
              row.rowThreads = asked;
              row.cluster = cluster;
              row.hasWholeChunks = chunks >= 0 || rows % 2 == 0;
              if (chunks < 0 && asked) {
                row.mostChunks = 8 * asked;
              }
              RowShape shape = shapeRows(row);
              SCOPED_TRACE(testing::Message() << chunks << " chunks of " << width << ", " << loads
                                              << " loads, " << rows << " rows, asked for " << asked
                                              << " threads and " << cluster << " blocks");
              EXPECT_TRUE(llvm::isPowerOf2_32(shape.threads) && llvm::isPowerOf2_32(shape.block) &&
                          llvm::isPowerOf2_32(shape.cluster));
              EXPECT_TRUE(shape.threads >= 8 && shape.threads <= shape.block &&
                          shape.block <= 512 && shape.block >= 32);
              EXPECT_LE(shape.cluster, 8u);
              EXPECT_LE(shape.kept * width * std::max(loads, 1u), 64u);
              EXPECT_LE(shape.keptElements * std::max(loads, 1u), 32u);
              EXPECT_LE(shape.keptElements, shape.kept * width);
              if (shape.kept != 0 && row.chunks) {
                EXPECT_GE(int64_t(shape.kept) * shape.threads * shape.cluster, *row.chunks);
              }
              if (shape.cluster > 1) {
                EXPECT_TRUE(shape.kept != 0 && shape.threads == shape.block);
              }
              ASSERT_FALSE(HasFailure());
            }
          }
        }
      }
    }
  }
}

TEST(GpuShapes, LanesAreSixteenBytesOfTheNarrowest) {
  EXPECT_EQ(chooseVectorWidth({}), 1u);
  EXPECT_EQ(chooseVectorWidth({2, 2, 2, 0}), 8u);
  EXPECT_EQ(chooseVectorWidth({1, 1, 2, 0}), 8u);
  EXPECT_EQ(chooseVectorWidth({2, 4, 3, 0}), 8u);
  EXPECT_EQ(chooseVectorWidth({4, 4, 3, 0}), 4u);
  EXPECT_EQ(chooseVectorWidth({8, 8, 3, 0}), 2u);
  // Long code is repeated for each lane.
  EXPECT_EQ(chooseVectorWidth({2, 2, 2, 4}), 8u);
  EXPECT_EQ(chooseVectorWidth({2, 2, 2, 5}), 4u);
  for (unsigned narrowest : {1, 2, 4, 8}) {
    for (unsigned widest : {1, 2, 4, 8}) {
      for (unsigned accesses = 1; accesses < 100; ++accesses) {
        unsigned lanes = chooseVectorWidth({narrowest, widest, accesses, 0});
        EXPECT_TRUE(llvm::isPowerOf2_32(lanes) && lanes * narrowest <= 16);
        EXPECT_TRUE(lanes == 1 || lanes * accesses * std::max(4u, widest) <= 256);
      }
    }
  }
}

TEST(GpuShapes, NarrowTilesAreOfPairs) {
  TileNumbers tile;
  tile.narrowest = tile.widest = 2;
  tile.bytesOfPairs = 64 * 65 * 2;
  EXPECT_EQ(chooseNeighbours(tile), 2u);
  TileNumbers large = tile, small = tile, odd = tile, wide = tile, heavy = tile, single = tile;
  large.lanes = large.across = 1024;
  large.elements = 1 << 20;
  EXPECT_EQ(chooseNeighbours(large), 2u);
  small.elements = (1 << 20) - 1;
  odd.across = 8191;
  wide.widest = 8;
  heavy.bytesOfPairs = kMostTileBytes + 1;
  single.narrowest = single.widest = 4;
  for (const TileNumbers &other : {small, odd, wide, heavy, single}) {
    EXPECT_EQ(chooseNeighbours(other), 1u);
  }
}

TEST(GpuShapes, LargeTilesAreOfSquares) {
  TileNumbers tile;
  tile.lanes = tile.across = 4096;
  tile.elements = 1 << 24;
  tile.isPlain = true;
  EXPECT_EQ(chooseNeighbours(tile), 4u);
  TileNumbers halves = tile, mixed = tile;
  halves.narrowest = halves.widest = halves.narrowestOfAll = halves.widestOfAll = halves.bytes = 2;
  EXPECT_EQ(chooseNeighbours(halves), 8u);
  mixed.narrowestOfAll = 2;
  EXPECT_EQ(chooseNeighbours(mixed), 4u);
  // Too few elements, no whole vectors, tiles that are half empty, sizes that are not known, many
  // operands, bytes, wide elements, too much shared memory.
  TileNumbers small = halves, odd = halves, narrow = halves, unknownSize = halves, many = halves,
              bytes = halves, wide = tile, indexed = tile, heavy = halves;
  heavy.bytes = 4;
  small.elements = (1 << 22) - 1;
  odd.across = 4092;
  narrow.lanes = 64;
  unknownSize.lanes.reset();
  many.accesses = 4;
  bytes.narrowestOfAll = 1;
  wide.widestOfAll = 8;
  indexed.isPlain = false;
  for (const TileNumbers &other :
       {small, odd, narrow, unknownSize, many, bytes, wide, indexed, heavy}) {
    EXPECT_LE(chooseNeighbours(other), 2u);
  }
}

} // namespace
