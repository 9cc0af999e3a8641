#pragma once

#include "kernel/KernelProgram.h"

#include "llvm/ADT/MapVector.h"

/// The accesses of a kernel that can be vectors along a dim, and under which conditions.
namespace mlir::frit {

struct VectorAccesses {
  /// Elements of a vector; 1 if no access can be one.
  unsigned width = 1;
  /// The addresses whose accesses can be vectors. Those with a constant term that is no multiple of
  /// the width (x[1:]) never can.
  llvm::DenseSet<Attribute> addresses;
  /// Sizes that must be multiples of the width at run time.
  SmallVector<SizeExpr> conditions;
  /// (tensor, is a result) -> the bytes of which its pointer must be a multiple.
  llvm::MapVector<std::pair<unsigned, unsigned>, unsigned> pointers;

  VectorAccesses(const KernelProgram &program, unsigned lane, unsigned width);
};

/// Calls `visit(tensor, isResult, element, address)` for every access.
void forEachAccess(const KernelProgram &program,
                   llvm::function_ref<void(unsigned, bool, Type, SizeExpr)> visit);

} // namespace mlir::frit
