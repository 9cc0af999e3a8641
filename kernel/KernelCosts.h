#pragma once

#include "kernel/KernelProgram.h"

/// The costs of a kernel program's code on a CPU that schedules and generators need.
namespace mlir::frit {

/// Steps of a reduction across the lanes of which strided operands are copied into lane order at
/// once: 64 KB with two vectors of f32. A multiple of every lane count. Longer reductions run in
/// stretches of so many steps.
inline constexpr int64_t kPackedSteps = 512;

/// Terms of a sum on a CPU that are added one by one; the sums of so many are added likewise, and
/// what is longer in f64.
inline constexpr int64_t kSumSteps[] = {16, 512};
static_assert(kPackedSteps % kSumSteps[1] == 0);

/// Whether a value costs more to compute than to load: exp, log, pow, trigonometric functions.
bool isCostly(const Node &node);

/// The approximate number of instructions for one vector of the values behind `known` that depend
/// on `lane` and on one of the dims `along` (a mask).
unsigned getBodyLength(const KernelProgram &program, ArrayRef<unsigned> roots, unsigned lane,
                       ArrayRef<unsigned> known = {}, uint32_t along = ~0u);

/// Whether the code reads or writes elements below 32 bits, which AVX2 cannot mask.
bool hasNarrowAccesses(const KernelProgram &program, ArrayRef<unsigned> roots, unsigned lane,
                       ArrayRef<unsigned> known = {}, uint32_t along = ~0u);

/// Whether the lanes of a load lie apart in memory.
bool isStrided(const KernelProgram &program, const Node &load, unsigned lane);

/// Elements of the domain that are worth a thread: about 10 us of vector work.
double getElementsOfThread(const KernelProgram &program);

/// Whether no result of the whole domain depends on the last round of reductions. Nothing sweeps
/// the domain after it then, so the results may be written in that sweep, even over the operands.
bool areStoresEarly(const KernelProgram &program);

/// Whether a kernel has only sums of f32 or f64, along one dim and in one round, so that several
/// can be walked together, some terms of each at a time, without another order of additions.
bool canSumInBlocks(const KernelProgram &program);

/// The roots that the last sweep of a row writes: results of the whole domain.
SmallVector<unsigned> getFullRoots(const KernelProgram &program);

/// A value that one sweep of a row computes and later ones read again. Bit k of `readers`: round k
/// of the reductions reads it, or, for k = numPhases, the last sweep.
struct KeptValue {
  unsigned node;
  /// The first round that computes it.
  unsigned phase;
  uint32_t readers;
};

/// Costly values along `lane` that several sweeps read; at most `most` of them, none where another
/// dim is reduced too.
SmallVector<KeptValue> findKeptValues(const KernelProgram &program, unsigned lane, int64_t most);

/// Those of them that the last sweep of a row reads.
SmallVector<unsigned> getKeptForLast(const KernelProgram &program, ArrayRef<KeptValue> kept);

} // namespace mlir::frit
