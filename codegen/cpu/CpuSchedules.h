#pragma once

#include "codegen/cpu/CpuFunction.h"

/// The families of CPU kernels. Each takes an analysed kernel and adds its entry
/// points to `module` and its launches to `desc`. Partitions depend on sizes only, so
/// the number of threads never changes a bit of a result.
namespace mlir::frit {

struct CpuKernel {
  ModuleOp module;
  const KernelProgram &program;
  CpuTarget cpu;
  KernelDesc &desc;

  std::string entryName(StringRef suffix = "") const { return desc.name + suffix.str(); }
  void addLaunch(StringRef entry, SizeExpr units, int64_t grain) const;
};

/// The parts in which `length` is shared out: of at least `least`, and no more than `most`.
SizeExpr countParts(SizeExpr length, int64_t least, int64_t most);

/// Emits an error at the kernel if its schedule does not fit its program: a dim that does not
/// exist, another number of rounds, masks that the CPU does not support.
LogicalResult checkSchedule(const KernelProgram &program, const CpuTarget &cpu, Attribute schedule);

/// No reductions: every unit is a stretch along the lane dim.
void emitPointwise(const CpuKernel &kernel, CpuPointwiseAttr schedule);

/// The lane dim is reduced: a unit is a row. Phase k sweeps the row once for all
/// reductions of level k in several vector accumulators, the last sweep writes the
/// full results. Values that cost more to compute than to store (exp, division) are
/// stored in a scratch row.
void emitRowReduction(const CpuKernel &kernel, CpuRowsAttr schedule);

/// The lane dim is parallel: every lane has its own accumulators, and the reduced
/// dims are traversed in order. A unit is a tile of several vectors by several rows of a
/// second parallel dim, so that operands that are broadcast along either are read once
/// for each tile.
void emitColumnReduction(const CpuKernel &kernel, CpuColumnsAttr schedule);

/// One row that is divided into parts, which write partial accumulators to the workspace; a second
/// launch combines them in order.
void emitSplitReduction(const CpuKernel &kernel, CpuRowsAttr schedule);

} // namespace mlir::frit
