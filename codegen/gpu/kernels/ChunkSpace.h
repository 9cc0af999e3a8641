#pragma once

#include "codegen/gpu/emit/Odometer.h"

/// Domain dims walked in chunks of `width` elements along the lane dim.
///
/// The lane dim is the innermost; the others keep their order outside of it. Chunks
/// are numbered row by row, so neighbouring threads take neighbouring chunks. An
/// access is made as one vector where three things hold, and `isAligned` is their
/// test (one value, the same for all threads of the grid; pointers are left out where the program
/// assumes them to be aligned):
///
///   * the lane dim's size is a multiple of the width, so that no chunk is partial
///     (skipped where there is one dim and the caller treats the tail itself);
///   * every term of the address but the lane dim is a multiple of the width:
///     coefficient times parameters is tested, dims may be anything;
///   * the tensor's pointer is a multiple of 16 bytes (or of the vector).
///
/// Addresses with a constant part that is no multiple (x[1:]) can never be aligned;
/// they are not in `vectorAddresses` and are read element by element beside others
/// that are vectors.
namespace mlir::frit {

class ChunkSpace {
public:
  /// `dims`: [begin, end) of the domain; `lane` is one of them. Where nothing can be a vector the
  /// width is 1, whatever is asked for.
  ChunkSpace(const KernelProgram &program, unsigned begin, unsigned end, unsigned lane,
             unsigned width);

  unsigned getWidth() const { return width; }
  unsigned getLaneDim() const { return dims.back(); }
  bool isOneDim() const { return dims.size() == 1; }
  SizeExpr getLaneExtent() const { return laneExtent; }
  SizeExpr getElements() const { return outer * laneExtent; }
  /// Rounded up: the last chunk of a row may be partial.
  SizeExpr getChunks() const { return outer * chunksPerRow; }
  bool dividesEvenly() const { return laneExtent.getContentDivisor() % width == 0; }
  /// Whether it does at run time, or does not.
  Value hasWholeChunks(GpuFunction &function) const;
  Value hasPartialChunk(GpuFunction &function) const;

  /// Null if it always holds, as for a width of 1; a constant if it never does.
  Value isAligned(GpuFunction &function, bool wholeChunks) const;
  const llvm::DenseSet<Attribute> &getVectorAddresses() const { return vectorAddresses; }

  /// Binds the frame to a chunk of full width without a mask; returns its first
  /// position along the lane dim.
  Value bindChunk(GpuFunction &function, Frame &frame, Value chunk) const;
  /// Binds the frame to one element, counted row by row.
  void bindElement(GpuFunction &function, Frame &frame, Value element) const;

  /// What carries the place of a chunk, or of an element, through a loop.
  Odometer countChunks(GpuFunction &function) const { return count(function, chunksPerRow, width); }
  Odometer countElements(GpuFunction &function) const { return count(function, laneExtent, 1); }
  /// The same for a place that was carried.
  Value bindChunk(GpuFunction &function, Frame &frame, const Odometer &odometer,
                  ArrayRef<Value> place) const;
  void bindElement(Frame &frame, const Odometer &odometer, ArrayRef<Value> place) const;
  /// A step of a sweep over chunks: its number, or its place if that is carried. `isMasked`: with a
  /// mask of the lanes inside of the lane dim.
  void bindStep(GpuFunction &function, Frame &frame, const Odometer &odometer, Value chunk,
                ArrayRef<Value> place, bool isMasked) const;

private:
  Odometer count(GpuFunction &function, SizeExpr perRow, int64_t unit) const;

  const KernelProgram &program;
  SmallVector<unsigned> dims;
  unsigned width;
  SizeExpr laneExtent, outer, chunksPerRow;
  llvm::DenseSet<Attribute> vectorAddresses;
  /// What must be a multiple of the width at run time.
  SmallVector<SizeExpr> conditions;
  /// (tensor, whether it is a result) -> bytes its pointer must be a multiple of.
  llvm::MapVector<std::pair<unsigned, unsigned>, unsigned> pointers;
};

/// Lanes for one thread, by what is read or written contiguously along `lane` (KernelShapes.h).
unsigned chooseWidth(const KernelProgram &program, unsigned lane);

} // namespace mlir::frit
