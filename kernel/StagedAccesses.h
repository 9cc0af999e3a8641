#pragma once

#include "kernel/KernelProgram.h"

/// The accesses of a transpose that go through tiles in shared memory.
namespace mlir::frit {

/// Threads of a block along the edge of a tile, and rows of a tile that they take at once.
inline constexpr uint32_t kTileColumns = 32, kTileRows = 8;

/// Shared memory that a launch gets without opting in to more.
inline constexpr int64_t kMostTileBytes = 48 << 10;

/// Squares of 16-byte vectors along the edge of a tile, if threads turn such.
inline constexpr uint32_t kSquares = 16;

/// The edge of a tile, by the number of neighbours that a thread takes at once. More than two of
/// them are a square.
constexpr uint32_t tileOf(unsigned neighbours) {
  return (neighbours > 2 ? kSquares : kTileColumns) * neighbours;
}

/// The pitch of shared memory: elements from one row to the next. One more than the edge avoids
/// bank conflicts in both directions; pairs of bytes need an odd number of words for two rows.
/// Squares are swizzled instead.
constexpr uint32_t pitchOf(unsigned neighbours, unsigned bytes) {
  return tileOf(neighbours) + (neighbours > 2 ? 0 : neighbours > 1 && bytes == 1 ? 2 : 1);
}

/// Loads by node and stores by their number that are contiguous along `across` and strided along
/// `lane`. Loads whose address depends on data or bounds are not among them.
struct StagedAccesses {
  SmallVector<unsigned> loads, stores;
  /// Bytes of the narrowest element, of the widest, and of one of each.
  unsigned narrowest = 8, widest = 1, bytesOfAll = 0;
  /// Bytes of their tiles, for threads that take so many neighbours.
  uint32_t bytes = 0;

  StagedAccesses(const KernelProgram &program, unsigned lane, unsigned across, unsigned neighbours);
  static uint32_t bytesOf(Type element, unsigned neighbours);
};

} // namespace mlir::frit
