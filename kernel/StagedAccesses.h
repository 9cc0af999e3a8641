#pragma once

#include "kernel/KernelProgram.h"

/// The accesses of a transpose that go through tiles in shared memory.
namespace mlir::frit {

/// Threads of a block along the edge of a tile, and rows of a tile that they take at once.
inline constexpr uint32_t kTileColumns = 32, kTileRows = 8;

/// The edge of a tile, by the number of neighbours that a thread takes at once.
constexpr uint32_t tileOf(unsigned neighbours) { return kTileColumns * neighbours; }

/// The pitch of shared memory: elements from one row to the next. One more than the edge avoids
/// bank conflicts in both directions; pairs of bytes need an odd number of words for two rows.
constexpr uint32_t pitchOf(unsigned neighbours, unsigned bytes) {
  return tileOf(neighbours) + (neighbours > 1 && bytes == 1 ? 2 : 1);
}

/// Loads by node and stores by their number that are contiguous along `across` and strided along
/// `lane`. Loads whose address depends on data or bounds are not among them.
struct StagedAccesses {
  SmallVector<unsigned> loads, stores;
  /// Bytes of the narrowest and of the widest element.
  unsigned narrowest = 8, widest = 1;
  /// Bytes of their tiles, for threads that take so many neighbours.
  uint32_t bytes = 0;

  StagedAccesses(const KernelProgram &program, unsigned lane, unsigned across, unsigned neighbours);
  static uint32_t bytesOf(Type element, unsigned neighbours);
};

} // namespace mlir::frit
