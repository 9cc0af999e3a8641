#pragma once

#include "kernel/KernelProgram.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringMap.h"

/// The program of a kernel as a GPU runs it, for schedules and generators.
namespace mlir::frit {

/// Pointers of a kernel (operands, then results) that share storage with another one.
using SharedPointers = llvm::SmallSet<unsigned, 4>;

/// For each kernel the pointers that share storage with another pointer in some launch: the plan
/// lets a result overwrite an operand that is not read again. The result of an ATen operator may be
/// a view of an argument.
llvm::StringMap<SharedPointers> findSharedPointers(ModuleOp module);

/// Builds the program of a kernel. `isInPlace`: some pointers are shared, so the order in which
/// elements are read is that of the buffer plan.
FailureOr<KernelProgram> buildGpuProgram(KernelOp kernel, bool isInPlace);

} // namespace mlir::frit
