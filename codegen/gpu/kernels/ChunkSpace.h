#pragma once

#include "codegen/gpu/emit/MixedRadixCounter.h"
#include "kernel/VectorAccesses.h"

/// Some dims of the domain, swept in chunks of `width` elements along the lane dim.
///
/// The lane dim is the innermost; the others keep their order. Chunks are numbered row by row, so
/// neighbouring threads take neighbouring chunks. An access is one vector access if three
/// conditions hold. `isAligned` emits their test, which is uniform over the grid; it leaves out
/// pointers that the program assumes to be aligned:
///
///   * the lane dim's size is a multiple of the width, so no chunk is partial (not tested
///     where there is one dim and the caller handles the tail);
///   * every term of the address but the lane dim is a multiple of the width: products of
///     coefficients and parameters are tested, dims may have any value;
///   * the tensor's pointer is a multiple of 16 bytes (or of the vector's size).
///
/// Addresses that can never be aligned (kernel/VectorAccesses.h) are read element by element,
/// beside others that are vectors.
namespace mlir::frit {

class ChunkSpace {
public:
  /// `begin`, `end`: the range of domain dims, with `lane` among them. The width is 1 if no access
  /// can be a vector.
  ChunkSpace(const KernelProgram &program, unsigned begin, unsigned end, unsigned lane,
             unsigned width);

  unsigned getWidth() const { return width; }
  unsigned getLaneDim() const { return dims.back(); }
  bool isOneDim() const { return dims.size() == 1; }
  SizeExpr getLaneExtent() const { return laneExtent; }
  SizeExpr getElements() const { return outer * laneExtent; }
  /// The number of chunks. The last chunk of a row may be partial.
  SizeExpr getChunks() const { return outer * chunksPerRow; }
  bool dividesEvenly() const { return laneExtent.getContentDivisor() % width == 0; }
  /// Whether the width divides the lane dim at run time, and whether it does not.
  Value hasWholeChunks(GpuFunction &function) const;
  Value hasPartialChunk(GpuFunction &function) const;

  /// Null if it always holds, as for a width of 1; a constant if it never does.
  Value isAligned(GpuFunction &function, bool wholeChunks) const;
  const llvm::DenseSet<Attribute> &getVectorAddresses() const { return vectors.addresses; }

  /// Binds the frame to a chunk of full width, without a mask; returns its first position along the
  /// lane dim.
  Value bindChunk(GpuFunction &function, Frame &frame, Value chunk) const;
  /// Binds the frame to one element, counted row by row.
  void bindElement(GpuFunction &function, Frame &frame, Value element) const;

  /// Counters that carry the place of a chunk, or of an element, through a loop.
  MixedRadixCounter countChunks(GpuFunction &function) const {
    return count(function, chunksPerRow, width);
  }
  MixedRadixCounter countElements(GpuFunction &function) const {
    return count(function, laneExtent, 1);
  }
  /// The same for a carried place.
  Value bindChunk(GpuFunction &function, Frame &frame, const MixedRadixCounter &counter,
                  ArrayRef<Value> place) const;
  void bindElement(Frame &frame, const MixedRadixCounter &counter, ArrayRef<Value> place) const;
  /// Binds one step of a sweep over chunks: by its carried place if there is one, by its number
  /// otherwise. `isMasked`: masks the lanes beyond the lane dim.
  void bindStep(GpuFunction &function, Frame &frame, const MixedRadixCounter &counter, Value chunk,
                ArrayRef<Value> place, bool isMasked) const;

private:
  MixedRadixCounter count(GpuFunction &function, SizeExpr perRow, int64_t unit) const;

  const KernelProgram &program;
  SmallVector<unsigned> dims;
  VectorAccesses vectors;
  unsigned width;
  SizeExpr laneExtent, outer, chunksPerRow;
};

} // namespace mlir::frit
