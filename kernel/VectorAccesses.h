#pragma once

#include "kernel/KernelProgram.h"

#include "llvm/ADT/MapVector.h"

/// The accesses of a kernel that can be vectors along a dim, and under which conditions.
namespace mlir::frit {

struct VectorAccesses {
  /// Elements of a vector; 1 if no access can be one.
  unsigned width = 1;
  /// The addresses whose accesses can be vectors. Those with a constant term that is not a multiple
  /// of the width (x[1:]) never can.
  llvm::DenseSet<Attribute> addresses;
  /// Sizes that must be multiples of the width at run time.
  SmallVector<SizeExpr> conditions;
  /// (tensor, is a result) -> the bytes of which its pointer must be a multiple.
  llvm::MapVector<std::pair<unsigned, unsigned>, unsigned> pointers;

  VectorAccesses(const KernelProgram &program, unsigned lane, unsigned width);
};

/// The loads that read neighbours of each other at every point of the domain, with a stride (the
/// corners of a box): two or four elements that begin at a multiple of as many. Address -> the
/// bytes of which the tensor's pointer must be a multiple for them to be one access.
llvm::DenseMap<Attribute, unsigned> findNeighbours(const KernelProgram &program);

/// The number of chunks of `width` elements along `lane` in the dims [begin, end). The last chunk
/// of a row may be partial.
SizeExpr countChunks(const KernelProgram &program, unsigned begin, unsigned end, unsigned lane,
                     int64_t width);
/// Whether no chunk is partial, whatever the sizes are.
bool hasWholeChunks(const KernelProgram &program, unsigned lane, int64_t width);

/// Calls `visit(tensor, isResult, element, address)` for every access.
void forEachAccess(const KernelProgram &program,
                   llvm::function_ref<void(unsigned, bool, Type, SizeExpr)> visit);

} // namespace mlir::frit
