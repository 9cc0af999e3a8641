#pragma once

#include <cstdlib>

/// Mistakes on purpose, one for each class of silent errors (tests/README.md). FRIT_PLANT=n plants
/// the n-th, to check that the tests of that class fail; `scripts/planted` runs all. The number is
/// part of the compiler's identity, therefore of every cache key, and is named in reports.
namespace mlir::frit {

/// The classes whose mistake is planted in the compiler. Those of the others are in
/// python/frit/planted.py.
enum class Mistake : unsigned {
  /// Addresses are computed in 32 bits.
  Index32 = 1,
  /// Sums and products of int64 are accumulated in 32 bits.
  Value32 = 2,
  /// Additions of signed integers are marked as not overflowing.
  SignedOverflow = 3,
  /// A small integer that is widened is computed wide from the start, so that it does not wrap.
  LateWrap = 4,
  /// Floor division of integers forgets the signs.
  DivisionSign = 5,
  /// x // y of floats is the floor of the rounded quotient.
  FloatFloorDivision = 6,
  /// x + 0 is x, also for -0.0.
  AddedZero = 7,
  /// The larger of a number and a NaN may be the number.
  NanIgnored = 8,
  /// An arg-reduction gives the position of the last of several equal elements.
  LastOfTies = 9,
  /// Casts of the program that round are elided as those of half types' arithmetic are.
  ElidedCasts = 10,
  /// Comparisons see half types before they are rounded.
  UnroundedComparison = 11,
  /// Booleans are added as bits, small integers in their own type.
  NarrowSums = 12,
  /// A scalar's category does not count beside a tensor's.
  Promotion = 13,
  /// Floats become uint8 by way of int8, which saturates.
  CastRange = 14,
  /// Kernels run with denormals flushed to zero.
  Denormals = 16,
  /// The mean of nothing is 0.
  EmptyMean = 17,
  /// A reduction of a tensor of rank 0 is the tensor.
  RankZero = 18,
  /// Arguments with a stride of 0 are read as contiguous ones.
  StrideZero = 19,
  /// Kernels read tensors whose sizes vary as contiguous ones.
  DynamicStrides = 20,
  /// Results are promised contiguous.
  ResultStrides = 21,
  /// as_strided addresses the storage that the compiler chose, not the program's.
  PlacesOfOthers = 22,
  /// Vectors are loaded as if they began at multiples of their size.
  AlignedLoads = 23,
  /// Stores to arguments are not moved behind the readers of the argument.
  StoreOrder = 24,
  /// A clone shares the storage of its operand.
  SharedClone = 25,
  /// A buffer is free after the first operation that reads it, not the last.
  EarlyReuse = 26,
  /// No barrier separates writes to shared memory from the reads of other warps of the block.
  Barrier = 27,
  /// Indices are not checked.
  IndexChecks = 28,
  /// Kernels run over the sizes that the graph was traced with, and nothing checks those of a call.
  StaleSizes = 29,
  /// Lanes beyond the end of a row take part in its reduction.
  Padding = 30,
  /// Random operators count as pure: equal ones are merged.
  PureDraws = 31,
  /// The gradient of relu passes at 0.
  GradientAtTie = 32,
  /// A conjugated view is read as if it were not conjugated.
  ConjugateBit = 33,
  /// Two views that are composed lose the fill outside of the bounds.
  LostFill = 34,
  /// The graph is verified again after each operator.
  Quadratic = 36,
};

inline unsigned plantedClass() {
  static const unsigned number = [] {
    const char *text = std::getenv("FRIT_PLANT");
    return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 0u;
  }();
  return number;
}

inline bool isPlanted(Mistake mistake) { return plantedClass() == static_cast<unsigned>(mistake); }

} // namespace mlir::frit
